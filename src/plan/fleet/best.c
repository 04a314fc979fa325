#include "plan/fleet/best.h"

#include "core/clock.h"
#include "core/stop.h"
#include "core/unit.h"
#include "plan/fleet/idle.h"
#include "plan/fleet/plan.h"

#include <math.h>
#include <string.h>

#define MIX_SHARE 0.6 /* of the time: for jobs on groups, before pipelines over several types */

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
        .plan.iteration_time = answer->time.seconds,
        .plan.pipelines = answer->pipelines,
        .plan.sharding = answer->sharded,
        .plan.microbatch = answer->microbatch,
        .plan.recompute = recompute_name(answer->recompute),
    };
    for (int k = 0; k < answer->plan.pipeline_count; k++) {
        const struct fleet_pipeline *pipeline = &answer->plan.pipelines[k];
        for (int t = 0; t < answer->problem.type_count; t++)
            rival.devices[t] += pipeline->copies * pipeline->devices[t];
        for (int i = 0; i < pipeline->stage_count; i++)
            rival.plan.memory =
                fmax(rival.plan.memory, fleet_stage_memory(&answer->problem, &pipeline->stages[i],
                                                           fleet_in_flight(pipeline, i)));
    }
    return rival;
}

/* ---- the best of all ---- */

/* Returns the seconds that the model's arithmetic takes with all devices at their peak: nothing ends earlier. */
static double arithmetic_of(const struct fleet_question *question)
{
    double rate = 0.0, flops = INFINITY;
    for (int g = 0; g < question->group_count; g++) {
        struct job job = fleet_job_on(question, g, 1);
        job.microbatch = job.batch = 1;
        rate += job.device->peak[cost_device_type(job.device, job.type)] * question->groups[g].nodes.count *
                question->groups[g].nodes.devices;
        flops = fmin(flops, job_time(&job).flops);
    }
    return flops * (double)question->job.batch / rate;
}

/* All pipelines together hold the parameters and gradients at least once, and the optimizer's states. */
static bool has_room(const struct fleet_question *question, struct error *err)
{
    const struct software *software = question->job.software;
    struct job job = fleet_job_on(question, 0, 1);
    struct job_layers layers = job_layers_of(&job);
    struct job_layer all = job_stage(&job, &layers, 0, 0, layers.block_count);
    double needed = (all.parameters + all.experts) *
                    (software->parameter_bytes + software->stored_gradient_bytes + software->state_bytes);
    double there = 0.0;
    for (int g = 0; g < question->group_count; g++)
        there += (double)question->groups[g].nodes.memory * (1.0 - question->headroom) *
                 question->groups[g].nodes.count * question->groups[g].nodes.devices;
    char needs[32], has[32];
    return needed <= there ||
           error_set(err, ERROR_INFEASIBLE,
                     "'%s' does not fit in any pipeline of these devices: parameters, gradients and "
                     "optimizer states take %s, the devices have %s",
                     question->job.model->name, unit_format(needs, sizeof needs, needed, UNIT_BYTES, 4),
                     unit_format(has, sizeof has, there, UNIT_BYTES, 4));
}

