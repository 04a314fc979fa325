#include "plan/plan_read.h"
#include "plan/plan_fields.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_SAMPLES 1e12
#define MAX_KEYS    40

/* Copies a string into the plan's arena; NULL for null and for `node` NULL. */
static bool copy_text(struct plan_reader *r, const struct doc_node *node, const char **text)
{
    const char *value;
    *text = NULL;
    if (!node || node->type == DOC_NULL)
        return true;
    if (!doc_string(&r->doc, node, &value, r->err))
        return false;
    *text = arena_string(&r->plan->arena, value);
    return *text ? true : error_memory(r->err);
}

static bool read_field(struct plan_reader *r, const struct doc_node *map, const struct field *field, void *of)
{
    const struct doc_node *node = doc_find(map, field->key);
    if (!node)
        return true;
    if (field->type == FIELD_TEXT || field->type == FIELD_SOME_TEXT)
        return copy_text(r, node, (const char **)(void *)((char *)of + field->offset));
    if (node->type != DOC_NULL)
        return field_read(of, field, &r->doc, map, r->err);
    if (field->type == FIELD_DOUBLE)
        field_set(of, field, NAN);
    return true;
}

/* Reads the plain members of a map, which may have the keys `others` beside them (a NULL ends them). */
static bool plan_read_fields(struct plan_reader *r, const struct doc_node *map, const struct plan_map *which,
                             void *of, const char *const *others)
{
    const char *keys[MAX_KEYS];
    size_t known;
    if (!doc_is_map(&r->doc, map, r->err))
        return false;
    for (known = 0; known < which->count; known++)
        keys[known] = which->fields[known].key;
    for (; others && *others; others++)
        keys[known++] = *others;
    if (!doc_only_keys(&r->doc, map, keys, known, r->err))
        return false;
    for (size_t i = 0; i < which->count; i++)
        if (!read_field(r, map, &which->fields[i], of))
            return false;
    return true;
}

/* A map that may be missing. */
static bool read_map(struct plan_reader *r, const struct doc_node *parent, const char *key,
                     const struct plan_map *which, void *of)
{
    const struct doc_node *map = doc_find(parent, key);
    return !map || map->type == DOC_NULL || plan_read_fields(r, map, which, of, NULL);
}

/* Finds a list that may be missing, of `min` to `max` entries. *list is NULL if it is. */
static bool plan_find_list(struct plan_reader *r, const struct doc_node *parent, const char *key,
                           uint32_t min, uint32_t max, const struct doc_node **list)
{
    *list = doc_find(parent, key);
    if (!*list || (*list)->type == DOC_NULL) {
        *list = NULL;
        return true;
    }
    if (!doc_is_list(&r->doc, *list, r->err))
        return false;
    if ((*list)->count < min || (*list)->count > max)
        return doc_error(&r->doc, *list, r->err, "expected %u to %u entries, found %u", min, max,
                         (*list)->count);
    return true;
}

static bool read_figures(struct plan_reader *r, const struct doc_node *parent, const char *key, int max,
                         int *count, struct plan_figure *figures)
{
    const struct doc_node *map = doc_find(parent, key);
    if (!map || map->type == DOC_NULL)
        return true;
    if (!doc_is_map(&r->doc, map, r->err))
        return false;
    if (map->count > (uint32_t)max)
        return doc_error(&r->doc, map, r->err, "expected at most %d entries, found %u", max, map->count);
    for (const struct doc_node *node = map->first_child; node; node = node->next) {
        struct plan_figure *figure = &figures[(*count)++];
        figure->name = arena_string(&r->plan->arena, node->key);
        figure->value = NAN;
        if (!figure->name)
            return error_memory(r->err);
        if (node->type != DOC_NULL && !doc_number(&r->doc, node, -1e300, 1e300, &figure->value, r->err))
            return false;
    }
    return true;
}

/* ---- cluster ---- */

static bool read_links(struct plan_reader *r)
{
    const struct doc_node *list;
    if (!plan_find_list(r, r->doc.root, "links", 0, PLAN_MAX_LINKS, &list))
        return false;
    r->plan->links = ARENA_ARRAY(&r->plan->arena, PLAN_MAX_LINKS, struct plan_link);
    if (!r->plan->links)
        return error_memory(r->err);
    for (const struct doc_node *node = list ? list->first_child : NULL; node; node = node->next) {
        struct plan_link *link = &r->plan->links[r->plan->link_count++];
        link->shared_by = 1;
        if (!plan_read_fields(r, node, &plan_map_link, link, NULL))
            return false;
        if (!link->name)
            return doc_need(&r->doc, node, "name", r->err) != NULL;
    }
    return true;
}

