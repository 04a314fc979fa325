#include "plan/fleet/best.h"
#include "core/clock.h"
#include "core/stop.h"
#include "core/unit.h"
#include "plan/fleet/idle.h"
#include "plan/fleet/lend.h"
#include "plan/fleet/plan.h"

#include <math.h>
#include <string.h>

#define WHOLE_MAX 24 /* clusters in which whole groups are lent */

static int devices_of(const struct cluster_group *group)
{
    return group->nodes.count * group->nodes.devices;
}

bool fleet_may_lend(const struct fleet_question *question, int better, int worse)
{
    const struct cluster_group *a = &question->groups[better], *b = &question->groups[worse];
    bool allowed = better != worse && a->nodes.count > 0 && b->nodes.count > 0 &&
                   a->nodes.devices % b->nodes.devices == 0 && a->nodes.memory >= b->nodes.memory &&
                   a->type->bandwidth >= b->type->bandwidth && a->type->launch <= b->type->launch &&
                   a->inside->bandwidth >= b->inside->bandwidth &&
                   a->across->bandwidth >= b->across->bandwidth && a->network == b->network;
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        allowed = allowed && a->type->peak[t] >= b->type->peak[t];
    return allowed;
}

/* Returns the least number of devices that a group lends to another one. */
static int unit_of(const struct fleet_question *question, int better, int worse)
{
    const struct cluster_group *from = &question->groups[better];
    return from->nodes.count > 1 ? from->nodes.devices : question->groups[worse].nodes.devices;
}

static int given_by(const struct fleet_lending *lent, int group)
{
    int sum = 0;
    for (int h = 0; h < FLEET_MAX_TYPES; h++)
        sum += lent->devices[group][h];
    return sum;
}

static int taken_by(const struct fleet_lending *lent, int group)
{
    int sum = 0;
    for (int g = 0; g < FLEET_MAX_TYPES; g++)
        sum += lent->devices[g][group];
    return sum;
}

void fleet_lend(struct fleet_question *question, const struct fleet_lending *lent)
{
    int kept = 0;
    for (int g = 0; g < question->group_count; g++) {
        struct cluster_group group = question->groups[g];
        int given = given_by(lent, g), part = given % group.nodes.devices;
        group.nodes.count += (taken_by(lent, g) - given + part) / group.nodes.devices;
        group.nodes.devices -= part; /* of the one node */
        if (group.nodes.count > 0)
            question->groups[kept++] = group;
    }
    question->group_count = kept;
}

void fleet_lend_for(struct fleet_question *question, const int *wanted)
{
    struct fleet_lending lent = {{{0}}};
    int spare[FLEET_MAX_TYPES] = {0};
    for (int g = 0; g < question->group_count; g++)
        spare[g] = devices_of(&question->groups[g]) - wanted[g];
    for (int g = 0; g < question->group_count; g++)
        for (int h = 0; h < question->group_count; h++) {
            if (spare[g] >= 0 || spare[h] <= 0 || !fleet_may_lend(question, h, g))
                continue;
            int unit = unit_of(question, h, g), number = spare[h] < -spare[g] ? spare[h] : -spare[g];
            lent.devices[h][g] = number / unit * unit;
            spare[h] -= lent.devices[h][g];
            spare[g] += lent.devices[h][g];
        }
    fleet_lend(question, &lent);
}

/* ---- the search ---- */

struct lender {
    const struct fleet_question *question;
    struct parallel *pool;
    struct mix_answer *best;
    struct fleet_question *lending;
    struct fleet_lending *lent;
    double bound;
    bool whole; /* groups are lent as a whole, or not at all */
    int seen;   /* sets */
    bool plans; /* else they are counted */
    bool better;
};

/* A group that others are lent to keeps its own nodes where groups are lent as a whole, and whole ones where parts
 * are. */
static bool is_possible(const struct lender *l, const struct fleet_lending *lent)
{
    bool possible = true;
    for (int g = 0; g < l->question->group_count; g++) {
        const struct cluster_group *group = &l->question->groups[g];
        if (taken_by(lent, g) > 0 &&
            (l->whole ? given_by(lent, g) > 0 : given_by(lent, g) % group->nodes.devices > 0))
            possible = false;
    }
    return possible;
}

/* Are all groups lent as a whole, or not at all? */
static bool is_whole(const struct lender *l, const struct fleet_lending *lent)
{
    bool whole = true;
    for (int g = 0; g < l->question->group_count; g++)
        for (int h = 0; h < l->question->group_count; h++)
            whole = whole &&
                    (lent->devices[g][h] == 0 ||
                     (lent->devices[g][h] == devices_of(&l->question->groups[g]) && given_by(lent, h) == 0));
    return whole;
}

/* Plans the cluster that results. */
static void plan_lent(struct lender *l, const struct fleet_lending *lent)
{
    struct fleet_question question = *l->question;
    struct mix_answer mix;
    struct error none;
    if (stop_wanted() || l->seen > WHOLE_MAX) {
        l->bound = 0.0;
        return;
    }
    fleet_lend(&question, lent);
    bool found = mix_plan(&mix, &question, l->whole ? INFINITY : l->best->time.seconds, l->pool, &none);
    l->bound = fmin(l->bound, mix.lower_bound);
    if (found && mix.time.seconds < l->best->time.seconds) {
        mix_release(l->best);
        *l->best = mix;
        *l->lending = question;
        *l->lent = *lent;
        l->better = true;
    } else if (found) {
        mix_release(&mix);
    } else if (none.kind != ERROR_INFEASIBLE) {
        l->bound = 0.0;
    }
}

/* Lends from a group to others from `lesser` on, in every way, then from the next group. */
static void lend_from(struct lender *l, int group, int lesser, struct fleet_lending *lent)
{
    const struct fleet_question *question = l->question;
    if (group == question->group_count) {
        if (!is_possible(l, lent))
            return;
        bool new = !is_whole(l, lent) || (l->whole && l->seen > 0); /* the first set lends nothing */
        l->seen++;
        if (l->plans && new)
            plan_lent(l, lent);
        return;
    }
    if (lesser == question->group_count) {
        lend_from(l, group + 1, 0, lent);
        return;
    }
    int left = devices_of(&question->groups[group]) - given_by(lent, group), unit = left + 1;
    if (fleet_may_lend(question, group, lesser))
        unit = !l->whole                                      ? unit_of(question, group, lesser)
               : left == devices_of(&question->groups[group]) ? left
                                                              : unit;
    for (int number = 0; number <= left && (l->plans || l->seen <= LEND_MAX); number += unit) {
        lent->devices[group][lesser] = number;
        lend_from(l, group, lesser + 1, lent);
    }
    lent->devices[group][lesser] = 0;
}

/* Plans all clusters that result. If one is faster than `best`, *best is replaced, *lending is its question, and *lent
 * what is lent there; returns whether one is. Lowers *bound to theirs; 0: the time was over. */
static bool lend_plan(struct mix_answer *best, double *bound, struct fleet_question *lending,
                      struct fleet_lending *lent, const struct fleet_question *question,
                      struct parallel *pool)
{
    struct fleet_lending none = {{{0}}};
    struct lender l = {
        .question = question, .pool = pool, .best = best, .lending = lending, .lent = lent, .bound = *bound};
    lend_from(&l, 0, 0, &none);
    bool parts = l.seen <= LEND_MAX;
    l.seen = 0;
    l.plans = l.whole = true;
    lend_from(&l, 0, 0, &none);
    l.seen = 0;
    l.whole = false;
    if (parts)
        lend_from(&l, 0, 0, &none);
    *bound = l.bound;
    return l.better;
}

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
