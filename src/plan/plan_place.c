/* Devices for the stages of a plan that says only how many each has. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

struct plan_placement {
    struct plan *plan;
    int *used;       /* [node] devices given away */
    int *first_node; /* [type] */
    struct plan_run *runs;
    int run_count;
};

/* Nodes in a row with the same devices, and devices in a row of one node, are one run. */
static void add_run(struct plan_placement *placing, int node, int first, int count)
{
    struct plan_run *last = placing->run_count > 0 ? &placing->runs[placing->run_count - 1] : NULL;
    if (last && last->nodes == 1 && last->node == node && last->first + last->count == first)
        last->count += count;
    else
        placing->runs[placing->run_count++] = (struct plan_run){node, 1, first, count};
    last = &placing->runs[placing->run_count - 1];
    struct plan_run *before = placing->run_count > 1 ? last - 1 : NULL;
    if (before && before->node + before->nodes == last->node && before->first == last->first &&
        before->count == last->count && last->nodes == 1) {
        before->nodes++;
        placing->run_count--;
    }
}

/* The first node from `from` on that has so many devices left; -1: none. */
static int find_node(const struct plan_placement *placing, const struct plan_device_type *type,
                     int first_node, int from, int devices)
{
    for (int n = from; n < type->nodes.count; n++)
        if (type->nodes.devices - placing->used[first_node + n] >= devices)
            return n;
    return -1;
}

/* One copy of a stage. *from: the first node that may have room. */
static bool place_copy(struct plan_placement *placing, const struct plan_stage *stage, int *from)
{
    const struct plan_device_type *type = &placing->plan->types[stage->type];
    int first_node = placing->first_node[stage->type], left = plan_stage_devices(stage);
    while (left > 0 && type->nodes.devices > 0) {
        int wanted = left < type->nodes.devices ? left : type->nodes.devices;
        int node = find_node(placing, type, first_node, *from, wanted);
        if (node < 0)
            return false;
        add_run(placing, first_node + node, placing->used[first_node + node], wanted);
        placing->used[first_node + node] += wanted;
        *from = node;
        left -= wanted;
    }
    return left == 0;
}

static bool keep_runs(struct plan_placement *placing, struct plan_stage *stage)
{
    struct plan_run *own =
        ARENA_ARRAY(&placing->plan->arena, (size_t)placing->run_count + 1, struct plan_run);
    if (!own)
        return false;
    memcpy(own, placing->runs, (size_t)placing->run_count * sizeof *own);
    stage->runs = own;
    stage->run_count = placing->run_count;
    return true;
}

int plan_next_chunk(const struct plan *plan, const struct plan_pipeline *pipeline, int stage)
{
    static const char *const folded[] = {"zb-v", "dualpipev", "v-half", "v-min", "v-1p", "hanayo"};
    int devices = pipeline->stage_count / plan->chunks;
    for (size_t i = 0; i < sizeof folded / sizeof *folded && plan->schedule; i++)
        if (strcmp(plan->schedule, folded[i]) == 0)
            return stage + 2 * (devices - stage % devices) - 1;
    return stage + devices;
}

/* Chunks share the devices of the first one. */
static bool place_stage(struct plan_placement *placing, struct plan_pipeline *pipeline, int index)
{
    struct plan_stage *stage = &pipeline->stages[index];
    placing->run_count = 0;
    int from = 0;
    bool room = true;
    for (int copy = 0; room && copy < pipeline->copies; copy++)
        room = place_copy(placing, stage, &from);
    if (room && !keep_runs(placing, stage))
        return false;
    for (int other = plan_next_chunk(placing->plan, pipeline, index); other < pipeline->stage_count;
         other = plan_next_chunk(placing->plan, pipeline, other)) {
        pipeline->stages[other].runs = stage->runs;
        pipeline->stages[other].run_count = stage->run_count;
    }
    return true;
}

/* The largest number of devices of a stage below `below`; 0: none. */
static int next_size(const struct plan *plan, int below)
{
    int size = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
            int devices = plan_stage_devices(&plan->pipelines[p].stages[s]);
            if (devices < below && devices > size)
                size = devices;
        }
    return size;
}

/* Large stages first: small ones fit into what is left. */
static bool place_all(struct plan_placement *placing)
{
    const struct plan *plan = placing->plan;
    for (int size = next_size(plan, 1 << 30); size > 0; size = next_size(plan, size))
        for (int p = 0; p < plan->pipeline_count; p++)
            for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
                const struct plan_stage *stage = &plan->pipelines[p].stages[s];
                if (stage->chunk == 0 && plan_stage_devices(stage) == size &&
                    !place_stage(placing, &plan->pipelines[p], s))
                    return false;
            }
    return true;
}

static bool names_devices(const struct plan *plan)
{
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            if (plan->pipelines[p].stages[s].run_count > 0)
                return true;
    return false;
}

bool plan_place(struct plan *plan, struct error *err)
{
    if (names_devices(plan))
        return true;
    int64_t devices = plan_devices(plan);
    struct plan_placement placing = {
        .plan = plan,
        .used = calloc((size_t)plan_nodes(plan) + 1, sizeof *placing.used),
        .first_node = calloc((size_t)plan->type_count + 1, sizeof *placing.first_node),
        .runs = calloc((size_t)devices + 1, sizeof *placing.runs),
    };
    bool ok = placing.used && placing.first_node && placing.runs;
    for (int t = 1; ok && t < plan->type_count; t++)
        placing.first_node[t] = placing.first_node[t - 1] + plan->types[t - 1].nodes.count;
    ok = ok && place_all(&placing);
    free(placing.runs);
    free(placing.first_node);
    free(placing.used);
    return ok ? true : error_memory(err);
}