static bool check_link(struct plan_reader *r, const struct doc_node *type, const char *key, int link)
{
    return link < r->plan->link_count ||
           doc_error(&r->doc, doc_find(type, key), r->err, "expected -1 or one of %d links, found %d",
                     r->plan->link_count, link);
}

/* A number that the device types say, too. */
static bool is_sum(struct plan_reader *r, const struct doc_node *cluster, const char *key, int64_t sum)
{
    const struct doc_node *node = doc_find(cluster, key);
    int64_t value;
    return !node || node->type == DOC_NULL ||
           (doc_integer(&r->doc, node, 0, PLAN_MAX_INTEGER, &value, r->err) &&
            (value == sum || doc_error(&r->doc, node, r->err,
                                       "the device types have %" PRId64 ", found %" PRId64, sum, value)));
}

static bool read_types(struct plan_reader *r)
{
    static const char *const others[] = {"digest",  "nodes",       "devices", "device_types",
                                         "network", "not_counted", NULL};
    const struct doc_node *cluster = doc_find(r->doc.root, "cluster"), *list;
    if (!cluster || cluster->type == DOC_NULL)
        return true;
    if (!doc_is_map(&r->doc, cluster, r->err) || !doc_only_keys(&r->doc, cluster, others, 6, r->err) ||
        !copy_text(r, doc_find(cluster, "not_counted"), &r->plan->not_counted) ||
        !copy_text(r, doc_find(cluster, "digest"), &r->plan->cluster_digest) ||
        !cluster_network_read(&r->plan->network, &r->doc, doc_find(cluster, "network"), r->err) ||
        !plan_find_list(r, cluster, "device_types", 0, PLAN_MAX_TYPES, &list))
        return false;
    for (const struct doc_node *node = list ? list->first_child : NULL; node; node = node->next) {
        struct plan_device_type *type = &r->plan->types[r->plan->type_count++];
        if (!plan_read_fields(r, node, &plan_map_device_type, type, NULL) ||
            !doc_need(&r->doc, node, "name", r->err) || !check_link(r, node, "inside", type->inside) ||
            !check_link(r, node, "across", type->across))
            return false;
        if (!type->name)
            return doc_error(&r->doc, node, r->err, "expected a name, found null");
    }
    return r->plan->type_count == 0 || (is_sum(r, cluster, "nodes", plan_nodes(r->plan)) &&
                                        is_sum(r, cluster, "devices", plan_devices(r->plan)));
}

/* Finds a device type by name; adds a new name if the plan has no cluster. */
static bool find_type(struct plan_reader *r, const struct doc_node *node, int *type)
{
    const char *name;
    if (!doc_string(&r->doc, node, &name, r->err))
        return false;
    for (*type = 0; *type < r->plan->type_count; ++*type)
        if (strcmp(r->plan->types[*type].name, name) == 0)
            return true;
    /* by hand, a plan need not describe its cluster: how many there are is not known */
    if (doc_find(doc_find(r->doc.root, "cluster"), "device_types"))
        return doc_error(&r->doc, node, r->err, "the plan's cluster has no '%s'", name);
    if (*type == PLAN_MAX_TYPES)
        return doc_error(&r->doc, node, r->err, "expected at most %d device types", PLAN_MAX_TYPES);
    const char *own = arena_string(&r->plan->arena, name);
    r->plan->types[r->plan->type_count++] =
        (struct plan_device_type){.name = own, .inside = -1, .across = -1};
    return own ? true : error_memory(r->err);
}

/* ---- pipelines ---- */

static bool read_runs(struct plan_reader *r, const struct doc_node *node, struct plan_stage *stage)
{
    const struct doc_node *list;
    if (!plan_find_list(r, node, "devices", 0, PLAN_MAX_RUNS, &list))
        return false;
    if (!list)
        return true;
    struct plan_run *runs = ARENA_ARRAY(&r->plan->arena, (size_t)list->count + 1, struct plan_run);
    if (!runs)
        return error_memory(r->err);
    stage->runs = runs;
    for (const struct doc_node *at = list->first_child; at; at = at->next) {
        struct plan_run *run = &runs[stage->run_count++];
        *run = (struct plan_run){.nodes = 1, .count = 1};
        if (!plan_read_fields(r, at, &plan_map_run, run, NULL))
            return false;
    }
    return true;
}

