#include "plan/fleet/best.h"

#include "core/clock.h"
#include "core/stop.h"
#include "core/unit.h"
#include "plan/fleet/idle.h"
#include "plan/fleet/plan.h"

#include <math.h>
#include <string.h>

#define MERGE_MAX 24  /* merged clusters that are planned */
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

/* ---- better types as lesser ones ---- */

bool merge_allowed(const struct fleet_question *question, int better, int worse)
{
    const struct cluster_group *a = &question->groups[better], *b = &question->groups[worse];
    bool allowed = better != worse && a->nodes > 0 && b->nodes > 0 &&
                   a->devices_per_node % b->devices_per_node == 0 && a->memory >= b->memory &&
                   a->type->bandwidth >= b->type->bandwidth && a->type->launch <= b->type->launch &&
                   a->inside->bandwidth >= b->inside->bandwidth &&
                   a->across->bandwidth >= b->across->bandwidth && a->network == b->network;
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        allowed = allowed && a->type->peak[t] >= b->type->peak[t];
    return allowed;
}

int merge_groups(struct fleet_question *question, int better, int worse)
{
    struct cluster_group *groups = question->groups;
    groups[worse].nodes +=
        groups[better].nodes * (groups[better].devices_per_node / groups[worse].devices_per_node);
    question->group_count--;
    memmove(groups + better, groups + better + 1, (size_t)(question->group_count - better) * sizeof *groups);
    return worse - (better < worse);
}

/* Which group of the question each of its groups is used as. */
struct merging {
    const struct fleet_question *question;
    struct parallel *pool;
    struct mix_answer *best;
    struct fleet_question *merged;
    int *used_as;
    double bound;
    int count;
    int as[MERGE_MAX][FLEET_MAX_TYPES]; /* those that were planned */
    bool better;
};

/* Plans the cluster in which groups are used as others say, unless that was done. */
static void plan_as(struct merging *m, const int *as)
{
    struct fleet_question question = *m->question;
    struct mix_answer mix;
    struct error none;
    int groups = question.group_count, place[FLEET_MAX_TYPES];
    for (int i = 0; i < m->count; i++)
        if (memcmp(m->as[i], as, (size_t)groups * sizeof *as) == 0)
            return;
    if (m->count == MERGE_MAX || stop_wanted()) {
        m->bound = 0.0;
        return;
    }
    memcpy(m->as[m->count++], as, (size_t)groups * sizeof *as);
    for (int g = 0; g < groups; g++)
        place[g] = g;
    for (int g = 0; g < groups; g++) {
        if (as[g] == g)
            continue;
        int from = place[g];
        merge_groups(&question, from, place[as[g]]);
        for (int h = 0; h < groups; h++)
            place[h] -= place[h] > from;
    }
    bool found = mix_plan(&mix, &question, m->pool, &none);
    m->bound = fmin(m->bound, mix.lower_bound);
    if (found && mix.seconds < m->best->seconds) {
        mix_release(m->best);
        *m->best = mix;
        *m->merged = question;
        memcpy(m->used_as, as, (size_t)groups * sizeof *as);
        m->better = true;
    } else if (found) {
        mix_release(&mix);
    } else if (none.kind != ERROR_INFEASIBLE) {
        m->bound = 0.0;
    }
}

/* Sets what the groups from `group` on are used as, in every way: a group that others are used as is used as itself. */
static void merge_from(struct merging *m, int group, int *as)
{
    const struct fleet_question *question = m->question;
    if (group == question->group_count) {
        bool merges = false;
        for (int g = 0; g < group; g++) {
            merges |= as[g] != g;
            if (as[as[g]] != as[g])
                return;
        }
        if (merges)
            plan_as(m, as);
        return;
    }
    for (int h = 0; h < question->group_count; h++)
        if (h == group || merge_allowed(question, group, h)) {
            as[group] = h;
            merge_from(m, group + 1, as);
        }
}

/* Plans all merged clusters. If one is faster than `best`, *best is replaced, *merged is its question, and used_as[group] the one
 * that a group is used as; returns whether one is. Lowers *bound to theirs; 0: the time was over, or they are too many. */
static bool merge_plan(struct mix_answer *best, double *bound, struct fleet_question *merged, int *used_as,
                       const struct fleet_question *question, struct parallel *pool)
{
    struct merging m = {.question = question,
                        .pool = pool,
                        .best = best,
                        .merged = merged,
                        .used_as = used_as,
                        .bound = *bound};
    int as[FLEET_MAX_TYPES];
    merge_from(&m, 0, as);
    *bound = m.bound;
    return m.better;
}

/* ---- the best of all ---- */

/* Returns the seconds that the model's arithmetic takes with all devices at their peak: nothing ends earlier. */
static double arithmetic_of(const struct fleet_question *question)
{
    double rate = 0.0, flops = INFINITY;
    for (int g = 0; g < question->group_count; g++) {
        struct job job = fleet_job_on(question, g, 1);
        job.microbatch = job.batch = 1;
        rate += job.device->peak[cost_device_type(job.device, job.type)] * question->groups[g].nodes *
                question->groups[g].devices_per_node;
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
        there += (double)question->groups[g].memory * (1.0 - question->headroom) * question->groups[g].nodes *
                 question->groups[g].devices_per_node;
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
    bool jobs = mix_plan(&best->mix, question, pool, err), fleet = false;
    double bound = best->mix.lower_bound;
    if (jobs || err->kind == ERROR_INFEASIBLE) {
        if (!jobs)
            best->mix.seconds = INFINITY;
        best->is_merged = merge_plan(&best->mix, &bound, &best->merged, best->used_as, question, pool);
        jobs |= best->is_merged;
    }
    stop_restore(before);
    if (!jobs && err->kind != ERROR_INFEASIBLE)
        return false;
    if (!jobs && spans_types(question) && !has_room(question, err)) {
        best->lower_bound = INFINITY;
        return false;
    }
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
    for (int g = 0; g < question->group_count; g++) {
        const struct cluster_group *group = &question->groups[g];
        if (best->used_as[g] != g)
            text_format(&text, "%s%d x %s used as %s", text.length > 0 ? ", " : "",
                        group->nodes * group->devices_per_node, group->type->name,
                        question->groups[best->used_as[g]].type->name);
    }
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
