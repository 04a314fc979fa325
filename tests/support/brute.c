#include "support/brute.h"

#include <math.h>
#include <string.h>

#define MAX_PARTS 16
#define TIE       1e-10 /* relative; stage times this near are equal */

/* What is left of the node at hand: parts of its devices, the last one is next in the pipeline. */
struct parts {
    int group;
    int count;
    int devices[MAX_PARTS];
};

struct walk {
    const struct plan_problem *problem;
    bool may_idle;
    int nodes_left[PLAN_MAX_GROUPS]; /* devices, if they may be idle */
    int stage_count;
    struct pipeline_stage stages[BRUTE_MAX_LAYERS];
    double times[BRUTE_MAX_LAYERS];
    struct brute best;
};

static void walk_parts(struct walk *walk, int layer, struct parts parts);

static bool is_power_of_two(int n)
{
    while (n > 1 && n % 2 == 0)
        n /= 2;
    return n == 1;
}

static int exponent_of(int power_of_two)
{
    int exponent = 0;
    for (; power_of_two > 1; power_of_two /= 2)
        exponent++;
    return exponent;
}

static double slowest_of(const double *times, int count)
{
    double slowest = 0;
    for (int i = 0; i < count; i++)
        slowest = fmax(slowest, times[i]);
    return slowest;
}

/* Oobleck (SOSP'23, section 4.1) with the counts of micro-batches that its code has; INFINITY where they are
 * not positive. */
static double oobleck_time(const double *times, int count, int microbatches)
{
    if (count == 1)
        return 4 * times[0];
    double slowest = slowest_of(times, count);
    int k = 0;
    for (int i = 0; i < count; i++)
        if (times[i] >= slowest * (1 - TIE))
            k = i;
    int n = microbatches == 0 ? 2 * count + k + 1 : microbatches - count + k + 1;
    if (n <= 0)
        return INFINITY;
    double t1 = 0, t3 = 0;
    for (int i = 0; i < count; i++)
        t1 += times[i];
    for (int i = k; i < count; i++)
        t3 += times[i];
    return t1 + n * times[k] + t3;
}

static double pipeline_time(const double *times, int count, int microbatches)
{
    int n = microbatches == 0 ? 3 * count : microbatches;
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += times[i];
    return sum + (n - 1) * slowest_of(times, count);
}

/* Stage i is followed by the stages after it, and holds a micro-batch for each of them and one of its own, unless there
 * are fewer; by the reference's formula it holds one. */
static bool fits(const struct walk *walk)
{
    const struct plan_problem *problem = walk->problem;
    for (int i = 0; i < walk->stage_count; i++) {
        const struct pipeline_stage *stage = &walk->stages[i];
        int64_t limit = problem->groups[stage->group].nodes.memory * stage->devices, bytes = 0;
        int held = walk->stage_count - i;
        if (problem->microbatches > 0 && held > problem->microbatches)
            held = problem->microbatches;
        if (problem->memory == MEMORY_REFERENCE)
            held = 1;
        for (int layer = stage->layers.first; layer <= stage->layers.last; layer++)
            bytes += 6 * problem->parameter_bytes[layer] + held * problem->activation_bytes[layer];
        if (limit > 0 && bytes > limit)
            return false;
    }
    return true;
}

static void look_at_plan(struct walk *walk)
{
    const struct plan_problem *problem = walk->problem;
    if (!fits(walk))
        return;
    double time = problem->objective == OBJECTIVE_OOBLECK
                      ? oobleck_time(walk->times, walk->stage_count, problem->microbatches)
                      : pipeline_time(walk->times, walk->stage_count, problem->microbatches);
    walk->best.plans++;
    if (time < walk->best.time) {
        walk->best.time = time;
        walk->best.stage_count = walk->stage_count;
        memcpy(walk->best.stages, walk->stages, sizeof walk->stages);
    }
}

/* The next node: any group that has one left. */
static void walk_nodes(struct walk *walk, int layer)
{
    bool all_used = true;
    for (int g = 0; g < walk->problem->group_count; g++) {
        if (walk->nodes_left[g] == 0)
            continue;
        all_used = false;
        struct parts node = {.group = g, .count = 1, .devices = {walk->problem->groups[g].nodes.devices}};
        walk->nodes_left[g]--;
        walk_parts(walk, layer, node);
        walk->nodes_left[g]++;
    }
    if (all_used && layer == walk->problem->layer_count)
        look_at_plan(walk);
}

