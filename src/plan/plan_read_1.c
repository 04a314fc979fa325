/* rehearse-plan/1: five shapes under one name, told apart by what they hold. Pipelines have `stages` with device types,
 * DAPPLE's plans `stages` with numbers of devices, training jobs `plans`, and plans over unlike devices `pipelines`; the
 * fifth, a template, is a pipeline within another document. Of what they hold, all that version 2 has is kept. */
#include "plan/plan_fields.h"
#include "plan/plan_read.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static double number_of(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = doc_find(map, key);
    return node && node->type == DOC_NUMBER && isfinite(node->number) ? node->number : NAN;
}

/* A whole number that may be missing. */
static bool read_whole(struct plan_reader *r, const struct doc_node *map, const char *key, int64_t min,
                       int64_t max, int64_t *value)
{
    const struct doc_node *node = doc_find(map, key);
    return !node || node->type == DOC_NULL || doc_integer(&r->doc, node, min, max, value, r->err);
}

static bool need_int(struct plan_reader *r, const struct doc_node *map, const char *key, int min, int max,
                     int *value)
{
    int64_t number;
    const struct doc_node *node = doc_need(&r->doc, map, key, r->err);
    if (!node || !doc_integer(&r->doc, node, min, max, &number, r->err))
        return false;
    *value = (int)number;
    return true;
}

static const struct doc_node *need_list(struct plan_reader *r, const struct doc_node *map, const char *key,
                                        uint32_t max)
{
    const struct doc_node *list = doc_need(&r->doc, map, key, r->err);
    if (!list || !doc_is_list(&r->doc, list, r->err))
        return NULL;
    if (list->count >= 1 && list->count <= max)
        return list;
    doc_error(&r->doc, list, r->err, "expected 1 to %u %s, found %u", max, key, list->count);
    return NULL;
}

/* ---- what all shapes say ---- */

static bool read_head(struct plan_reader *r)
{
    struct plan *plan = r->plan;
    const struct doc_node *root = r->doc.root;
    double time = number_of(root, "iteration_time"), bound = number_of(root, "lower_bound");
    const struct doc_node *proven = doc_find(root, "proven_optimal"),
                          *extrapolates = doc_find(root, "extrapolates");
    plan->iteration_time = isfinite(time) ? time : 0;
    plan->lower_bound = isfinite(bound) ? bound : 0;
    plan->proven_optimal = proven && proven->type == DOC_BOOL && proven->boolean;
    plan->planning_seconds = number_of(root, "planning_seconds");
    plan->low = number_of(root, "iteration_time_low");
    plan->high = number_of(root, "iteration_time_high");
    plan->extrapolates = extrapolates && extrapolates->type == DOC_BOOL && extrapolates->boolean;
    plan->headroom = number_of(root, "headroom");
    return plan_copy_text(r, doc_find(root, "objective"), &plan->objective) &&
           plan_copy_text(r, doc_find(root, "search"), &plan->search) &&
           plan_copy_text(r, doc_find(root, "rules"), &plan->rules) &&
           plan_copy_text(r, doc_find(root, "import"), &plan->import) &&
           plan_copy_text(r, doc_find(root, "model"), &plan->model) &&
           plan_copy_text(r, doc_find(root, "software"), &plan->software) &&
           plan_copy_text(r, doc_find(root, "precision"), &plan->precision) &&
           plan_copy_text(r, doc_find(root, "recompute"), &plan->recompute) &&
           read_whole(r, root, "global_batch", 0, PLAN_MAX_INTEGER, &plan->global_batch) &&
           read_whole(r, root, "sequence", 0, PLAN_MAX_INTEGER, &plan->sequence);
}

static void read_parts(struct plan *plan, const struct doc_node *map, const char *const *names)
{
    for (; *names; names++) {
        double value = number_of(map, *names);
        if (isfinite(value))
            plan_add_part(plan, *names, value);
    }
}

/* The one device type of a shape that has no other. */
static bool add_type(struct plan_reader *r, const char *name, int64_t nodes, int64_t per_node)
{
    struct plan_device_type *type = &r->plan->types[r->plan->type_count++];
    type->name = name;
    type->nodes = (int)nodes;
    type->per_node = (int)per_node;
    return name ? true : error_memory(r->err);
}

