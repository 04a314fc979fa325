#include "plan/reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECONDS 1e3 /* per second */

struct reference_objective reference_objective_of(const struct plan_problem *problem)
{
    int n = problem->microbatches;
    if (problem->objective == OBJECTIVE_PIPELINE)
        return n > 0 ? (struct reference_objective){.fixed = n - 1, .single = n}
                     : (struct reference_objective){.fixed = -1, .per_stage = 3, .single = 3};
    return n > 0 ? (struct reference_objective){.fixed = n + 1, .per_stage = -1, .weight = 1, .single = 4}
                 : (struct reference_objective){.fixed = 1, .per_stage = 2, .weight = 1, .single = 4};
}

struct reference_part reference_stage(double time)
{
    return (struct reference_part){.stages = 1, .sum = time, .slowest = time, .tail = time};
}

struct reference_part reference_join(const struct reference_part *left, const struct reference_part *right)
{
    bool left_holds = left->slowest > right->slowest;
    return (struct reference_part){
        .stages = left->stages + right->stages,
        .bottleneck = left_holds ? left->bottleneck : left->stages + right->bottleneck,
        .sum = left->sum + right->sum,
        .slowest = left_holds ? left->slowest : right->slowest,
        .tail = left_holds ? left->tail + right->sum : right->tail,
    };
}

double reference_count(const struct reference_objective *objective, const struct reference_part *part)
{
    return objective->fixed + objective->per_stage * part->stages + objective->weight * part->bottleneck;
}

double reference_time(const struct reference_objective *objective, const struct reference_part *part)
{
    if (part->stages == 1)
        return objective->single * part->slowest;
    return part->sum + reference_count(objective, part) * part->slowest + objective->weight * part->tail;
}

double reference_forward(const struct plan_group *group, int layer)
{
    return group->forward_ms ? group->forward_ms[layer] : group->forward[layer] * MILLISECONDS;
}

double reference_backward(const struct plan_group *group, int layer)
{
    return group->backward_ms ? group->backward_ms[layer] : group->backward[layer] * MILLISECONDS;
}

double reference_stage_time(const struct plan_problem *problem, int group, int devices, int first, int end)
{
    const struct plan_group *g = &problem->groups[group];
    int split = 0;
    while (1 << split < devices)
        split++;
    if (!plan_stage_fits(problem, group, devices, first, end - 1, 1))
        return INFINITY;
    double forward = 0, backward = 0;
    for (int i = first; i < end; i++) {
        double allreduce = split > 0 ? g->allreduce[split][i] * MILLISECONDS : 0;
        forward += reference_forward(g, i) / devices;
        forward += allreduce;
        backward += reference_backward(g, i) / devices;
        backward += allreduce;
    }
    return forward + backward;
}

bool reference_fits(const struct plan_problem *problem, const struct pipeline_stage *stages, int count)
{
    for (int i = 0; i < count; i++)
        if (!plan_stage_fits(problem, stages[i].group, stages[i].devices, stages[i].layers.first,
                             stages[i].layers.last, count - i))
            return false;
    return true;
}

bool reference_count_error(const struct plan_problem *problem, struct error *err)
{
    return error_set(
        err, ERROR_INFEASIBLE,
        "no plan: the oobleck objective counts N - S + k + 1 micro-batches, which is not positive for "
        "parts of more than N = %d stages; use more micro-batches, or try --search exact",
        problem->microbatches);
}

bool reference_finish(const struct plan_problem *problem, const struct pipeline_stage *stages, int count,
                      bool nodes_known, const char *search, struct pipeline *plan, struct error *err)
{
    memset(plan, 0, sizeof *plan);
    plan->stages = malloc((size_t)count * sizeof *stages);
    if (!plan->stages)
        return error_memory(err);
    memcpy(plan->stages, stages, (size_t)count * sizeof *stages);
    plan->stage_count = count;
    plan->search = search;
    if ((nodes_known || pipeline_assign_nodes(problem, plan, err)) && pipeline_score(problem, plan, err))
        return true;
    pipeline_release(plan);
    return false;
}
