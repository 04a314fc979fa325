#include "plan/fleet/classes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static bool wrong(const struct plan *plan, int pipeline, int stage, struct error *err, const char *why)
{
    return error_set(err, ERROR_INFEASIBLE, "%s%spipelines[%d].stages[%d]: %s", plan->path ? plan->path : "",
                     plan->path ? ": " : "", pipeline, stage, why);
}

static int find_option(const struct fleet_problem *problem, int type, int tensor)
{
    for (int o = 0; o < problem->option_count; o++)
        if (problem->options[o].type == type && problem->options[o].tensor == tensor)
            return o;
    return -1;
}

static bool take_stage(struct fleet_stage *to, const struct fleet_problem *problem,
                       const struct fleet_given *given, int p, int s, struct error *err)
{
    const struct plan *plan = given->plan;
    const struct plan_stage *stage = &plan->pipelines[p].stages[s];
    char why[160];
    if (stage->degrees.context != 1 || stage->degrees.expert != 1 || stage->degrees.data != 1 ||
        plan->chunks != 1)
        return wrong(plan, p, s, err,
                     "pipelines over mixed devices support only tensor parallelism, without chunks");
    int option = find_option(problem, given->type_of[stage->type], stage->degrees.tensor);
    if (option < 0) {
        snprintf(why, sizeof why, "tensor parallel %d does not divide the model, or the nodes of '%.60s'",
                 stage->degrees.tensor, plan->types[stage->type].name);
        return wrong(plan, p, s, err, why);
    }
    *to = (struct fleet_stage){option, stage->layers.first, stage->layers.last + 1};
    return true;
}

static bool take_pipeline(struct fleet_pipeline *to, const struct fleet_problem *problem,
                          const struct fleet_given *given, int p, struct arena *arena, struct error *err)
{
    const struct plan_pipeline *from = &given->plan->pipelines[p];
    if (from->stage_count > problem->layer_count)
        return wrong(given->plan, p, problem->layer_count, err, "there are more stages than layers");
    *to = (struct fleet_pipeline){
        .stage_count = from->stage_count,
        .copies = from->copies,
        .microbatches = from->microbatches * from->copies,
    };
    to->stages = ARENA_ARRAY(arena, (size_t)from->stage_count, struct fleet_stage);
    if (!to->stages)
        return error_memory(err);
    for (int s = 0; s < from->stage_count; s++)
        if (!take_stage(&to->stages[s], problem, given, p, s, err))
            return false;
    if (from->stages[from->stage_count - 1].layers.last + 1 != problem->layer_count) {
        char why[80];
        snprintf(why, sizeof why, "ends with layer %d, the last layer of the model is %d",
                 from->stages[from->stage_count - 1].layers.last, problem->layer_count - 1);
        return wrong(given->plan, p, from->stage_count - 1, err, why);
    }
    return true;
}

/* Version 1 gives the micro-batches of copies rounded up. */
static bool check_share(struct fleet_choice *choice, const struct fleet_problem *problem,
                        const struct plan *plan, struct error *err)
{
    int64_t sum = 0;
    for (int k = 0; k < choice->pipeline_count; k++) {
        if (choice->pipelines[k].microbatches == 0) {
            fleet_share(choice->pipelines, choice->pipeline_count, problem->microbatches);
            return true;
        }
        sum += choice->pipelines[k].microbatches;
    }
    return (sum >= problem->microbatches && sum < problem->microbatches + fleet_pipelines(choice)) ||
           error_set(err, ERROR_INFEASIBLE,
                     "%s%sthe pipelines run %" PRId64 " micro-batches, the global batch has %" PRId64,
                     plan->path ? plan->path : "", plan->path ? ": " : "", sum, problem->microbatches);
}

static bool take_all(struct fleet_choice *choice, struct fleet_problem *problem,
                     const struct fleet_maker *maker, const struct fleet_given *given, struct error *err)
{
    const struct plan *plan = given->plan;
    choice->pipeline_count = plan->pipeline_count;
    choice->pipelines = ARENA_ARRAY(&choice->arena, (size_t)plan->pipeline_count + 1, struct fleet_pipeline);
    if (!choice->pipelines || !maker->make(maker->context, &FLEET_SPREAD_ANY, problem, &choice->arena))
        return error_memory(err);
    for (int p = 0; p < plan->pipeline_count; p++)
        if (!take_pipeline(&choice->pipelines[p], problem, given, p, &choice->arena, err))
            return false;
    if (!fleet_rescore(choice, problem, maker))
        return error_memory(err);
    if (!check_share(choice, problem, plan, err))
        return false;
    if (!fleet_rescore(choice, problem, maker)) /* with their shares */
        return error_memory(err);
    choice->seconds = 0.0;
    for (int k = 0; k < choice->pipeline_count; k++)
        choice->seconds = fmax(choice->seconds, fleet_pipeline_seconds(&choice->pipelines[k]));
    choice->seconds += choice->after;
    return true;
}

bool fleet_take_given(struct fleet_choice *choice, struct fleet_problem *problem,
                      const struct fleet_maker *maker, const struct fleet_given *given, struct error *err)
{
    *choice = (struct fleet_choice){0};
    if (take_all(choice, problem, maker, given, err))
        return true;
    fleet_choice_release(choice);
    return false;
}