static bool add_link(struct plan_reader *r, const char *key, int *link)
{
    const char *name;
    if (!plan_copy_text(r, doc_find(r->doc.root, key), &name))
        return false;
    *link = name ? plan_add_link(r->plan, name, NAN, NAN) : -1;
    return !name || *link >= 0 || error_memory(r->err);
}

static bool read_stage_layers(struct plan_reader *r, const struct doc_node *node, struct plan_stage *stage)
{
    stage->line = (int)node->line;
    return need_int(r, node, "first_layer", 0, PLAN_MAX_LAYERS, &stage->first_layer) &&
           need_int(r, node, "last_layer", 0, PLAN_MAX_LAYERS, &stage->last_layer);
}

/* 0 (unknown) where the number is missing or beyond every memory. */
static int64_t whole_bytes(double bytes)
{
    return bytes > 0 && bytes < (double)PLAN_MAX_INTEGER ? (int64_t)bytes : 0;
}

/* Memory of a stage's devices together, and its limit, which version 2 has in the device type. */
static void read_memory(struct plan_reader *r, const struct doc_node *node, int devices,
                        struct plan_stage *stage)
{
    double limit = number_of(node, "memory_limit") / devices;
    stage->bytes.total = number_of(node, "memory") / devices;
    if (r->plan->types[stage->type].memory == 0)
        r->plan->types[stage->type].memory = whole_bytes(limit);
}

static void count_layers(struct plan *plan)
{
    const struct plan_pipeline *pipeline = &plan->pipelines[0];
    plan->layer_count = pipeline->stages[pipeline->stage_count - 1].last_layer + 1;
}

/* Room for the stages of the only pipeline; NULL: out of memory. */
static struct plan_pipeline *only_pipeline(struct plan_reader *r, const struct doc_node *stages)
{
    if (!plan_add_pipelines(r->plan, 1, r->err) ||
        !plan_add_stages(r->plan, &r->plan->pipelines[0], (int)stages->count, r->err))
        return NULL;
    return &r->plan->pipelines[0];
}

/* ---- a pipeline ---- */

static bool read_pipeline_stage(struct plan_reader *r, const struct doc_node *node, struct plan_stage *stage)
{
    const struct doc_node *type = doc_need(&r->doc, node, "device_type", r->err);
    int64_t place = -1;
    if (!type || !plan_find_type(r, type, &stage->type) || !read_stage_layers(r, node, stage) ||
        !need_int(r, node, "devices", 1, 1 << 24, &stage->tensor) ||
        !read_whole(r, node, "node", 0, 1 << 24, &place))
        return false;
    if (place >= 0) {
        struct plan_run *run = ARENA_NEW(&r->plan->arena, struct plan_run);
        if (!run)
            return error_memory(r->err);
        *run = (struct plan_run){.node = (int)place, .nodes = 1, .first = -1, .count = stage->tensor};
        stage->runs = run;
        stage->run_count = 1;
    }
    stage->seconds.forward = number_of(node, "forward");
    stage->seconds.backward = number_of(node, "backward");
    read_memory(r, node, stage->tensor, stage);
    return true;
}

/* Version 1 names a stage's node and not which of its devices: they are given out in the order of the stages. */
static void number_devices(struct plan_pipeline *pipeline)
{
    for (int s = 0; s < pipeline->stage_count; s++) {
        struct plan_run *run = pipeline->stages[s].runs;
        if (!run)
            continue;
        run->first = 0;
        for (int before = 0; before < s; before++)
            if (pipeline->stages[before].runs && pipeline->stages[before].runs->node == run->node)
                run->first += pipeline->stages[before].runs->count;
    }
}

static bool read_pipeline_shape(struct plan_reader *r)
{
    static const char *const parts[] = {"t1", "t2", "t3", NULL};
    const struct doc_node *root = r->doc.root, *list = need_list(r, root, "stages", PLAN_MAX_STAGES);
    int64_t asked = -1, bottleneck = -1;
    struct plan_pipeline *pipeline = list ? only_pipeline(r, list) : NULL;
    if (!pipeline)
        return false;
    struct plan_stage *stage = pipeline->stages;
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!read_pipeline_stage(r, node, stage++))
            return false;
    number_devices(pipeline);
    if (!read_whole(r, root, "microbatches", 0, INT_MAX, &asked) ||
        !read_whole(r, root, "bottleneck", 0, pipeline->stage_count - 1, &bottleneck))
        return false;
    read_parts(r->plan, root, parts);
    pipeline->microbatches = asked > 0 ? asked : asked == 0 ? 3 * (int64_t)pipeline->stage_count : 0;
    r->plan->asked_microbatches = asked;
    r->plan->bottleneck_pipeline = bottleneck >= 0 ? 0 : -1;
    r->plan->bottleneck_stage = (int)bottleneck;
    count_layers(r->plan);
    return true;
}

