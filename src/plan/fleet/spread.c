#include "plan/fleet/spread.h"

#include "plan/split/job.h"

#include <math.h>

int fleet_together(const struct fleet_spread *spread, int devices_per_node, int tensor)
{
    int places = devices_per_node / tensor;
    return spread->alike < places ? spread->alike : places;
}

struct fleet_option *fleet_add_option(struct fleet_problem *problem, struct arena *arena)
{
    struct fleet_option *option = &problem->options[problem->option_count];
    struct fleet_sums *sums = &option->sums;
    double **all[] = {&sums->seconds, &sums->kept,    &sums->held,   &sums->after,
                      &sums->send,    &sums->forward, &sums->updated};
    size_t row = (size_t)problem->layer_count + 1, count = sizeof all / sizeof *all;
    double *memory = ARENA_ARRAY(arena, count * row, double);
    if (!memory)
        return NULL;
    *option = (struct fleet_option){0};
    for (size_t i = 0; i < count; i++)
        *all[i] = memory + i * row;
    problem->option_count++;
    return option;
}

/* Returns the number of pipelines with the same stages, in all kinds of the plan. */
static int count_alike(const struct fleet_choice *plan, int kind)
{
    int count = 0;
    for (int k = 0; k < plan->pipeline_count; k++)
        if (fleet_same_stages(&plan->pipelines[k], &plan->pipelines[kind]))
            count += plan->pipelines[k].copies;
    return count;
}

/* Returns the number of nodes that the plan's pipelines need. */
static int count_nodes(const struct fleet_choice *plan, const struct fleet_problem *problem)
{
    int64_t used[FLEET_MAX_TYPES] = {0};
    int nodes = 0;
    for (int k = 0; k < plan->pipeline_count; k++)
        for (int i = 0; i < plan->pipelines[k].stage_count; i++) {
            const struct fleet_option *o = &problem->options[plan->pipelines[k].stages[i].option];
            used[o->type] += (int64_t)o->tensor * plan->pipelines[k].copies;
        }
    for (int t = 0; t < problem->type_count; t++) {
        int each = problem->types[t].per_node;
        nodes += each > 0 ? (int)((used[t] + each - 1) / each) : 0;
    }
    return nodes > 0 ? nodes : 1;
}

bool fleet_rescore(struct fleet_choice *plan, struct fleet_problem *problem, const struct fleet_maker *maker)
{
    int pipelines = fleet_pipelines(plan), nodes = count_nodes(plan, problem);
    double until_done = 0.0;
    plan->after = 0.0;
    for (int k = 0; k < plan->pipeline_count; k++) {
        struct fleet_pipeline *pipeline = &plan->pipelines[k];
        const struct fleet_spread real = {pipelines, pipelines, count_alike(plan, k), pipelines, nodes};
        double share =
            floor((double)pipeline->microbatches / pipeline->copies); /* the smallest of all copies */
        double *gradients = ARENA_ARRAY(&plan->arena, (size_t)pipeline->stage_count, double);
        if (!gradients || !maker->make(maker->context, &real, problem, &plan->arena))
            return false;
        fleet_pipeline_score(problem, pipeline);
        for (int i = 0; i < pipeline->stage_count; i++) {
            const struct fleet_stage *stage = &pipeline->stages[i];
            const struct fleet_option *o = &problem->options[stage->option];
            double updated = o->sums.updated[stage->last] - o->sums.updated[stage->first];
            double each = o->sums.seconds[stage->last] - o->sums.seconds[stage->first];
            gradients[i] = job_exposed(o->sums.after[stage->last] - o->sums.after[stage->first] - updated,
                                       1.0 - o->hidden, share * each);
            pipeline->after = fmax(pipeline->after, gradients[i] + updated);
        }
        pipeline->gradients = gradients;
        plan->after = fmax(plan->after, pipeline->after);
        until_done = fmax(until_done, fleet_pipeline_seconds(pipeline));
    }
    plan->seconds = until_done + plan->after;
    return true;
}
