#include "plan/fleet/classes.h"

#include "plan/fleet/nodes.h"
#include "plan/fleet/refine.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define MAX_CLASSES 10
#define ATTEMPTS    12   /* to find the number of pipelines that optimizer states are sharded over */
#define NEAR        1e-2 /* of the bound: a plan this close is not searched for again */

/* Classes of plans by their number of pipelines: 1, 2 or 3, 4 to 7 and so on; the last class has all others. No plan
 * of class `k` is faster, or needs less memory, than with the fewest pipelines that exchange gradients, all of them
 * alike, and the maximum number that states are sharded over. */
static struct fleet_spread spread_of_class(int k, int classes)
{
    int min = 1 << k;
    return k + 1 < classes ? (struct fleet_spread){2 * min - 1, min, 2 * min - 1, 2 * min - 1, 0}
                           : (struct fleet_spread){INFINITY, min, INT_MAX, 0, 0};
}

struct search {
    const struct fleet_maker *maker; /* restricted to a part of the devices */
    const struct fleet_maker *whole;
    struct fleet_part part;
    double enough;
    struct fleet_columns columns; /* of all classes so far */
    struct fleet_choice *best;
    struct fleet_problem *problem; /* of the best */
};

static bool fits(const struct fleet_problem *problem, const struct fleet_choice *plan)
{
    for (int k = 0; k < plan->pipeline_count; k++)
        if (!fleet_pipeline_fits(problem, &plan->pipelines[k]))
            return false;
    return true;
}

static void take_better(struct search *s, struct fleet_choice *plan, const struct fleet_problem *problem)
{
    if (plan->seconds < s->enough) {
        fleet_choice_release(s->best);
        *s->best = *plan;
        *s->problem = *problem;
        s->enough = plan->seconds;
    } else {
        fleet_choice_release(plan);
    }
}

/* Searches a class of plans. Optimizer states are sharded over the plan's pipelines, whose number is its outcome: the
 * first attempt assumes the maximum of the class, which gives the bound; if the plan found does not fit with its own
 * number, further attempts assume fewer. False: out of memory. */
static bool search_class(struct search *s, struct fleet_spread spread, double *bound, struct error *err)
{
    for (int attempt = 0; attempt < ATTEMPTS && spread.states >= 1.0; attempt++) {
        struct arena arena = {0};
        struct fleet_problem problem;
        struct fleet_choice plan;
        if (!s->maker->make(s->maker->context, &spread, &problem, &arena)) {
            arena_release(&arena);
            return error_memory(err);
        }
        if (attempt > 0) /* the bound is known */
            problem.bands = FLEET_MAX_BANDS / 2;
        bool found = fleet_search(&plan, &problem, s->enough, &s->columns, err);
        arena_release(&arena);
        if (attempt == 0)
            *bound = plan.lower_bound;
        if (!found) {
            /* larger states never make a plan fit that did not, nor a slow plan fast enough */
            if (err->kind != ERROR_INFEASIBLE || attempt == 0 || plan.too_slow)
                return err->kind == ERROR_INFEASIBLE;
            spread.states = floor(spread.states / 2.0);
            continue;
        }
        if (!fleet_rescore(&plan, &problem, s->maker)) {
            fleet_choice_release(&plan);
            return error_memory(err);
        }
        if (fits(&problem, &plan)) {
            take_better(s, &plan, &problem);
            return true;
        }
        spread.states = fmin(spread.states - 1.0, fleet_pipelines(&plan));
        fleet_choice_release(&plan);
    }
    return true;
}

/* The whole problem with a part of the devices. */
static bool make_part(const void *context, const struct fleet_spread *spread, struct fleet_problem *problem,
                      struct arena *arena)
{
    const struct search *s = context;
    return fleet_make_part(s->whole, &s->part, spread, problem, arena);
}

/* Makes the problem of any number of pipelines for its types alone: no options. */
static bool make_types(const struct fleet_maker *maker, struct fleet_problem *problem)
{
    struct arena arena = {0};
    bool made = maker->make(maker->context, &FLEET_SPREAD_ANY, problem, &arena);
    problem->option_count = 0;
    arena_release(&arena);
    return made;
}

