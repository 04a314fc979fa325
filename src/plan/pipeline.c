#include "plan/pipeline.h"

#include "core/unit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stage times closer than this, relative, are equal: times that were the same in the file's unit stay the
 * same in seconds. */
#define TIE 1e-10

const char *plan_objective_name(enum plan_objective objective)
{
    static const char *const names[] = {"pipeline", "oobleck"};
    return names[objective];
}

void pipeline_release(struct pipeline *plan)
{
    free(plan->stages);
    memset(plan, 0, sizeof *plan);
}

static int log2_of(int power_of_two)
{
    int exponent = 0;
    while (power_of_two >> (exponent + 1))
        exponent++;
    return exponent;
}

/* In the reference's order of additions: layer by layer, compute, then all-reduce. */
static void score_stage(const struct plan_problem *problem, struct pipeline_stage *stage, int from_end)
{
    const struct plan_group *group = &problem->groups[stage->group];
    const double *allreduce = group->allreduce[log2_of(stage->devices)];
    double forward = 0, backward = 0;
    for (int i = stage->layers.first; i <= stage->layers.last; i++) {
        forward += group->forward[i] / stage->devices;
        backward += group->backward[i] / stage->devices;
        if (stage->devices > 1) {
            forward += allreduce[i];
            backward += allreduce[i];
        }
    }
    stage->forward = forward;
    stage->backward = backward;
    stage->memory = plan_stage_memory(problem, stage->layers.first, stage->layers.last, from_end);
}

/* The slowest stage; the last one on ties. */
static int find_bottleneck(const struct pipeline *plan)
{
    double slowest = 0;
    for (int i = 0; i < plan->stage_count; i++)
        slowest = fmax(slowest, pipeline_stage_time(&plan->stages[i]));
    int last = 0;
    for (int i = 0; i < plan->stage_count; i++)
        if (pipeline_stage_time(&plan->stages[i]) >= slowest * (1 - TIE))
            last = i;
    return last;
}

/* T1, T2, T3 of Oobleck (SOSP'23, section 4.1) as the code of Oobleck and Ditto has them: the number of
 * micro-batches in T2 is N - S + k + 1 (2S + k + 1 by default), and one stage takes 4 l whatever N is. */
static bool score_oobleck(struct pipeline *plan, double sum, struct error *err)
{
    double slowest = pipeline_stage_time(&plan->stages[plan->bottleneck]);
    if (plan->stage_count == 1) {
        plan->t1 = slowest;
        plan->t2 = 2 * slowest;
        plan->t3 = slowest;
        return true;
    }
    int after = plan->stage_count - 1 - plan->bottleneck;
    int n =
        plan->microbatches > 0 ? plan->microbatches - after : 2 * plan->stage_count + plan->bottleneck + 1;
    if (n <= 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "no plan: the oobleck objective needs more micro-batches than stages after the "
                         "slowest: %d and %d",
                         plan->microbatches, after);
    plan->t1 = sum;
    plan->t2 = n * slowest;
    for (int i = plan->bottleneck; i < plan->stage_count; i++)
        plan->t3 += pipeline_stage_time(&plan->stages[i]);
    return true;
}

/* The first micro-batch passes all stages, each further one leaves the slowest stage one period later. */
static void score_pipeline(struct pipeline *plan, double sum)
{
    int n = pipeline_microbatches(plan);
    plan->t1 = sum;
    plan->t2 = (n - 1) * pipeline_stage_time(&plan->stages[plan->bottleneck]);
}

bool pipeline_score(const struct plan_problem *problem, struct pipeline *plan, struct error *err)
{
    double sum = 0;
    for (int i = 0; i < plan->stage_count; i++) {
        score_stage(problem, &plan->stages[i], plan->stage_count - i);
        sum += pipeline_stage_time(&plan->stages[i]);
    }
    plan->objective = problem->objective;
    plan->microbatches = problem->microbatches;
    plan->bottleneck = find_bottleneck(plan);
    plan->t1 = plan->t2 = plan->t3 = 0;
    if (plan->objective == OBJECTIVE_PIPELINE)
        score_pipeline(plan, sum);
    else if (!score_oobleck(plan, sum, err))
        return false;
    plan->iteration_time = plan->t1 + plan->t2 + plan->t3;
    return true;
}

/* "plan.json:7: pipelines[0].stages[2].devices: …" where the plan came from a file; `index` -1: about all stages. */
static bool stage_error(const struct pipeline *plan, int index, struct error *err, const char *format, ...)
    PRINTF_LIKE(4, 5);

static bool stage_error(const struct pipeline *plan, int index, struct error *err, const char *format, ...)
{
    char place[256] = "", stage[32] = "";
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (plan->path && index >= 0)
        snprintf(place, sizeof place, "%.200s:%d: ", plan->path, plan->stages[index].line);
    else if (plan->path)
        snprintf(place, sizeof place, "%.200s: ", plan->path);
    if (index >= 0)
        snprintf(stage, sizeof stage, ".stages[%d]", index);
    return error_set(err, ERROR_INPUT, "%spipelines[0]%s%s", place, stage, message);
}