/* One of a list of names that a NULL ends. */
static bool read_name(struct plan_reader *r, const struct doc_node *map, const char *key,
                      const char *const *names, int *index)
{
    const struct doc_node *node = doc_need(&r->doc, map, key, r->err);
    const char *name;
    size_t count = 0;
    struct text_hint hint;
    if (!node || !doc_string(&r->doc, node, &name, r->err))
        return false;
    for (; names[count]; count++)
        if (strcmp(names[count], name) == 0) {
            *index = (int)count;
            return true;
        }
    return doc_error(&r->doc, node, r->err, "unknown '%s'%s", name,
                     text_suggest(&hint, text_nearest(name, names, count), ""));
}

static bool read_transfer(struct plan_reader *r, const struct doc_node *node, struct plan_transfer *transfer)
{
    static const char *const others[] = {"kind", "purpose", "when", NULL};
    int purpose = 0, when = 0;
    const char *kind;
    *transfer = (struct plan_transfer){.group = 2, .per_node = 1, .link = -1, .count = 1, .shown = 1};
    transfer->bytes = transfer->seconds = NAN;
    if (!plan_read_fields(r, node, &plan_map_transfer, transfer, others) ||
        !read_name(r, node, "purpose", plan_purposes, &purpose) ||
        !read_name(r, node, "when", plan_whens, &when) || !doc_need(&r->doc, node, "kind", r->err) ||
        !doc_string(&r->doc, doc_find(node, "kind"), &kind, r->err))
        return false;
    transfer->purpose = (enum plan_purpose)purpose;
    transfer->when = (enum plan_when)when;
    if (!collective_kind_find(kind, &transfer->kind))
        return doc_error(&r->doc, doc_find(node, "kind"), r->err, "unknown '%s'", kind);
    return check_link(r, node, "link", transfer->link);
}

static bool read_transfers(struct plan_reader *r, const struct doc_node *node, struct plan_stage *stage)
{
    const struct doc_node *list;
    if (!plan_find_list(r, node, "transfers", 0, PLAN_MAX_TRANSFERS, &list))
        return false;
    if (!list || list->count == 0)
        return true;
    stage->transfers = ARENA_ARRAY(&r->plan->arena, list->count, struct plan_transfer);
    if (!stage->transfers)
        return error_memory(r->err);
    stage->transfer_room = (int)list->count;
    for (const struct doc_node *at = list->first_child; at; at = at->next)
        if (!read_transfer(r, at, &stage->transfers[stage->transfer_count++]))
            return false;
    return true;
}

static bool read_layers(struct plan_reader *r, const struct doc_node *node, struct plan_stage *stage)
{
    const struct doc_node *layers = doc_need(&r->doc, node, "layers", r->err);
    int64_t first, last;
    if (!layers || !doc_is_list(&r->doc, layers, r->err))
        return false;
    if (layers->count != 2)
        return doc_error(&r->doc, layers, r->err, "expected the first and the last layer, found %u numbers",
                         layers->count);
    if (!doc_integer(&r->doc, layers->first_child, 0, PLAN_MAX_LAYERS, &first, r->err) ||
        /* plan_check compares the two: a chunk of an interleaved pipeline may be empty, as [5, 4] is */
        !doc_integer(&r->doc, layers->first_child->next, -1, PLAN_MAX_LAYERS, &last, r->err))
        return false;
    stage->layers.first = (int)first;
    stage->layers.last = (int)last;
    return true;
}

/* By index, or by name. */
static bool read_type(struct plan_reader *r, const struct doc_node *node, int *type)
{
    int64_t index;
    if (!node || node->type != DOC_NUMBER)
        return node && find_type(r, node, type);
    if (!doc_integer(&r->doc, node, 0, PLAN_MAX_TYPES, &index, r->err))
        return false;
    *type = (int)index;
    return index < r->plan->type_count ||
           doc_error(&r->doc, node, r->err, "expected one of %d device types, found %d", r->plan->type_count,
                     *type);
}

static bool read_stage(struct plan_reader *r, const struct doc_node *node, struct plan_stage *stage)
{
    static const char *const others[] = {"layers", "device_type", "devices", "seconds",
                                         "bytes",  "transfers",   NULL};
    stage->line = (int)node->line;
    return plan_read_fields(r, node, &plan_map_stage, stage, others) && read_layers(r, node, stage) &&
           read_type(r, doc_need(&r->doc, node, "device_type", r->err), &stage->type) &&
           read_runs(r, node, stage) && read_map(r, node, "seconds", &plan_map_seconds, &stage->seconds) &&
           read_map(r, node, "bytes", &plan_map_bytes, &stage->bytes) && read_transfers(r, node, stage);
}