/* Returns the number of classes that the devices have room for; 0: out of memory. */
static int count_classes(const struct search *s)
{
    struct fleet_problem problem;
    int devices = 0, classes = 1;
    bool made = make_types(s->maker, &problem);
    for (int t = 0; made && t < problem.type_count; t++)
        devices += problem.types[t].devices;
    while (classes < MAX_CLASSES && 1 << classes <= devices)
        classes++;
    return made ? classes : 0;
}

/* Begins with many pipelines, as a plan for these is found sooner. If the pipelines of a better plan turn out not to
 * be alike, the class is searched again as if none were. */
static bool search_all(struct search *s, double *bound, bool *optimal, struct error *err)
{
    int classes = count_classes(s);
    double bounds[1 << MAX_CLASSES];
    if (classes == 0)
        return error_memory(err);
    for (int k = classes - 1; k >= 0; k--) {
        struct fleet_spread spread = spread_of_class(k, classes);
        double before = s->enough, class_bound = INFINITY, known;
        if (!search_class(s, spread, &class_bound, err))
            return false;
        *bound = fmin(*bound, class_bound);
        for (int n = 1 << k; n < 1 << classes; n++)
            bounds[n - 1] = n < 2 << k || k + 1 == classes ? class_bound : bounds[n - 1];
        if (spread.alike == 1 || s->enough >= before || s->enough <= class_bound * (1.0 + NEAR))
            continue;
        spread.alike = 1;
        if (!search_class(s, spread, &known, err))
            return false;
    }
    if (!fleet_refine(s->best, s->problem, s->maker, s->enough, bounds, 1 << (classes - 1), optimal, err))
        return false;
    if (s->best->pipeline_count > 0)
        s->enough = fmin(s->enough, s->best->seconds);
    if (*optimal)
        *bound = fmax(*bound, s->enough);
    return true;
}

/* Plans for some of the types: all of them, then all but one, and so on, so that further types never make the plan
 * slower. *bound is that of all of them. */
static bool search_parts(struct search *s, const struct fleet_problem *all, unsigned types, int first,
                         double *bound, struct error *err)
{
    bool optimal = false;
    *bound = INFINITY;
    s->part = fleet_part_of_types(all, types);
    if (!search_all(s, bound, &optimal, err))
        return false;
    for (int t = first; t < all->type_count && !(optimal && fleet_nodes_few(all)); t++) {
        double unused;
        if ((types >> t & 1) && (types & ~(1U << t)) &&
            !search_parts(s, all, types & ~(1U << t), t + 1, &unused, err))
            return false;
    }
    return true;
}

/* Plans that leave nodes idle, whose devices wait less for each other: a bound for all of them, and for few nodes the best
 * one of each number of nodes. */
static bool search_fewer(struct search *s, const struct fleet_problem *all, double *bound, struct error *err)
{
    struct fleet_nodes nodes = {.maker = s->whole, .all = all, .bound = *bound};
    if (!fleet_nodes_begin(&nodes, err))
        return false;
    bool ok = true;
    while (ok && fleet_nodes_next(&nodes, s->enough, err)) {
        bool optimal;
        double own = INFINITY;
        s->part = nodes.part;
        ok = search_all(s, &own, &optimal, err);
        nodes.bound = fmin(nodes.bound, own);
    }
    ok = ok && !nodes.failed;
    *bound = nodes.bound;
    fleet_nodes_end(&nodes);
    return ok;
}

bool fleet_search_classes(struct fleet_choice *plan, struct fleet_problem *problem,
                          const struct fleet_maker *maker, double enough, struct error *err)
{
    struct search s = {.whole = maker, .enough = enough, .best = plan, .problem = problem};
    const struct fleet_maker part = {&s, make_part, maker->effort};
    double bound = INFINITY;
    *plan = (struct fleet_choice){0};
    s.maker = &part;
    struct fleet_problem all;
    bool ok = make_types(maker, &all) || error_memory(err);
    ok = ok && search_parts(&s, &all, (1U << all.type_count) - 1, 0, &bound, err) &&
         search_fewer(&s, &all, &bound, err);
    fleet_columns_release(&s.columns);
    if (ok && plan->pipeline_count > 0) {
        plan->lower_bound = fmin(bound, plan->seconds);
        memcpy(problem->types, all.types, sizeof all.types); /* a part of them was enough */
        return true;
    }
    fleet_choice_release(plan);
    plan->lower_bound = bound;
    plan->too_slow = isfinite(enough);
    return ok ? error_set(err, ERROR_INFEASIBLE, "no pipeline of these devices holds the model") : false;
}
