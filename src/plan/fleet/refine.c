#include "plan/fleet/refine.h"

#include "core/stop.h"
#include "plan/fleet/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CELLS 1e5 /* of a table */
#define MAX_DEPTH 4   /* divisions of the range of seconds afterwards */
#define SHRINK    0.4 /* of the loss up to which pipelines are listed, if they are too many */
#define SHARE_MIN 0.02

struct refiner {
    const struct fleet_maker *maker;
    struct fleet_choice *best;
    struct fleet_problem *best_problem;
    double seconds;             /* of the best plan, or enough */
    struct fleet_effort effort; /* of this number of pipelines */
    bool optimal;
    struct error *err;
    /* of one number of pipelines */
    int pipelines;
    struct arena arena;
    struct fleet_problem problem;                      /* all pipelines alike */
    struct fleet_problem together[FLEET_MAX_TOGETHER]; /* 1, 2, ... of them alike */
    int together_count;
};

/* Do the options of two problems take equally long afterwards? */
static bool same_after(const struct fleet_problem *a, const struct fleet_problem *b)
{
    for (int o = 0; o < a->option_count; o++)
        if (memcmp(a->options[o].after, b->options[o].after,
                   ((size_t)a->layer_count + 1) * sizeof *a->options[o].after) != 0)
            return false;
    return true;
}

/* Makes the problems of so many pipelines. Those of more alike pipelines than the last differ in nothing, or there are too
 * many: *exact is false then. */
static bool make_problems(struct refiner *r, bool *exact)
{
    struct fleet_spread spread = {r->pipelines, r->pipelines, r->pipelines, r->pipelines, 0};
    const struct fleet_maker *maker = r->maker;
    if (!maker->make(maker->context, &spread, &r->problem, &r->arena))
        return false;
    r->together_count = 0;
    *exact = true;
    for (int alike = 1; alike <= r->pipelines; alike++) {
        struct fleet_problem next;
        spread.alike = alike;
        if (!maker->make(maker->context, &spread, &next, &r->arena))
            return false;
        bool same = r->together_count > 0 && same_after(&r->together[r->together_count - 1], &next);
        if (same)
            break;
        *exact = r->together_count < FLEET_MAX_TOGETHER;
        if (!*exact)
            break;
        r->together[r->together_count++] = next;
    }
    return true;
}

/* Makes the copies of near pipelines the best plan. */
static bool take(struct refiner *r, const struct fleet_near *near, const int *copies)
{
    struct fleet_choice next = {.lower_bound = r->best->lower_bound, .columns = r->best->columns};
    struct fleet_problem problem = r->problem;
    int kinds = 0;
    for (int k = 0; k < near->count; k++)
        kinds += copies[k] > 0;
    next.pipelines = ARENA_ARRAY(&next.arena, (size_t)kinds + 1, struct fleet_pipeline);
    if (!next.pipelines)
        return error_memory(r->err);
    for (int k = 0; k < near->count; k++) {
        if (copies[k] == 0)
            continue;
        const struct fleet_near_pipeline *from = &near->pipelines[k];
        struct fleet_pipeline *to = &next.pipelines[next.pipeline_count++];
        to->stage_count = from->stage_count;
        to->copies = copies[k];
        to->stages = from->stages;
        if (!fleet_own_stages(to, &next.arena)) {
            arena_release(&next.arena);
            return error_memory(r->err);
        }
        fleet_pipeline_score(&problem, to);
    }
    fleet_share(next.pipelines, next.pipeline_count, problem.microbatches);
    if (!fleet_rescore(&next, &problem, r->maker)) {
        arena_release(&next.arena);
        return error_memory(r->err);
    }
    fleet_choice_release(r->best);
    *r->best = next;
    r->seconds = fmin(r->seconds, next.seconds); /* fewer nodes wait for each other than was assumed */
    *r->best_problem = problem;
    return true;
}

/* Chooses among the pipelines that are near enough. */
static bool choose(struct refiner *r, const struct fleet_near *near, double min, double max, bool *all)
{
    int *copies = calloc((size_t)near->count + 1, sizeof *copies);
    const struct fleet_pack_query query = {
        .problem = &r->problem,
        .near = near,
        .together = r->together_count,
        .pipelines = r->pipelines,
        .exactly = true,
        .max_after = max,
        .min_after = min,
    };
    double before = r->seconds;
    bool ok = copies && fleet_pack(&query, &r->seconds, copies, &r->effort, all);
    if (!ok)
        error_memory(r->err);
    else if (r->seconds < before)
        ok = take(r, near, copies);
    free(copies);
    return ok;
}