static bool read_pipeline(struct plan_reader *r, const struct doc_node *node, struct plan_pipeline *pipeline)
{
    static const char *const others[] = {"stages", NULL};
    const struct doc_node *list;
    pipeline->line = (int)node->line;
    if (!plan_read_fields(r, node, &plan_map_pipeline, pipeline, others) ||
        !doc_need(&r->doc, node, "stages", r->err) ||
        !plan_find_list(r, node, "stages", 1, PLAN_MAX_STAGES, &list))
        return false;
    if (!list)
        return doc_error(&r->doc, node, r->err, "expected stages, found null");
    if (!plan_add_stages(r->plan, pipeline, (int)list->count, r->err))
        return false;
    struct plan_stage *stage = pipeline->stages;
    for (const struct doc_node *at = list->first_child; at; at = at->next)
        if (!read_stage(r, at, stage++))
            return false;
    return true;
}

static bool read_pipelines(struct plan_reader *r)
{
    const struct doc_node *list;
    if (!doc_need(&r->doc, r->doc.root, "pipelines", r->err) ||
        !plan_find_list(r, r->doc.root, "pipelines", 1, PLAN_MAX_PIPELINES, &list))
        return false;
    if (!list)
        return doc_error(&r->doc, r->doc.root, r->err, "expected pipelines, found null");
    if (!plan_add_pipelines(r->plan, (int)list->count, r->err))
        return false;
    struct plan_pipeline *pipeline = r->plan->pipelines;
    for (const struct doc_node *at = list->first_child; at; at = at->next)
        if (!read_pipeline(r, at, pipeline++))
            return false;
    return true;
}

/* ---- the rest ---- */

static bool read_iteration(struct plan_reader *r)
{
    static const char *const others[] = {
        "samples_per_second", "tokens_per_second", "utilisation", "nearest", "parts", "bottleneck", NULL};
    const struct doc_node *map = doc_find(r->doc.root, "iteration");
    if (!map || map->type == DOC_NULL)
        return true;
    return plan_read_fields(r, map, &plan_map_iteration, r->plan, others) &&
           read_map(r, map, "nearest", &plan_map_nearest, &r->plan->nearest) &&
           read_figures(r, map, "parts", PLAN_MAX_PARTS, &r->plan->part_count, r->plan->parts) &&
           read_map(r, map, "bottleneck", &plan_map_bottleneck, r->plan);
}

static bool read_alternatives(struct plan_reader *r)
{
    static const char *const others[] = {"parts", NULL};
    const struct doc_node *list;
    if (!plan_find_list(r, r->doc.root, "alternatives", 0, PLAN_MAX_ALTERNATIVES, &list))
        return false;
    r->plan->alternatives =
        ARENA_ARRAY(&r->plan->arena, (list ? list->count : 0) + (size_t)1, struct plan_alternative);
    if (!r->plan->alternatives)
        return error_memory(r->err);
    for (const struct doc_node *node = list ? list->first_child : NULL; node; node = node->next) {
        struct plan_alternative *alternative = &r->plan->alternatives[r->plan->alternative_count++];
        if (!plan_read_fields(r, node, &plan_map_alternative, alternative, others) ||
            !read_figures(r, node, "parts", PLAN_MAX_PARTS, &alternative->part_count, alternative->parts))
            return false;
    }
    return true;
}

static bool read_sensitivity(struct plan_reader *r)
{
    const struct doc_node *list;
    if (!plan_find_list(r, r->doc.root, "sensitivity", 0, PLAN_MAX_FIGURES, &list))
        return false;
    r->plan->sensitivity =
        ARENA_ARRAY(&r->plan->arena, (list ? list->count : 0) + (size_t)1, struct plan_sensitivity);
    if (!r->plan->sensitivity)
        return error_memory(r->err);
    for (const struct doc_node *node = list ? list->first_child : NULL; node; node = node->next)
        if (!plan_read_fields(r, node, &plan_map_sensitivity,
                              &r->plan->sensitivity[r->plan->sensitivity_count++], NULL))
            return false;
    return true;
}