static bool memory_error(const struct pipeline *plan, int index, double needed,
                         const struct plan_group *group, struct error *err)
{
    char need[32], limit[32];
    return stage_error(plan, index, err, ": needs %s per device, a '%s' has %s",
                       unit_format(need, sizeof need, needed, UNIT_BYTES, 4), group->device,
                       unit_format(limit, sizeof limit, (double)group->nodes.memory, UNIT_BYTES, 4));
}

static bool check_stage(const struct plan_problem *problem, const struct pipeline *plan, int index,
                        int next_layer, struct error *err)
{
    const struct pipeline_stage *stage = &plan->stages[index];
    const struct plan_group *group = &problem->groups[stage->group];
    if (stage->layers.first != next_layer)
        return stage_error(plan, index, err, ".layers: expected to begin with %d, %s, found %d", next_layer,
                           index ? "the layer after the stage before" : "the first layer",
                           stage->layers.first);
    if (stage->layers.last < stage->layers.first || stage->layers.last >= problem->layer_count)
        return stage_error(plan, index, err, ".layers: expected an end from %d to %d, found %d",
                           stage->layers.first, problem->layer_count - 1, stage->layers.last);
    if (stage->devices < 1 || (stage->devices & (stage->devices - 1)) ||
        stage->devices > group->nodes.devices)
        return stage_error(plan, index, err,
                           ": expected a power of two of devices up to the %d of a '%s' node, found %d",
                           group->nodes.devices, group->device, stage->devices);
    int from_end = plan->stage_count - index;
    if (plan_stage_fits(problem, stage->group, stage->devices, stage->layers.first, stage->layers.last,
                        from_end))
        return true;
    int64_t memory = plan_stage_memory(problem, stage->layers.first, stage->layers.last, from_end);
    return memory_error(plan, index, (double)memory / stage->devices, group, err);
}

static bool check_groups(const struct plan_problem *problem, const struct pipeline *plan, struct error *err)
{
    int used[PLAN_MAX_GROUPS] = {0};
    for (int i = 0; i < plan->stage_count; i++)
        used[plan->stages[i].group] += plan->stages[i].devices;
    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        if (used[g] > group->nodes.count * group->nodes.devices)
            return stage_error(plan, -1, err, ": the plan uses %d devices of type '%s', the cluster has %d",
                               used[g], group->device, group->nodes.count * group->nodes.devices);
    }
    return true;
}

static bool check_nodes(const struct plan_problem *problem, const struct pipeline *plan, struct error *err)
{
    int *used = calloc((size_t)plan_problem_nodes(problem) + 1, sizeof *used);
    bool ok = used ? true : error_memory(err);
    for (int i = 0; ok && i < plan->stage_count; i++) {
        const struct pipeline_stage *stage = &plan->stages[i];
        int devices = problem->groups[stage->group].nodes.devices;
        if (stage->node >= 0 && (used[stage->node] += stage->devices) > devices)
            ok = stage_error(plan, i, err, ".devices: node %d has %d devices, the plan uses %d or more",
                             stage->node, devices, used[stage->node]);
    }
    free(used);
    return ok;
}

bool pipeline_check(const struct plan_problem *problem, const struct pipeline *plan, struct error *err)
{
    int next_layer = 0;
    for (int i = 0; i < plan->stage_count; i++) {
        if (!check_stage(problem, plan, i, next_layer, err))
            return false;
        next_layer = plan->stages[i].layers.last + 1;
    }
    if (next_layer != problem->layer_count)
        return stage_error(plan, -1, err, ": the plan ends after layer %d, the model has layers 0 to %d",
                           next_layer - 1, problem->layer_count - 1);
    return check_groups(problem, plan, err) && check_nodes(problem, plan, err);
}

/* Largest stages first, each into the first node with room: sizes are powers of two, so this only fails where
 * the devices of a node are no power of two themselves. */
static bool assign_group(const struct plan_group *group, int group_index, int first_node,
                         struct pipeline *plan)
{
    int *room = malloc((size_t)group->nodes.count * sizeof *room);
    if (!room)
        return false;
    for (int n = 0; n < group->nodes.count; n++)
        room[n] = group->nodes.devices;
    for (int devices = 1 << (group->splits - 1); devices > 0; devices /= 2)
        for (int i = 0; i < plan->stage_count; i++) {
            struct pipeline_stage *stage = &plan->stages[i];
            if (stage->group != group_index || stage->devices != devices)
                continue;
            stage->node = -1;
            for (int n = 0; n < group->nodes.count && stage->node < 0; n++)
                if (room[n] >= devices) {
                    room[n] -= devices;
                    stage->node = first_node + n;
                }
        }
    free(room);
    return true;
}

bool pipeline_assign_nodes(const struct plan_problem *problem, struct pipeline *plan, struct error *err)
{
    for (int i = 0; i < plan->stage_count; i++)
        plan->stages[i].node = -1;
    int first_node = 0;
    for (int g = 0; g < problem->group_count; g++) {
        if (!assign_group(&problem->groups[g], g, first_node, plan))
            return error_memory(err);
        first_node += problem->groups[g].nodes.count;
    }
    return true;
}