/* ---- DAPPLE ---- */

static bool read_device_ids(struct plan_reader *r, const struct doc_node *node, struct plan_stage *stage)
{
    const struct doc_node *list = doc_find(node, "device_ids");
    if (!list)
        return true;
    if (!doc_is_list(&r->doc, list, r->err))
        return false;
    struct plan_run *runs = ARENA_ARRAY(&r->plan->arena, (size_t)list->count + 1, struct plan_run);
    if (!runs)
        return error_memory(r->err);
    stage->runs = runs;
    for (const struct doc_node *at = list->first_child; at; at = at->next) {
        int64_t id;
        if (!doc_integer(&r->doc, at, 0, INT_MAX, &id, r->err))
            return false;
        struct plan_run *last = stage->run_count > 0 ? &runs[stage->run_count - 1] : NULL;
        if (last && last->first + last->count == id)
            last->count++;
        else
            runs[stage->run_count++] = (struct plan_run){.nodes = 1, .first = (int)id, .count = 1};
    }
    return true;
}

static bool read_dapple_stage(struct plan_reader *r, const struct doc_node *node, int copies,
                              struct plan_stage *stage)
{
    int devices;
    if (!read_stage_layers(r, node, stage) || !need_int(r, node, "devices", 1, 1 << 24, &devices) ||
        !read_device_ids(r, node, stage))
        return false;
    stage->data = devices / copies > 0 ? devices / copies : 1;
    stage->seconds.forward = number_of(node, "forward");
    stage->seconds.backward = number_of(node, "backward");
    stage->seconds.gradients = number_of(node, "allreduce");
    read_memory(r, node, devices, stage);
    return true;
}

/* The machines of version 1 are only counted: all devices are taken as those of one. */
static bool read_dapple_shape(struct plan_reader *r)
{
    static const char *const parts[] = {"steady", "startup", "transfers", "drain", NULL};
    const struct doc_node *root = r->doc.root, *list = need_list(r, root, "stages", PLAN_MAX_STAGES);
    const struct doc_node *pivot = doc_find(root, "pivot");
    int64_t copies = 1, devices = 0, microbatch = 0, microbatches = 0, stage_of_pivot = -1;
    struct plan_pipeline *pipeline = list ? only_pipeline(r, list) : NULL;
    if (!pipeline || !read_whole(r, root, "replicas", 1, 1 << 24, &copies) ||
        !read_whole(r, root, "devices", 1, 1 << 24, &devices) ||
        !read_whole(r, root, "microbatch_size", 1, INT_MAX, &microbatch) ||
        !read_whole(r, root, "microbatches", 1, INT_MAX, &microbatches) ||
        !read_whole(r, pivot, "stage", 0, INT_MAX, &stage_of_pivot) ||
        !add_type(r, arena_string(&r->plan->arena, "device"), 1, devices))
        return false;
    struct plan_stage *stage = pipeline->stages;
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!read_dapple_stage(r, node, (int)copies, stage++))
            return false;
    read_parts(r->plan, root, parts);
    pipeline->copies = (int)copies;
    pipeline->microbatches = microbatches;
    r->plan->microbatch = microbatch;
    r->plan->bottleneck_pipeline = stage_of_pivot >= 0 ? 0 : -1;
    r->plan->bottleneck_stage = (int)stage_of_pivot;
    const char *kind;
    if (!plan_copy_text(r, doc_find(pivot, "kind"), &kind))
        return false;
    r->plan->bottleneck_sends = kind && strcmp(kind, "transfer") == 0;
    plan_add_figure(r->plan, "devices", (double)devices);
    plan_add_figure(r->plan, "pivot_factor", number_of(root, "pivot_factor"));
    plan_add_figure(r->plan, "speedup", number_of(root, "speedup"));
    count_layers(r->plan);
    return true;
}

/* ---- a training job ---- */