static bool read_technique(struct plan_reader *r, const struct doc_node *map)
{
    const char *names[TECHNIQUE_COUNT];
    for (int k = 0; k < TECHNIQUE_COUNT; k++)
        names[k] = technique_name((enum technique_kind)k);
    if (!doc_is_map(&r->doc, map, r->err) || !doc_only_keys(&r->doc, map, names, TECHNIQUE_COUNT, r->err))
        return false;
    for (const struct doc_node *node = map->first_child; node; node = node->next) {
        enum technique_kind kind = TECHNIQUE_COUNT;
        struct text expected = {0};
        int value = 0;
        bool known = node->type == DOC_STRING && technique_find(node->key, &kind) &&
                     technique_read(node->text, kind, &value, &expected);
        if (!known)
            doc_error(&r->doc, node, r->err, "expected %s", expected.length ? expected.data : "a string");
        text_release(&expected);
        if (!known)
            return false;
        technique_set(&r->plan->technique, kind, value);
    }
    return true;
}

static bool read_training(struct plan_reader *r)
{
    static const char *const others[] = {"technique", NULL};
    const struct doc_node *map = doc_find(r->doc.root, "training"), *technique;
    if (!map || map->type == DOC_NULL)
        return true;
    if (!plan_read_fields(r, map, &plan_map_training, r->plan, others))
        return false;
    technique = doc_find(map, "technique");
    return !technique || technique->type == DOC_NULL || read_technique(r, technique);
}

static bool read_works(struct plan_reader *r, const struct doc_node *map, struct plan_fleet *fleet)
{
    const struct doc_node *list;
    uint32_t count = (uint32_t)r->plan->type_count;
    int *works = ARENA_ARRAY(&r->plan->arena, (size_t)count + 1, int);
    if (!works)
        return error_memory(r->err);
    fleet->works = works;
    if (!plan_find_list(r, map, "works", count, count, &list))
        return false;
    for (const struct doc_node *node = list ? list->first_child : NULL; node; node = node->next) {
        int64_t devices;
        if (!doc_integer(&r->doc, node, 0, PLAN_MAX_DEVICES, &devices, r->err))
            return false;
        *works++ = (int)devices;
    }
    return true;
}

static bool read_idle(struct plan_reader *r)
{
    const struct doc_node *list;
    struct plan *plan = r->plan;
    if (!plan_find_list(r, r->doc.root, "idle", 0, PLAN_MAX_TYPES, &list))
        return false;
    plan->idle = ARENA_ARRAY(&plan->arena, (list ? list->count : 0) + (size_t)1, struct plan_idle);
    if (!plan->idle)
        return error_memory(r->err);
    for (const struct doc_node *node = list ? list->first_child : NULL; node; node = node->next) {
        struct plan_idle *idle = &plan->idle[plan->idle_count++];
        if (!plan_read_fields(r, node, &plan_map_idle, idle, NULL))
            return false;
        if (idle->type >= plan->type_count)
            return doc_error(&r->doc, doc_find(node, "device_type"), r->err,
                             "expected one of %d device types, found %d", plan->type_count, idle->type);
    }
    return true;
}

/* Reads what plans over several types say of other fleets and of idle devices. */
static bool plan_read_fleets(struct plan_reader *r)
{
    static const char *const others[] = {"works", NULL};
    const struct doc_node *list;
    struct plan *plan = r->plan;
    if (!read_idle(r) || !plan_find_list(r, r->doc.root, "fleets", 0, PLAN_MAX_ALTERNATIVES, &list))
        return false;
    plan->fleets = ARENA_ARRAY(&plan->arena, (list ? list->count : 0) + (size_t)1, struct plan_fleet);
    if (!plan->fleets)
        return error_memory(r->err);
    for (const struct doc_node *node = list ? list->first_child : NULL; node; node = node->next) {
        struct plan_fleet *fleet = &plan->fleets[plan->fleet_count++];
        if (!plan_read_fields(r, node, &plan_map_fleet, fleet, others) || !read_works(r, node, fleet))
            return false;
    }
    return true;
}

static bool read_parts(struct plan_reader *r)
{
    static const char *const others[] = {"format",    "made_by",      "gap",         "model",   "training",
                                         "schedule",  "iteration",    "figures",     "cluster", "links",
                                         "pipelines", "alternatives", "sensitivity", "budget",  "storage",
                                         "idle",      "fleets",       NULL};
    struct plan *plan = r->plan;
    const struct doc_node *root = r->doc.root;
    return plan_read_fields(r, root, &plan_map_head, plan, others) &&
           read_map(r, root, "made_by", &plan_map_made_by, plan) &&
           read_map(r, root, "model", &plan_map_model, plan) && read_training(r) &&
           read_map(r, root, "schedule", &plan_map_schedule, plan) && read_iteration(r) &&
           read_map(r, root, "budget", &plan_map_budget, &plan->budget) &&
           read_map(r, root, "storage", &plan_map_storage, &plan->storage) &&
           read_figures(r, root, "figures", PLAN_MAX_FIGURES, &plan->figure_count, plan->figures) &&
           read_links(r) && read_types(r) && read_pipelines(r) && read_alternatives(r) &&
           read_sensitivity(r) && plan_read_fleets(r);
}