static bool find(struct fleet_best *best, const struct fleet_question *question, struct parallel *pool,
                 struct progress *progress, struct error *err)
{
    struct error none;
    double now = clock_now(), half = now + MIX_SHARE * (question->deadline - now);
    double before = stop_deadline(question->deadline > 0.0 ? half : 0.0);
    bool jobs = mix_plan(&best->mix, question, INFINITY, pool, err), fleet = false;
    double bound = best->mix.lower_bound;
    if (jobs || err->kind == ERROR_INFEASIBLE) {
        if (!jobs)
            best->mix.time.seconds = INFINITY;
        best->is_merged = lend_plan(&best->mix, &bound, &best->merged, &best->lent, question, pool);
        jobs |= best->is_merged;
    }
    stop_restore(before);
    if (!jobs && err->kind != ERROR_INFEASIBLE)
        return false;
    if (!jobs && spans_types(question) && !has_room(question, err)) {
        best->lower_bound = INFINITY;
        return false;
    }
    best->seconds = jobs ? best->mix.time.seconds : INFINITY;
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
        if (fleet && !(best->is_merged && best->fleet.time.seconds >= best->seconds)) {
            struct fleet_rival own = fleet_rival_of(&best->fleet);
            if (best->is_merged) /* the others have other groups */
                best->rivals.count = 0;
            fleet_rivals_add(&best->rivals, &own);
        }
        if (fleet && best->fleet.time.seconds >= best->seconds) { /* slow beside its pipelines */
            fleet_answer_release(&best->fleet);
            fleet = false;
        }
    }
    best->jobs = !fleet;
    best->is_merged = best->is_merged && !fleet;
    best->seconds = fleet ? best->fleet.time.seconds : best->seconds;
    if (question->deadline > 0.0 && bound < INFINITY)
        bound = fmax(bound, arithmetic_of(question));
    best->lower_bound = fmin(bound, best->seconds);
    best->mix.lower_bound = best->fleet.lower_bound = best->lower_bound;
    if (fleet)
        mix_release(&best->mix);
    return jobs || fleet;
}

bool fleet_find_best(struct fleet_best *best, const struct fleet_question *question, struct parallel *pool,
                     struct progress *progress, struct error *err)
{
    *best = (struct fleet_best){.seconds = INFINITY};
    double before = stop_deadline(question->deadline);
    bool found = find(best, question, pool, progress, err);
    bool late = question->deadline > 0.0 && stop_wanted() && !(best->lower_bound == INFINITY);
    stop_restore(before);
    if (!found && late && (err->kind == ERROR_INFEASIBLE || err->kind == ERROR_STOPPED))
        return fleet_late_error(err);
    return found;
}

void fleet_best_release(struct fleet_best *best)
{
    if (best->jobs)
        mix_release(&best->mix);
    else
        fleet_answer_release(&best->fleet);
}

const struct fleet_question *fleet_best_question(const struct fleet_best *best,
                                                 const struct fleet_question *question)
{
    return best->is_merged ? &best->merged : question;
}

/* Names the devices that are used as those of a lesser type. */
static bool name_merged(struct plan *plan, const struct fleet_best *best,
                        const struct fleet_question *question, struct error *err)
{
    struct text text = {0};
    for (int g = 0; g < question->group_count; g++)
        for (int h = 0; h < question->group_count; h++)
            if (best->lent.devices[g][h] > 0)
                text_format(&text, "%s%d x %s used as %s", text.length > 0 ? ", " : "",
                            best->lent.devices[g][h], question->groups[g].type->name,
                            question->groups[h].type->name);
    plan->merged = text.failed || !text.data ? NULL : arena_string(&plan->arena, text.data);
    text_release(&text);
    if (plan->merged)
        plan->proof_over = arena_format(&plan->arena, "%s, and %s", plan->proof_over, plan->merged);
    return (plan->merged && plan->proof_over) || error_memory(err);
}

/* Says of each type why some of its devices are idle. */
static bool add_idle(struct plan *plan, const struct fleet_best *best, const struct fleet_question *question,
                     struct error *err)
{
    for (int g = 0; g < question->group_count; g++) {
        int devices = question->groups[g].nodes.count * question->groups[g].nodes.devices, idle = devices;
        double with = best->with[g];
        for (int k = 0; k < best->mix.kind_count; k++)
            if (best->jobs && best->mix.kinds[k].group == g)
                idle -= best->mix.kinds[k].choice.job.devices;
        if (best->jobs && idle < devices)
            with = NAN;
        if (!best->jobs && (idle = fleet_idle(&best->fleet, g)) > 0) {
            double own =
                fleet_seconds_with(&best->fleet.plan, &best->fleet.problem, g, idle, question->deadline);
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
    const struct fleet_question *given = question;
    question = fleet_best_question(best, question);
    if (!(best->jobs ? plan_of_mix(plan, &best->mix, question, err)
                     : plan_of_fleet_job(plan, &best->fleet, question, err)))
        return false;
    if (add_idle(plan, best, question, err) && (!best->is_merged || name_merged(plan, best, given, err)))
        return true;
    plan_release(plan);
    return false;
}