static bool read_alternative(struct plan_reader *r, const struct doc_node *node, struct plan_alternative *a)
{
    static const char *const parts[] = {"compute", "bubble", "tensor", "send", "data", "optimizer", "other"};
    int64_t microbatches = 0, microbatch = 0;
    a->iteration_time = number_of(node, "iteration_time");
    a->memory = number_of(doc_find(node, "memory"), "total");
    a->utilisation = number_of(node, "utilisation");
    const struct doc_node *front = doc_find(node, "on_front");
    a->on_front = front && front->type == DOC_BOOL && front->boolean;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        a->parts[a->part_count++] =
            (struct plan_figure){parts[i], number_of(doc_find(node, "parts"), parts[i])};
    if (!read_whole(r, node, "mbs", 1, INT_MAX, &microbatch) ||
        !read_whole(r, node, "microbatches", 1, INT_MAX, &microbatches))
        return false;
    a->microbatch = microbatch;
    a->microbatches = microbatches;
    return plan_copy_text(r, doc_find(node, "recompute"), &a->recompute) &&
           need_int(r, node, "devices", 1, 1 << 24, &a->devices) &&
           need_int(r, node, "tp", 1, 1 << 24, &a->tensor) &&
           need_int(r, node, "pp", 1, PLAN_MAX_STAGES, &a->pipeline) &&
           need_int(r, node, "dp", 1, 1 << 24, &a->data) &&
           need_int(r, node, "cp", 1, 1 << 24, &a->context) &&
           need_int(r, node, "ep", 1, 1 << 24, &a->expert) && need_int(r, node, "vp", 1, 4096, &a->chunks) &&
           need_int(r, node, "zero", 0, 3, &a->sharding);
}

/* Blocks of a stage's chunks; layer 0 is the embedding, the last one the head. */
static bool read_job_stages(struct plan_reader *r, const struct doc_node *node,
                            const struct plan_alternative *a)
{
    const struct doc_node *list = need_list(r, node, "stage_blocks", PLAN_MAX_STAGES);
    struct plan_pipeline *pipeline = &r->plan->pipelines[0];
    if (!list)
        return false;
    if (list->count != (uint32_t)a->pipeline || (int64_t)a->pipeline * a->chunks > PLAN_MAX_STAGES)
        return doc_error(&r->doc, list, r->err, "expected %d stages, found %u", a->pipeline, list->count);
    if (!plan_add_stages(r->plan, pipeline, a->pipeline * a->chunks, r->err))
        return false;
    int layer = 1;
    for (int s = 0; s < pipeline->stage_count; s++) {
        const struct doc_node *at = list->first_child;
        for (int i = 0; i < s % a->pipeline; i++)
            at = at->next;
        int64_t blocks;
        if (!doc_integer(&r->doc, at, 0, PLAN_MAX_LAYERS / 2, &blocks, r->err))
            return false;
        int chunk = s / a->pipeline;
        int64_t up = s % a->pipeline == a->pipeline - 1 ? a->chunks - 1 : 0; /* as job_chunk_blocks */
        int taken = (int)((blocks * (chunk + 1) + up) / a->chunks - (blocks * chunk + up) / a->chunks);
        pipeline->stages[s] = (struct plan_stage){.first_layer = s == 0 ? 0 : layer,
                                                  .last_layer = layer + taken - 1,
                                                  .chunk = chunk,
                                                  .tensor = a->tensor,
                                                  .context = a->context,
                                                  .expert = a->expert,
                                                  .data = 1,
                                                  .seconds = pipeline->stages[s].seconds,
                                                  .bytes = pipeline->stages[s].bytes,
                                                  .line = (int)at->line};
        layer += taken;
        if (layer > PLAN_MAX_LAYERS)
            return doc_error(&r->doc, at, r->err, "expected at most %d layers", PLAN_MAX_LAYERS);
    }
    pipeline->stages[pipeline->stage_count - 1].last_layer++;
    return true;
}

static bool read_job_cluster(struct plan_reader *r)
{
    const struct doc_node *root = r->doc.root;
    const char *device;
    int64_t devices = 1, per_node = 1;
    if (!plan_copy_text(r, doc_need(&r->doc, root, "device_type", r->err), &device) ||
        !read_whole(r, root, "devices", 1, 1 << 24, &devices) ||
        !read_whole(r, root, "devices_per_node", 1, 1 << 24, &per_node))
        return false;
    if (!device)
        return doc_need(&r->doc, root, "device_type", r->err) != NULL;
    plan_add_figure(r->plan, "devices", (double)devices);
    return add_type(r, device, (devices + per_node - 1) / per_node, per_node) &&
           add_link(r, "inside", &r->plan->types[0].inside) &&
           add_link(r, "across", &r->plan->types[0].across);
}