/* Sizes that can be multiplied without a thought from here on. */
static bool check_sizes(struct plan_reader *r)
{
    const struct plan *plan = r->plan;
    for (int t = 0; t < plan->type_count; t++)
        if ((int64_t)plan->types[t].nodes.count * plan->types[t].nodes.devices > PLAN_MAX_DEVICES ||
            plan_devices(plan) > PLAN_MAX_DEVICES)
            return doc_error(&r->doc, r->doc.root, r->err, "expected a cluster of at most %d devices",
                             PLAN_MAX_DEVICES);
    for (int p = 0; p < plan->pipeline_count; p++) {
        const struct plan_pipeline *pipeline = &plan->pipelines[p];
        double samples = fmax(1, (double)pipeline->microbatches) * fmax(1, (double)plan->microbatch);
        if (samples * pipeline->copies > MAX_SAMPLES)
            return doc_error(&r->doc, r->doc.root, r->err,
                             "pipelines[%d]: expected at most %.0f samples of an iteration, found %.0f", p,
                             MAX_SAMPLES, samples * pipeline->copies);
        for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
            const struct plan_stage *stage = &plan->pipelines[p].stages[s];
            double devices = (double)stage->degrees.tensor * stage->degrees.context * stage->degrees.data *
                             plan->pipelines[p].copies;
            if (devices > PLAN_MAX_DEVICES)
                return doc_error(&r->doc, r->doc.root, r->err,
                                 "pipelines[%d].stages[%d]: expected at most %d devices, found %.0f", p, s,
                                 PLAN_MAX_DEVICES, devices);
        }
    }
    return true;
}

static bool read_document(struct plan_reader *r)
{
    if (!doc_is_map(&r->doc, r->doc.root, r->err))
        return false;
    /* within Oobleck's file of templates, the plan of one of them */
    if (doc_find(r->doc.root, "templates") && doc_find(r->doc.root, "plan"))
        r->doc.root = (struct doc_node *)doc_find(r->doc.root, "plan");
    const struct doc_node *root = r->doc.root, *format = doc_find(root, "format");
    if (!doc_is_map(&r->doc, root, r->err) || !plan_add_types(r->plan, PLAN_MAX_TYPES, r->err))
        return false;
    r->plan->type_count = 0;
    r->plan->version = NULL;
    if (format && format->type == DOC_STRING && strcmp(format->text, "rehearse-plan/1") == 0)
        return doc_error(&r->doc, format, r->err,
                         "'rehearse-plan/1' is no longer read: make the plan again with 'rehearse plan' or "
                         "'rehearse templates'");
    return doc_is_format(&r->doc, root, PLAN_FORMAT, r->err) &&
           (format || doc_need(&r->doc, root, "pipelines", r->err)) && read_parts(r);
}

static bool read_plan(struct plan_reader *r)
{
    if (read_document(r) && check_sizes(r) && plan_place(r->plan, r->err))
        return true;
    plan_release(r->plan);
    return false;
}

bool plan_read(struct plan *plan, const struct doc *doc, const struct doc_node *map, struct error *err)
{
    struct plan_reader r = {.doc = *doc, .plan = plan, .err = err};
    r.doc.root = (struct doc_node *)map;
    plan_init(plan);
    plan->path = arena_string(&plan->arena, doc->path);
    return plan->path ? read_plan(&r) : error_memory(err);
}

bool plan_load(struct plan *plan, const char *path, struct error *err)
{
    struct doc doc;
    if (!doc_load(&doc, path, err))
        return false;
    bool ok = plan_read(plan, &doc, doc.root, err);
    doc_release(&doc);
    return ok;
}

bool plan_parse(struct plan *plan, const char *path, const char *data, size_t length, struct error *err)
{
    struct doc doc;
    if (!doc_parse(&doc, DOC_JSON, path, data, length, err))
        return false;
    bool ok = plan_read(plan, &doc, doc.root, err);
    doc_release(&doc);
    return ok;
}