/* One stage on `devices` devices of the group, which ends after any layer; then the other parts. */
static void walk_stage(struct walk *walk, int layer, int devices, struct parts others)
{
    const struct plan_problem *problem = walk->problem;
    const struct plan_group *group = &problem->groups[others.group];
    double forward = 0, backward = 0;
    int64_t memory = 0;
    int at = walk->stage_count++;
    for (int last = layer; last < problem->layer_count; last++) {
        double allreduce = devices > 1 ? group->allreduce[exponent_of(devices)][last] : 0;
        forward += group->forward[last] / devices + allreduce;
        backward += group->backward[last] / devices + allreduce;
        memory += 6 * problem->parameter_bytes[last] + problem->activation_bytes[last];
        if (group->nodes.memory > 0 && memory > devices * group->nodes.memory)
            break;
        walk->times[at] = forward + backward;
        walk->stages[at] = (struct pipeline_stage){.layers.first = layer,
                                                   .layers.last = last,
                                                   .group = others.group,
                                                   .devices = devices,
                                                   .node = -1};
        walk_parts(walk, last + 1, others);
    }
    walk->stage_count--;
}

/* The next stage, on any devices that are left. */
static void walk_devices(struct walk *walk, int layer)
{
    if (layer == walk->problem->layer_count) {
        look_at_plan(walk);
        return;
    }
    for (int g = 0; g < walk->problem->group_count; g++)
        for (int devices = 1; devices <= walk->problem->groups[g].nodes.devices; devices *= 2) {
            if (devices > walk->nodes_left[g])
                continue;
            walk->nodes_left[g] -= devices;
            walk_stage(walk, layer, devices, (struct parts){.group = g});
            walk->nodes_left[g] += devices;
        }
}

static void walk_parts(struct walk *walk, int layer, struct parts parts)
{
    if (walk->may_idle) {
        walk_devices(walk, layer);
        return;
    }
    if (parts.count == 0) {
        walk_nodes(walk, layer);
        return;
    }
    if (layer == walk->problem->layer_count)
        return;
    int devices = parts.devices[--parts.count];
    if (is_power_of_two(devices))
        walk_stage(walk, layer, devices, parts);
    if (devices % 2 == 0) {
        parts.devices[parts.count++] = devices / 2;
        parts.devices[parts.count++] = devices / 2;
        walk_parts(walk, layer, parts);
    }
}

static bool may_idle(const struct plan_problem *problem)
{
    return problem->objective == OBJECTIVE_PIPELINE && problem->microbatches > 0;
}

struct brute brute_force(const struct plan_problem *problem)
{
    struct walk walk = {.problem = problem, .may_idle = may_idle(problem), .best = {.time = INFINITY}};
    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        if (group->nodes.count > 0 && !is_power_of_two(group->nodes.devices))
            return walk.best;
        walk.nodes_left[g] = group->nodes.count * (walk.may_idle ? group->nodes.devices : 1);
    }
    if (walk.may_idle)
        walk_devices(&walk, 0);
    else
        walk_nodes(&walk, 0);
    return walk.best;
}

/* The stage after those that fill `devices` devices of the group, the first of them at `stage`; -1: they do
 * not. A stage as large as the part fills it, any smaller one means that the part was halved. */
static int after_parts(const struct pipeline *plan, int stage, int group, int devices)
{
    if (stage < 0 || stage >= plan->stage_count || plan->stages[stage].group != group)
        return -1;
    if (plan->stages[stage].devices == devices)
        return is_power_of_two(devices) ? stage + 1 : -1;
    if (devices % 2 != 0)
        return -1;
    return after_parts(plan, after_parts(plan, stage, group, devices / 2), group, devices / 2);
}

bool brute_contains(const struct plan_problem *problem, const struct pipeline *plan)
{
    int nodes_left[PLAN_MAX_GROUPS];
    for (int g = 0; g < problem->group_count; g++)
        nodes_left[g] = problem->groups[g].nodes.count;
    int next_layer = 0;
    for (int i = 0; i < plan->stage_count; i++) {
        if (plan->stages[i].layers.first != next_layer || plan->stages[i].layers.last < next_layer)
            return false;
        next_layer = plan->stages[i].layers.last + 1;
    }
    for (int i = 0; may_idle(problem) && i < plan->stage_count; i++) {
        const struct pipeline_stage *stage = &plan->stages[i];
        const struct plan_group *group = &problem->groups[stage->group];
        int used = 0;
        for (int k = 0; k < plan->stage_count; k++)
            used += plan->stages[k].group == stage->group ? plan->stages[k].devices : 0;
        if (!is_power_of_two(stage->devices) || stage->devices > group->nodes.devices ||
            used > group->nodes.count * group->nodes.devices)
            return false;
    }
    for (int i = 0; !may_idle(problem) && i < plan->stage_count;) {
        int group = plan->stages[i].group;
        nodes_left[group]--;
        i = after_parts(plan, i, group, problem->groups[group].nodes.devices);
        if (i < 0)
            return false;
    }
    for (int g = 0; g < problem->group_count && !may_idle(problem); g++)
        if (nodes_left[g] != 0)
            return false;
    return next_layer == problem->layer_count;
}