/* The other plans, and the front, which is a list of its own. */
static bool read_alternatives(struct plan_reader *r, const struct doc_node *others)
{
    struct plan *plan = r->plan;
    const struct doc_node *front = doc_find(r->doc.root, "front");
    size_t room = 1;
    if (front && !(front = need_list(r, r->doc.root, "front", PLAN_MAX_ALTERNATIVES)))
        return false;
    for (const struct doc_node *node = others; node; node = node->next)
        room++;
    plan->has_front = front;
    plan->alternatives =
        ARENA_ARRAY(&plan->arena, room + (front ? front->count : 0), struct plan_alternative);
    if (!plan->alternatives)
        return error_memory(r->err);
    for (const struct doc_node *node = others; node; node = node->next) {
        struct plan_alternative *to = &plan->alternatives[plan->alternative_count++];
        if (!read_alternative(r, node, to))
            return false;
        to->on_front &= !front;
    }
    for (const struct doc_node *node = front ? front->first_child : NULL; node; node = node->next) {
        struct plan_alternative *to = &plan->alternatives[plan->alternative_count++];
        if (!read_alternative(r, node, to))
            return false;
        to->on_front = true;
    }
    return true;
}

static bool read_sensitivity(struct plan_reader *r)
{
    struct plan *plan = r->plan;
    const struct doc_node *list = doc_find(r->doc.root, "sensitivity");
    if (!list || list->type == DOC_NULL)
        return true;
    if (!(list = need_list(r, r->doc.root, "sensitivity", PLAN_MAX_FIGURES)))
        return false;
    plan->sensitivity = ARENA_ARRAY(&plan->arena, (size_t)list->count, struct plan_sensitivity);
    if (!plan->sensitivity)
        return error_memory(r->err);
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        struct plan_sensitivity *to = &plan->sensitivity[plan->sensitivity_count++];
        const struct doc_node *differs = doc_find(node, "split_differs");
        to->more = number_of(node, "more");
        to->iteration_time = number_of(node, "iteration_time");
        to->split_differs = differs && differs->type == DOC_BOOL && differs->boolean;
        if (!plan_copy_text(r, doc_find(node, "resource"), &to->resource))
            return false;
    }
    return true;
}

