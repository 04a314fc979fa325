/* Devices of an instance: stage by stage, a stage's copies next to each other, as Megatron-LM numbers its
 * ranks and plan_place puts them. A copy that fits into one node stays within one. */
#include "core/text.h"
#include "core/vector.h"
#include "elastic/kit_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS (1 << 22)
#define MAX_UNITS 4096
#define MAX_CELLS (1 << 24)

/* Nodes are opened kind by kind; the last of a kind may have room. */
struct layout {
    const struct elastic_maker *maker;
    int nodes[ELASTIC_MAX_KINDS],
        used[ELASTIC_MAX_KINDS]; /* opened; devices of the last that are given away */
    bool pure, idle, fits;
    struct elastic_slot
        *slots; /* position: kind x ELASTIC_MAX_NODES + node, until all are known; NULL: only counted */
    size_t slot_count;
};

/* The devices of one copy of a stage, or of one chunk of it; the places of its devices are those of
 * `same`, if given. */
struct placed {
    int kind, node, device;
};

static void open_node(struct layout *layout, int kind)
{
    if (layout->nodes[kind] >= ELASTIC_MAX_NODES - 1)
        layout->fits = false;
    else
        layout->nodes[kind]++;
    layout->used[kind] = 0;
}

static int left_in(const struct layout *layout, int kind)
{
    return layout->nodes[kind] == 0 ? 0 : layout->maker->kit->kinds[kind].nodes.devices - layout->used[kind];
}

static void add_slot(struct layout *layout, const struct plan_stage *stage, int copies, int rank,
                     const struct placed *place)
{
    struct elastic_slot *slot = &layout->slots[layout->slot_count++];
    int ways = elastic_ways(layout->maker, stage, copies), devices = plan_stage_devices(stage);
    int group = elastic_shard_pipelines(layout->maker);
    if (stage->degrees.expert <= 1 && group > 1) /* context parallel ranks have the same shards */
        rank = rank / devices % group * stage->degrees.tensor + rank % devices % stage->degrees.tensor;
    *slot = (struct elastic_slot){
        .position = place->kind * ELASTIC_MAX_NODES + place->node,
        .device = place->device,
        .layers = stage->layers,
        .shard = rank % ways,
        .ways = ways,
    };
}

static struct placed next_device(struct layout *layout, int kind)
{
    if (left_in(layout, kind) == 0)
        open_node(layout, kind);
    return (struct placed){kind, layout->nodes[kind] - 1, layout->used[kind]++};
}

/* Places all copies of the stages that share a column's devices: one, or one for each chunk. */
static void place_column(struct layout *layout, const struct elastic_member *member, int column, int columns)
{
    const struct plan_stage *stage = &member->pipeline->stages[column];
    int kind = layout->maker->kind_of[stage->type], devices = plan_stage_devices(stage);
    int per_node = layout->maker->kit->kinds[kind].nodes.devices;
    layout->pure &= left_in(layout, kind) == 0;
    for (int copy = 0; copy < member->copies && layout->fits; copy++) {
        if (left_in(layout, kind) < (devices < per_node ? devices : per_node)) {
            layout->idle |= left_in(layout, kind) > 0;
            open_node(layout, kind);
        }
        for (int i = 0; i < devices && layout->fits; i++) {
            struct placed place = next_device(layout, kind);
            for (int s = column; layout->slots && s < member->pipeline->stage_count; s += columns)
                add_slot(layout, &member->pipeline->stages[s], member->copies, copy * devices + i, &place);
        }
    }
    layout->pure &= left_in(layout, kind) == 0;
}

/* Does the plan have one pipeline alone, each stage on devices of one node? Then its nodes are those of the instance,
 * as stages that share a node need not follow each other. */
static bool is_planned(const struct elastic_maker *maker, const struct elastic_member *members, int count)
{
    const struct plan_pipeline *pipeline = members[0].pipeline;
    bool planned =
        count == 1 && maker->plan->pipeline_count == 1 && pipeline->copies == 1 && maker->plan->chunks <= 1;
    for (int s = 0; s < pipeline->stage_count && planned; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        planned = stage->run_count == 1 && stage->runs[0].nodes == 1 &&
                  stage->runs[0].count == plan_stage_devices(stage);
    }
    return planned;
}

