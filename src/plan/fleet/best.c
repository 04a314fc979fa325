#include "plan/fleet/best.h"

#include "plan/fleet/idle.h"
#include "plan/fleet/plan.h"

#include <math.h>
#include <string.h>

/* Do pipelines over several types keep what the question fixes? They have tensor parallel stages, and nothing else. */
static bool spans_types(const struct fleet_question *question)
{
    for (int d = 0; d < JOB_DIMENSIONS; d++)
        if (question->ranges[d].given && d != JOB_TENSOR && d != JOB_MICROBATCH && d != JOB_RECOMPUTE)
            return false;
    return true;
}

struct fleet_rival fleet_rival_of(const struct fleet_answer *answer)
{
    struct fleet_rival rival = {
        .seconds = answer->time.seconds,
        .pipelines = answer->pipelines,
        .sharding = answer->sharded,
        .microbatch = answer->microbatch,
        .recompute = recompute_name(answer->recompute),
    };
    for (int k = 0; k < answer->plan.pipeline_count; k++) {
        const struct fleet_pipeline *pipeline = &answer->plan.pipelines[k];
        for (int t = 0; t < answer->problem.type_count; t++)
            rival.devices[t] += pipeline->copies * pipeline->devices[t];
        for (int i = 0; i < pipeline->stage_count; i++)
            rival.memory = fmax(rival.memory, fleet_stage_memory(&answer->problem, &pipeline->stages[i],
                                                                 fleet_in_flight(pipeline, i)));
    }
    return rival;
}

bool fleet_find_best(struct fleet_best *best, const struct fleet_question *question, struct parallel *pool,
                     struct progress *progress, struct error *err)
{
    struct error none;
    *best = (struct fleet_best){.seconds = INFINITY};
    bool jobs = mix_plan(&best->mix, question, pool, err), fleet = false;
    double bound = best->mix.lower_bound;
    if (!jobs && err->kind != ERROR_INFEASIBLE)
        return false;
    best->seconds = jobs ? best->mix.seconds : INFINITY;
    best->rivals = best->mix.rivals;
    memcpy(best->with, best->mix.with, sizeof best->with);
    if (spans_types(question)) {
        fleet = fleet_plan_job(&best->fleet, question, best->seconds, pool, progress, &none);
        bound = fmin(bound, best->fleet.lower_bound);
        if (!fleet && none.kind != ERROR_INFEASIBLE) {
            *err = none;
            mix_release(&best->mix);
            return false;
        }
        if (!jobs && !fleet)
            *err = none;
        if (fleet) {
            struct fleet_rival own = fleet_rival_of(&best->fleet);
            fleet_rivals_add(&best->rivals, &own);
        }
        if (fleet && best->fleet.time.seconds >= best->seconds) { /* slow beside its pipelines */
            fleet_answer_release(&best->fleet);
            fleet = false;
        }
    }
    best->jobs = !fleet;
    best->seconds = fleet ? best->fleet.time.seconds : best->seconds;
    best->lower_bound = fmin(bound, best->seconds);
    best->mix.lower_bound = best->fleet.lower_bound = best->lower_bound;
    if (fleet)
        mix_release(&best->mix);
    return jobs || fleet;
}

void fleet_best_release(struct fleet_best *best)
{
    if (best->jobs)
        mix_release(&best->mix);
    else
        fleet_answer_release(&best->fleet);
}

/* Says of each type why some of its devices are idle. */
static bool add_idle(struct plan *plan, const struct fleet_best *best, const struct fleet_question *question,
                     struct error *err)
{
    for (int g = 0; g < question->group_count; g++) {
        int devices = question->groups[g].nodes * question->groups[g].devices_per_node, idle = devices;
        double with = best->with[g];
        for (int k = 0; k < best->mix.kind_count; k++)
            if (best->jobs && best->mix.kinds[k].group == g)
                idle -= best->mix.kinds[k].job.devices;
        if (best->jobs && idle < devices)
            with = NAN;
        if (!best->jobs && (idle = fleet_idle(&best->fleet, g)) > 0) {
            double own = fleet_seconds_with(&best->fleet.plan, &best->fleet.problem, g, idle);
            if (isnan(own))
                return error_memory(err);
            with = fmin(with, own + best->fleet.time.other);
        }
        if (idle > 0 && !plan_add_idle(plan, g, idle, with, err))
            return false;
    }
    return true;
}

bool plan_of_fleet_best(struct plan *plan, const struct fleet_best *best,
                        const struct fleet_question *question, struct error *err)
{
    if (!(best->jobs ? plan_of_mix(plan, &best->mix, question, err)
                     : plan_of_fleet_job(plan, &best->fleet, question, err)))
        return false;
    if (add_idle(plan, best, question, err))
        return true;
    plan_release(plan);
    return false;
}
