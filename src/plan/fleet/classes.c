#include "plan/fleet/classes.h"

#include <math.h>

#define MAX_CLASSES 4
#define ATTEMPTS    12   /* to find the number of pipelines that optimizer states are sharded over */
#define NEAR        1e-2 /* of the bound: a plan this close is not searched for again */

/* Classes of plans by their number of pipelines: 1, 2 or 3, 4 to 7 and so on; the last class has all others. No plan
 * of class `k` is faster, or needs less memory, than with the fewest pipelines that exchange gradients, all of them
 * alike, and the maximum number that states are sharded over. */
static struct fleet_spread spread_of_class(int k, int classes)
{
    int min = 1 << k;
    return k + 1 < classes ? (struct fleet_spread){2 * min - 1, min, min, 2 * min - 1}
                           : (struct fleet_spread){INFINITY, min, min, 0};
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

struct fleet_option *fleet_add_option(struct fleet_problem *problem, struct fleet_sums *sums,
                                      struct arena *arena)
{
    double **all[] = {&sums->seconds, &sums->kept,    &sums->held,   &sums->after,
                      &sums->send,    &sums->forward, &sums->updated};
    size_t row = (size_t)problem->layer_count + 1, count = sizeof all / sizeof *all;
    double *memory = ARENA_ARRAY(arena, count * row, double);
    if (!memory)
        return NULL;
    for (size_t i = 0; i < count; i++)
        *all[i] = memory + i * row;
    struct fleet_option *option = &problem->options[problem->option_count++];
    *option = (struct fleet_option){
        .seconds = sums->seconds,
        .kept = sums->kept,
        .held = sums->held,
        .after = sums->after,
        .send = sums->send,
        .forward = sums->forward,
        .updated = sums->updated,
    };
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

bool fleet_rescore(struct fleet_choice *plan, struct fleet_problem *problem, const struct fleet_maker *maker)
{
    int pipelines = fleet_pipelines(plan);
    plan->after = 0.0;
    for (int k = 0; k < plan->pipeline_count; k++) {
        struct fleet_pipeline *pipeline = &plan->pipelines[k];
        const struct fleet_spread real = {pipelines, pipelines, count_alike(plan, k), pipelines};
        double *gradients = ARENA_ARRAY(&plan->arena, (size_t)pipeline->stage_count, double);
        if (!gradients || !maker->make(maker->context, &real, problem, &plan->arena))
            return false;
        fleet_pipeline_score(problem, pipeline);
        for (int i = 0; i < pipeline->stage_count; i++) {
            const struct fleet_stage *stage = &pipeline->stages[i];
            const struct fleet_option *o = &problem->options[stage->option];
            gradients[i] = o->after[stage->last] - o->after[stage->first] -
                           (o->updated[stage->last] - o->updated[stage->first]);
        }
        pipeline->gradients = gradients;
        plan->after = fmax(plan->after, pipeline->after);
    }
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
        double until_done = plan.seconds - plan.after;
        if (!fleet_rescore(&plan, &problem, s->maker)) {
            fleet_choice_release(&plan);
            return error_memory(err);
        }
        plan.seconds = until_done + plan.after;
        if (fits(&problem, &plan)) {
            take_better(s, &plan, &problem);
            return true;
        }
        spread.states = fmin(spread.states - 1.0, fleet_pipelines(&plan));
        fleet_choice_release(&plan);
    }
    return true;
}

/* Returns the number of classes that the devices have room for; 0: out of memory. */
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

/* Begins with many pipelines, as a plan for these is found sooner. If the pipelines of a better plan turn out not to
 * be alike, the class is searched again as if none were. */
static bool search_all(struct search *s, double *bound, struct error *err)
{
    int classes = count_classes(s);
    if (classes == 0)
        return error_memory(err);
    for (int k = classes - 1; k >= 0; k--) {
        struct fleet_spread spread = spread_of_class(k, classes);
        double before = s->enough, class_bound = INFINITY, known;
        if (!search_class(s, spread, &class_bound, err))
            return false;
        *bound = fmin(*bound, class_bound);
        if (spread.alike == 1 || s->enough >= before || s->enough <= class_bound * (1.0 + NEAR))
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