static void place_planned(struct layout *layout, const struct plan_pipeline *pipeline)
{
    for (int s = 0; s < pipeline->stage_count && layout->fits; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        int kind = layout->maker->kind_of[stage->type], devices = plan_stage_devices(stage), same = 0;
        size_t slot = 0;
        while (pipeline->stages[same].runs[0].node != stage->runs[0].node)
            slot += (size_t)plan_stage_devices(&pipeline->stages[same++]);
        if (same == s)
            open_node(layout, kind);
        layout->used[kind] = layout->maker->kit->kinds[kind].nodes.devices;
        layout->pure &= devices == layout->used[kind];
        struct placed place = {kind, layout->nodes[kind] - 1, stage->runs[0].first};
        if (same < s && layout->slots)
            place.node = layout->slots[slot].position % ELASTIC_MAX_NODES;
        for (int i = 0; layout->slots && i < devices; i++, place.device++)
            add_slot(layout, stage, 1, i, &place);
    }
}

static void place_members(struct layout *layout, const struct elastic_member *members, int count)
{
    int chunks = layout->maker->plan->chunks > 1 ? layout->maker->plan->chunks : 1;
    layout->pure = layout->fits = true;
    layout->idle = false;
    if (is_planned(layout->maker, members, count)) {
        place_planned(layout, members[0].pipeline);
        return;
    }
    for (int m = 0; m < count; m++) {
        int columns = members[m].pipeline->stage_count / chunks;
        for (int c = 0; c < columns && layout->fits; c++)
            place_column(layout, &members[m], c, columns);
    }
    for (int k = 0; k < layout->maker->kit->kind_count; k++)
        layout->idle |= left_in(layout, k) > 0;
}

/* Returns whether the cluster has all device types of the pipeline. */
static bool has_kinds(const struct elastic_maker *maker, const struct plan_pipeline *pipeline)
{
    for (int s = 0; s < pipeline->stage_count; s++)
        if (maker->kind_of[pipeline->stages[s].type] < 0)
            return false;
    return true;
}

static struct layout layout_of(const struct elastic_maker *maker, const struct plan_pipeline *pipeline,
                               int copies)
{
    struct layout layout = {.maker = maker};
    struct elastic_member member = {pipeline, copies};
    if (has_kinds(maker, pipeline))
        place_members(&layout, &member, 1);
    return layout;
}

int elastic_shard_pipelines(const struct elastic_maker *maker)
{
    const struct plan *plan = maker->plan;
    int64_t pipelines = plan_copies(plan), groups = plan->technique.replicate;
    bool even = plan->sharding >= 1 && groups > 1 && maker->options->optimizer == ELASTIC_OPTIMIZER_PLAN;
    even = even && pipelines % groups == 0;
    for (int p = 0; p < plan->pipeline_count && even; p++)
        even = plan->pipelines[p].copies % (pipelines / groups) == 0;
    return even ? (int)(pipelines / groups) : 1;
}

int elastic_ways(const struct elastic_maker *maker, const struct plan_stage *stage, int copies)
{
    return stage->degrees.expert > 1 ? copies * plan_stage_devices(stage)
                                     : elastic_shard_pipelines(maker) * stage->degrees.tensor;
}

int elastic_copies_together(const struct elastic_maker *maker, const struct plan_pipeline *pipeline)
{
    int whole = pipeline->copies, group = elastic_shard_pipelines(maker);
    for (int copies = group; copies <= pipeline->copies; copies += group) {
        if (pipeline->copies % copies != 0)
            continue;
        struct layout layout = layout_of(maker, pipeline, copies);
        if (layout.fits && layout.pure)
            return copies;
        if (layout.fits && !layout.idle && whole == pipeline->copies)
            whole = copies;
    }
    return whole;
}

/* Returns whether each stage of the pipeline has whole nodes of its own. */
static bool elastic_is_pure(const struct elastic_maker *maker, const struct plan_pipeline *pipeline,
                            int copies)
{
    struct layout layout = layout_of(maker, pipeline, copies);
    return layout.fits && layout.pure;
}

/* ---- a shape ---- */

static int64_t slots_of(const struct elastic_member *members, int count)
{
    int64_t slots = 0;
    for (int m = 0; m < count; m++)
        for (int s = 0; s < members[m].pipeline->stage_count; s++)
            slots += (int64_t)plan_stage_devices(&members[m].pipeline->stages[s]) * members[m].copies;
    return slots;
}

/* Gradients take as many bytes as parameters where the plan does not say. */
static double gradients_of(const struct elastic_member *members, int count)
{
    double most = 0;
    for (int m = 0; m < count; m++)
        for (int s = 0; s < members[m].pipeline->stage_count; s++) {
            const struct plan_stage *stage = &members[m].pipeline->stages[s];
            most = fmax(most,
                        isfinite(stage->bytes.gradients) ? stage->bytes.gradients : stage->bytes.parameters);
        }
    return most;
}