/* Of the fullest device: version 1 does not say of which stage that is. */
static void read_job_memory(struct plan *plan, const struct doc_node *memory)
{
    static const char *const names[][2] = {
        {"memory_parameters", "parameters"}, {"memory_gradients", "gradients"},
        {"memory_optimizer", "optimizer"},   {"memory_activations", "activations"},
        {"memory_working", "working"},       {"memory_runtime", "runtime"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (isfinite(number_of(memory, names[i][1])))
            plan_add_figure(plan, names[i][0], number_of(memory, names[i][1]));
}

/* Devices are counted twice: by themselves, and by the degrees. */
static bool check_devices(struct plan_reader *r, const struct doc_node *node,
                          const struct plan_alternative *a)
{
    double product = (double)a->tensor * a->pipeline * a->data * a->context;
    return product == a->devices ||
           doc_error(&r->doc, node, r->err, "tp x pp x dp x cp is %.0f, devices %d", product, a->devices);
}

static bool read_job_shape(struct plan_reader *r)
{
    struct plan *plan = r->plan;
    const struct doc_node *root = r->doc.root, *list = need_list(r, root, "plans", PLAN_MAX_ALTERNATIVES);
    if (!list || !read_job_cluster(r) || !plan_add_pipelines(plan, 1, r->err))
        return false;
    struct plan_alternative best = {0};
    if (!read_alternative(r, list->first_child, &best) || !check_devices(r, list->first_child, &best) ||
        !read_alternatives(r, list->first_child->next) || !read_sensitivity(r) ||
        !read_job_stages(r, list->first_child, &best))
        return false;
    read_job_memory(plan, doc_find(list->first_child, "memory"));
    plan->pipelines[0].copies = best.data;
    plan->pipelines[0].microbatches = plan->asked_microbatches = best.microbatches;
    plan->microbatch = best.microbatch;
    plan->recompute = best.recompute;
    plan->sharding = best.sharding;
    plan->chunks = best.chunks;
    plan->schedule = best.chunks > 1 ? "interleaved-1f1b" : "1f1b";
    plan->memory = best.memory;
    for (int i = 0; i < best.part_count; i++)
        plan_add_part(plan, best.parts[i].name, best.parts[i].value);
    plan_add_figure(plan, "combinations", number_of(root, "combinations"));
    plan_add_figure(plan, "utilisation", best.utilisation);
    count_layers(plan);
    return true;
}

/* ---- pipelines over devices of several types ---- */

static bool read_types(struct plan_reader *r)
{
    const struct doc_node *list = need_list(r, r->doc.root, "device_types", PLAN_MAX_TYPES);
    for (const struct doc_node *node = list ? list->first_child : NULL; node; node = node->next) {
        const char *name;
        int64_t devices = 0;
        if (!plan_copy_text(r, doc_need(&r->doc, node, "device_type", r->err), &name) ||
            !read_whole(r, node, "devices", 0, 1 << 24, &devices))
            return false;
        if (!name)
            return doc_need(&r->doc, node, "device_type", r->err) != NULL;
        if (!add_type(r, name, devices > 0, devices))
            return false;
        r->plan->types[r->plan->type_count - 1].memory = whole_bytes(number_of(node, "memory"));
    }
    return list;
}

/* A figure of one pipeline, where the file has it. */
static bool add_figure(struct plan_reader *r, const struct doc_node *pipeline, const char *key,
                       const char *name)
{
    double value = number_of(pipeline, key);
    const char *own =
        isfinite(value) ? arena_format(&r->plan->arena, "seconds_%s_%u", name, pipeline->index) : "";
    if (!own)
        return error_memory(r->err);
    if (*own)
        plan_add_figure(r->plan, own, value);
    return true;
}

static bool read_fleet_pipeline(struct plan_reader *r, const struct doc_node *node,
                                struct plan_pipeline *pipeline)
{
    int64_t all = 0;
    const struct doc_node *list = need_list(r, node, "stages", PLAN_MAX_STAGES);
    if (!list || !need_int(r, node, "copies", 1, 1 << 24, &pipeline->copies) ||
        !read_whole(r, node, "microbatches", 0, PLAN_MAX_INTEGER, &all) ||
        !plan_add_stages(r->plan, pipeline, (int)list->count, r->err) ||
        !add_figure(r, node, "fill", "first_microbatch") || !add_figure(r, node, "cycle", "each_microbatch"))
        return false;
    pipeline->line = (int)node->line;
    pipeline->microbatches = (all + pipeline->copies - 1) / pipeline->copies;
    struct plan_stage *stage = pipeline->stages;
    for (const struct doc_node *at = list->first_child; at; at = at->next, stage++) {
        const struct doc_node *type = doc_need(&r->doc, at, "device_type", r->err);
        if (!type || !plan_find_type(r, type, &stage->type) || !read_stage_layers(r, at, stage) ||
            !need_int(r, at, "devices", 1, 1 << 24, &stage->tensor))
            return false;
        stage->seconds.forward = number_of(at, "seconds"); /* there and back: version 1 does not part them */
        stage->bytes.total = number_of(at, "memory");
    }
    return true;
}

static bool read_fleet_shape(struct plan_reader *r)
{
    static const char *const parts[] = {"pipelines", "after", "other", NULL};
    const struct doc_node *list = need_list(r, r->doc.root, "pipelines", PLAN_MAX_PIPELINES);
    if (!list || !read_types(r) || !plan_add_pipelines(r->plan, (int)list->count, r->err))
        return false;
    struct plan_pipeline *pipeline = r->plan->pipelines;
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!read_fleet_pipeline(r, node, pipeline++))
            return false;
    if (!read_whole(r, r->doc.root, "mbs", 1, INT_MAX, &r->plan->microbatch))
        return false;
    read_parts(r->plan, doc_find(r->doc.root, "parts"), parts);
    count_layers(r->plan);
    return true;
}

bool plan_read_version_1(struct plan_reader *r)
{
    const struct doc_node *root = r->doc.root;
    if (!read_head(r))
        return false;
    if (doc_find(root, "pipelines"))
        return read_fleet_shape(r);
    if (doc_find(root, "plans"))
        return read_job_shape(r);
    if (doc_find(root, "replicas") || (r->plan->objective && strcmp(r->plan->objective, "dapple") == 0))
        return read_dapple_shape(r);
    return read_pipeline_shape(r);
}
