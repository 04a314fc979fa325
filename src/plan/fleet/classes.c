#include "plan/fleet/classes.h"

#include <math.h>

#define MAX_CLASSES 4
#define ATTEMPTS    12   /* to spread optimizer states over as many pipelines as there are */
#define NEAR        1e-2 /* of the bound: a plan that is not looked at again */

/* Numbers of pipelines: 1, 2 or 3, 4 to 7 and so on, the last class all others. None of class `k` takes less than with as
 * few that exchange gradients, all of them alike, and as many that states are spread over. */
static struct fleet_spread spread_of_class(int k, int classes)
{
    int least = 1 << k;
    return k + 1 < classes ? (struct fleet_spread){2 * least - 1, least, least, 2 * least - 1}
                           : (struct fleet_spread){INFINITY, least, least, 0};
}

int fleet_together(const struct fleet_spread *spread, int devices_per_node, int tensor)
{
    int places = devices_per_node / tensor;
    return spread->alike < places ? spread->alike : places;
}

struct search {
    const struct fleet_maker *maker;
    double enough;
    struct fleet_columns columns; /* of all classes so far */
    struct fleet_choice *best;
    struct fleet_problem *problem; /* of the best */
};

/* The same pipelines, with what their number, and how many are alike, really makes of them. */
static bool score_again(const struct search *s, struct fleet_choice *plan, struct fleet_problem *problem)
{
    int pipelines = fleet_pipelines(plan);
    double before = plan->seconds - plan->after;
    plan->after = 0.0;
    for (int k = 0; k < plan->pipeline_count; k++) {
        struct fleet_pipeline *pipeline = &plan->pipelines[k];
        const struct fleet_spread real = {pipelines, pipelines, pipeline->copies, pipelines};
        if (!s->maker->make(s->maker->context, &real, problem, &plan->arena))
            return false;
        fleet_pipeline_score(problem, pipeline);
        plan->after = fmax(plan->after, pipeline->after);
    }
    plan->seconds = before + plan->after;
    return true;
}

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

/* States are spread over the pipelines, of which there are how many the plan has: first as if there were as many as may be,
 * which gives the bound; then, where the plan does not fit, for fewer. False: memory ran out. */
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
            /* what does not fit where states take least never does; a slow plan is not made faster */
            if (err->kind != ERROR_INFEASIBLE || attempt == 0 || plan.too_slow)
                return err->kind == ERROR_INFEASIBLE;
            spread.states = floor(spread.states / 2.0);
            continue;
        }
        if (!score_again(s, &plan, &problem)) {
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

/* As many as there are devices for; 0: memory ran out. */
static int count_classes(const struct search *s)
{
    struct arena arena = {0};
    struct fleet_problem problem;
    int devices = 0, classes = 1;
    bool made = s->maker->make(s->maker->context, &FLEET_SPREAD_ANY, &problem, &arena);
    for (int t = 0; made && t < problem.type_count; t++)
        devices += problem.types[t].devices;
    while (classes < MAX_CLASSES && 1 << classes <= devices)
        classes++;
    arena_release(&arena);
    return made ? classes : 0;
}

/* Many pipelines first: a plan is found sooner. Where those of a better one do not turn out to be alike, it is looked for
 * once more as if none were. */
static bool search_all(struct search *s, double *bound, struct error *err)
{
    int classes = count_classes(s);
    if (classes == 0)
        return error_memory(err);
    for (int k = classes - 1; k >= 0; k--) {
        struct fleet_spread spread = spread_of_class(k, classes);
        double before = s->enough, least = INFINITY, known;
        if (!search_class(s, spread, &least, err))
            return false;
        *bound = fmin(*bound, least);
        if (spread.alike == 1 || s->enough >= before || s->enough <= least * (1.0 + NEAR))
            continue;
        spread.alike = 1;
        if (!search_class(s, spread, &known, err))
            return false;
    }
    return true;
}

bool fleet_search_classes(struct fleet_choice *plan, struct fleet_problem *problem,
                          const struct fleet_maker *maker, double enough, struct error *err)
{
    struct search s = {.maker = maker, .enough = enough, .best = plan, .problem = problem};
    double bound = INFINITY;
    *plan = (struct fleet_choice){0};
    bool ok = search_all(&s, &bound, err);
    fleet_columns_release(&s.columns);
    if (ok && plan->pipeline_count > 0) {
        plan->lower_bound = fmin(bound, plan->seconds);
        return true;
    }
    fleet_choice_release(plan);
    plan->lower_bound = bound;
    plan->too_slow = isfinite(enough);
    return ok ? error_set(err, ERROR_INFEASIBLE, "no pipeline of these devices holds the model") : false;
}