/* "2 x v100-16gb + 1 x rtx-4090", with "4 copies on " before it */
static const char *name_of(struct elastic_kit *kit, const struct elastic_shape *shape)
{
    struct text text = {0};
    const char *plus = "";
    if (shape->pipelines > 1)
        text_format(&text, "%d copies on ", shape->pipelines);
    for (int k = 0; k < kit->kind_count; k++)
        if (shape->need[k] > 0) {
            text_format(&text, "%s%d x %s", plus, shape->need[k], kit->kinds[k].name);
            plus = " + ";
        }
    char *name = text.failed || !text.data ? NULL : arena_string(&kit->arena, text.data);
    text_release(&text);
    return name;
}

/* Positions count through the kinds. */
static bool number_positions(struct elastic_kit *kit, struct elastic_shape *shape,
                             const struct layout *layout)
{
    int first[ELASTIC_MAX_KINDS];
    for (int k = 0; k < kit->kind_count; k++) {
        first[k] = shape->nodes;
        shape->need[k] = layout->nodes[k];
        shape->nodes += layout->nodes[k];
    }
    shape->kinds = ARENA_ARRAY(&kit->arena, (size_t)shape->nodes + 1, int);
    if (!shape->kinds)
        return false;
    for (int k = 0, at = 0; k < kit->kind_count; k++)
        for (int n = 0; n < shape->need[k]; n++)
            shape->kinds[at++] = k;
    for (int i = 0; i < shape->slot_count; i++) {
        int kind = shape->slots[i].position / ELASTIC_MAX_NODES;
        shape->slots[i].position = first[kind] + shape->slots[i].position % ELASTIC_MAX_NODES;
    }
    return true;
}

struct elastic_shape *elastic_add_shape(struct elastic_maker *maker, const struct elastic_member *members,
                                        int count, struct error *err)
{
    struct elastic_kit *kit = maker->kit;
    struct layout layout = {.maker = maker};
    int64_t slots = slots_of(members, count);
    struct elastic_shape shape = {.path = arena_string(&kit->arena, maker->plan->path)};
    for (int m = 0; m < count; m++)
        shape.pipelines += members[m].copies;
    if (kit->shape_count == ELASTIC_MAX_SHAPES || slots > MAX_SLOTS)
        return error_null(err, ERROR_INPUT, "%s: expected at most %d shapes of at most %d devices",
                          maker->plan->path, ELASTIC_MAX_SHAPES, MAX_SLOTS);
    layout.slots = shape.slots = ARENA_ARRAY(&kit->arena, (size_t)slots + 1, struct elastic_slot);
    bool ok = shape.path && shape.slots;
    if (ok) {
        place_members(&layout, members, count);
        if (!layout.fits)
            return error_null(err, ERROR_INPUT, "%s: an instance takes more than %d nodes", maker->plan->path,
                              ELASTIC_MAX_NODES);
        shape.slot_count = (int)layout.slot_count;
        shape.gradients = gradients_of(members, count);
        ok = number_positions(kit, &shape, &layout) && (shape.name = name_of(kit, &shape)) &&
             VECTOR_ADD(kit->shapes, kit->shape_count, maker->shape_capacity, shape);
    }
    if (!ok)
        return error_memory_null(err);
    return &kit->shapes[kit->shape_count - 1];
}

/* ---- cells ---- */