/* Lists the pipelines that lose at most `slack`, and chooses among them. *all: no better plan is of these pipelines. */
static bool list_and_choose(struct refiner *r, const struct fleet_relaxation *relaxed, double slack,
                            double min, double max, bool *all)
{
    const struct fleet_near_query query = {
        .problem = &r->problem,
        .together = r->together,
        .together_count = r->together_count,
        .deadline = r->seconds - min,
        .slack = slack,
        .prices = relaxed->prices,
        .after = max,
        .effort = &r->effort,
    };
    struct fleet_near near;
    bool done = true;
    if (!fleet_near_all(&near, &query, all))
        return error_memory(r->err);
    bool ok = choose(r, &near, min, max, &done);
    *all &= done;
    fleet_near_release(&near);
    return ok;
}

/* Decides the plans whose slowest pipeline takes from `min` to `max` seconds afterwards. Where too many pipelines could be
 * in a better plan, those that lose little are chosen from first: with a better plan fewer remain. */
static bool decide(struct refiner *r, double min, double max, int depth)
{
    double wanted = (double)r->problem.microbatches;
    for (double share = 1.0; r->effort.left > 0.0; share *= SHRINK) {
        if (stop_obeyed(r->err))
            return false;
        double deadline = r->seconds - min, before = r->seconds;
        struct fleet_relaxation relaxed;
        bool all;
        if (deadline <= 0.0)
            return true;
        if (!fleet_relax(&relaxed, &r->problem, deadline, max, r->err))
            return false;
        if (relaxed.value + r->pipelines * relaxed.above < wanted * (1.0 - 1e-9))
            return true; /* nothing does that much by then */
        double slack = fmax(relaxed.value - wanted + (r->pipelines - 1) * relaxed.above, 0.0);
        if (isinf(relaxed.value))
            break;
        if (!list_and_choose(r, &relaxed, share * slack, min, max, &all))
            return false;
        if (all && share == 1.0)
            return true;
        if (all && r->seconds == before)
            break; /* no better plan so near, and too many further away */
        if (all)
            share = 1.0 / SHRINK;
        if (share < SHARE_MIN)
            break;
    }
    if (depth < MAX_DEPTH && r->effort.left > 0.0 && r->seconds > min) {
        double middle = min + 0.25 * (fmin(max, r->seconds) - min);
        return decide(r, min, middle, depth + 1) && decide(r, middle, max, depth + 1);
    }
    r->optimal = false;
    return true;
}

/* `any`: the problem of any number of pipelines. */
static bool decide_number(struct refiner *r, const struct fleet_problem *any, int pipelines, double bound)
{
    bool exact, ok;
    if (bound >= r->seconds)
        return true;
    if (fleet_pack_cells(any, pipelines) > MAX_CELLS) {
        r->optimal = false;
        return true;
    }
    r->pipelines = pipelines;
    r->arena = (struct arena){0};
    ok = make_problems(r, &exact) || error_memory(r->err);
    if (ok && !exact)
        r->optimal = false;
    else if (ok)
        ok = decide(r, fleet_min_after(&r->problem, fleet_devices(&r->problem) / pipelines), INFINITY, 0);
    arena_release(&r->arena);
    return ok;
}

bool fleet_refine(struct fleet_choice *plan, struct fleet_problem *problem, const struct fleet_maker *maker,
                  double enough, const double *bounds, int bound_count, bool *optimal, struct error *err)
{
    struct refiner r = {
        .maker = maker,
        .best = plan,
        .best_problem = problem,
        .seconds = plan->pipeline_count > 0 ? fmin(plan->seconds, enough) : enough,
        .optimal = true,
        .err = err,
    };
    struct arena arena = {0};
    struct fleet_problem any;
    if (!maker->make(maker->context, &FLEET_SPREAD_ANY, &any, &arena)) {
        arena_release(&arena);
        return error_memory(err);
    }
    int64_t max = any.microbatches;
    int64_t devices = 0;
    for (int t = 0; t < any.type_count; t++)
        devices += any.types[t].devices;
    max = devices < max ? devices : max;
    arena_release(&arena);
    bool ok = true;
    if (maker->effort <= 0.0 || isinf(r.seconds) || fleet_pack_cells(&any, 1) > MAX_CELLS)
        r.optimal = false;
    else
        for (int64_t n = 1; n <= max && ok; n++) {
            r.effort.left = fmax(r.effort.left, 0.0) + maker->effort / (double)max;
            ok = decide_number(&r, &any, (int)n, bounds[n < bound_count ? n - 1 : bound_count - 1]);
        }
    *optimal =
        r.optimal && plan->seconds <= r.seconds * (1.0 + 1e-9); /* as it is priced, not as it was sought */
    return ok;
}