static int segment_at(const struct elastic_kit *kit, int layer)
{
    int low = 0, high = kit->segment_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (kit->segment_from[middle] < layer)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The least common multiple of two numbers of at least 1. */
static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t divisor = a;
    for (int64_t rest = b; rest > 0;) {
        int64_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    return a / divisor * b;
}

static bool set_units(struct elastic_kit *kit, struct error *err)
{
    int64_t units = 1;
    for (int i = 0; i < kit->shape_count; i++)
        for (int s = 0; s < kit->shapes[i].slot_count && units <= MAX_UNITS; s++)
            units = common_multiple(units, kit->shapes[i].slots[s].ways);
    if (units > MAX_UNITS || units * kit->segment_count > MAX_CELLS)
        return error_set(err, ERROR_INPUT,
                         "the plans split layers over numbers of devices that have no common multiple up to "
                         "%d",
                         MAX_UNITS);
    kit->units = (int)units;
    return true;
}

static int by_position(const void *a, const void *b)
{
    const struct elastic_slot *x = a, *y = b;
    return x->position != y->position ? (x->position > y->position) - (x->position < y->position)
                                      : (x->device > y->device) - (x->device < y->device);
}

/* The nodes that hold the rarest cell: each counts once, as slots come node by node. */
static int copies_of(const struct elastic_kit *kit, const struct elastic_shape *shape, int *count, int *last)
{
    int cells = kit->segment_count * kit->units, rarest = shape->nodes;
    memset(count, 0, (size_t)cells * sizeof *count);
    for (int c = 0; c < cells; c++)
        last[c] = -1;
    for (int i = 0; i < shape->slot_count; i++) {
        const struct elastic_slot *slot = &shape->slots[i];
        for (int s = slot->first; s <= slot->last; s++)
            for (int u = slot->from; u < slot->until; u++) {
                int c = s * kit->units + u;
                count[c] += last[c] != slot->position;
                last[c] = slot->position;
            }
    }
    for (int c = 0; c < cells; c++)
        rarest = count[c] < rarest ? count[c] : rarest;
    return rarest;
}

bool elastic_make_cells(struct elastic_kit *kit, struct error *err)
{
    if (!set_units(kit, err))
        return false;
    size_t cells = (size_t)kit->segment_count * (size_t)kit->units;
    int *count = calloc(cells + 1, sizeof *count), *last = calloc(cells + 1, sizeof *last);
    for (int i = 0; count && last && i < kit->shape_count; i++) {
        struct elastic_shape *shape = &kit->shapes[i];
        for (int s = 0; s < shape->slot_count; s++) {
            struct elastic_slot *slot = &shape->slots[s];
            slot->first = segment_at(kit, slot->layers.first);
            slot->last = segment_at(kit, slot->layers.last + 1) - 1;
            slot->from = kit->units / slot->ways * slot->shard;
            slot->until = slot->from + kit->units / slot->ways;
        }
        qsort(shape->slots, (size_t)shape->slot_count, sizeof *shape->slots, by_position);
        shape->copies = copies_of(kit, shape, count, last);
    }
    bool ok = count && last ? true : error_memory(err);
    free(count);
    free(last);
    return ok;
}

/* DAPPLE's hybrids on fewer nodes.
 *
 * Problem. Stage s of the plan has w_s whole nodes of replicas that share each micro-batch; with v of them it
 * takes time_s w_s / v. For n nodes in all and at least c copies of every layer, choose c <= v_s <= max(w_s,
 * c), sum v_s = n, so that a batch of m micro-batches ends earliest: sum_s time_s w_s / v_s + (m - 1) max_s
 * time_s w_s / v_s.
 *
 * Method. The maximum is one of the values time_s w_s / v. For each, every stage gets the fewest nodes that
 * keep within it, and the remaining nodes go one by one to the stage whose time falls most; that is optimal
 * for the sum, as 1 / v is convex. Checked against all choices (tests/elastic/kit_test.c).
 *
 * The plan's other terms (transfers, all-reduces that nothing hides) stay as they are: an approximation. */

#define MAX_STAGES 64
#define MAX_LEAST  16 /* copies of each layer that are asked for at most */

struct hybrid {
    int stages;
    double time[MAX_STAGES]; /* of a micro-batch with all nodes */
    int all[MAX_STAGES];     /* nodes */
    int64_t batch;
};

static double time_of(const struct hybrid *h, int s, int nodes)
{
    return h->time[s] * h->all[s] / nodes;
}

static double score(const struct hybrid *h, const int *widths, double *sum, double *slowest)
{
    *sum = *slowest = 0;
    for (int s = 0; s < h->stages; s++) {
        *sum += time_of(h, s, widths[s]);
        *slowest = fmax(*slowest, time_of(h, s, widths[s]));
    }
    return *sum + (double)(h->batch - 1) * *slowest;
}

/* The widths for one limit of the slowest stage; false: they need more nodes. */
static bool widths_within(const struct hybrid *h, double limit, int least, int nodes, int *widths)
{
    for (int s = 0; s < h->stages; s++) {
        widths[s] = least;
        while (widths[s] < h->all[s] && time_of(h, s, widths[s]) > limit)
            widths[s]++;
        nodes -= widths[s];
        if (nodes < 0 || time_of(h, s, widths[s]) > limit)
            return false;
    }
    for (; nodes > 0; nodes--) {
        int best = -1;
        double most = 0;
        for (int s = 0; s < h->stages; s++) {
            double gain = widths[s] < h->all[s] ? time_of(h, s, widths[s]) - time_of(h, s, widths[s] + 1) : 0;
            if (gain > most) {
                most = gain;
                best = s;
            }
        }
        if (best < 0)
            return false;
        widths[best]++;
    }
    return true;
}

/* The fastest widths of n nodes; false: there are none. */
static bool best_widths(const struct hybrid *h, int least, int nodes, int *widths)
{
    double best = INFINITY, sum, slowest;
    int candidate[MAX_STAGES];
    for (int s = 0; s < h->stages; s++)
        for (int v = least; v == least || v <= h->all[s]; v++) {
            double limit = time_of(h, s, v);
            if (!widths_within(h, limit, least, nodes, candidate))
                continue;
            double seconds = score(h, candidate, &sum, &slowest);
            if (seconds < best) {
                best = seconds;
                memcpy(widths, candidate, sizeof candidate);
            }
        }
    return isfinite(best);
}

static int replicas_of_node(const struct elastic_maker *maker, const struct plan_stage *stage)
{
    return maker->plan->types[stage->type].nodes.devices / (stage->degrees.tensor * stage->degrees.context);
}

/* Takes the pipeline as a hybrid if its stages have whole nodes of replicas, and at least one stage has
 * several. */
static bool take_hybrid(struct hybrid *h, const struct elastic_maker *maker,
                        const struct plan_pipeline *pipeline)
{
    bool several = false;
    if (pipeline->copies != 1 || pipeline->stage_count > MAX_STAGES || maker->plan->chunks > 1 ||
        maker->plan->sharding >= 1 || !elastic_is_pure(maker, pipeline, 1))
        return false;
    h->stages = pipeline->stage_count;
    for (int s = 0; s < h->stages; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        int replicas = replicas_of_node(maker, stage);
        if (stage->degrees.expert > 1 || replicas < 1 || stage->degrees.data % replicas != 0)
            return false;
        h->all[s] = stage->degrees.data / replicas;
        h->time[s] = plan_stage_seconds(stage);
        several |= h->all[s] > 1;
    }
    return several;
}

static bool add_hybrid(struct elastic_maker *maker, const struct plan_pipeline *pipeline,
                       const struct elastic_line *line, const struct hybrid *h, const int *widths,
                       struct error *err)
{
    struct plan_pipeline fewer = *pipeline;
    struct plan_stage stages[MAX_STAGES] = {0};
    struct elastic_member member = {&fewer, 1};
    double all_sum, all_slowest, sum, slowest;
    memcpy(stages, pipeline->stages, (size_t)h->stages * sizeof *stages);
    for (int s = 0; s < h->stages; s++)
        stages[s].degrees.data = widths[s] * replicas_of_node(maker, &stages[s]);
    fewer.stages = stages;
    struct elastic_shape *shape = elastic_add_shape(maker, &member, 1, err);
    if (!shape)
        return false;
    shape->lines = ARENA_NEW(&maker->kit->arena, struct elastic_line);
    if (!shape->lines)
        return error_memory(err);
    score(h, h->all, &all_sum, &all_slowest);
    score(h, widths, &sum, &slowest);
    shape->line_count = 1;
    *shape->lines = (struct elastic_line){
        .copies = 1,
        .fill = line->fill - (all_sum - all_slowest) + (sum - slowest),
        .period = slowest,
        .step = 1,
    };
    return true;
}

bool elastic_add_hybrids(struct elastic_maker *maker, const struct plan_pipeline *pipeline,
                         const struct elastic_line *line, struct error *err)
{
    struct hybrid h = {.batch = maker->kit->batch};
    int widths[MAX_STAGES] = {0}, before[MAX_STAGES] = {0}, nodes = 0;
    if (!take_hybrid(&h, maker, pipeline))
        return true;
    for (int s = 0; s < h.stages; s++)
        nodes += h.all[s];
    /* the plan itself is the widest without copies asked for */
    for (int n = nodes; n >= h.stages; n--)
        for (int least = n == nodes ? 2 : 1; least <= MAX_LEAST && least * h.stages <= n; least++) {
            if (!best_widths(&h, least, n, widths))
                continue;
            /* asking for more copies often changes nothing */
            if (least > 1 && memcmp(before, widths, (size_t)h.stages * sizeof *widths) == 0)
                continue;
            memcpy(before, widths, sizeof before);
            if (maker->kit->shape_count < ELASTIC_MAX_SHAPES &&
                !add_hybrid(maker, pipeline, line, &h, widths, err))
                return false;
        }
    return true;
}
