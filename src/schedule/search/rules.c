#include "schedule/search/rules.h"

#include "core/stop.h"
#include "schedule/search/bound.h"
#include "schedule/search/list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A list decides by times, and need not know the real ones: an order that was made for sends of no time, or
 * for equal passes, is often better than one in which a device takes a wrong pass because the right one is a
 * little late. */
enum times { TIMES_REAL, TIMES_NO_SENDS, TIMES_EQUAL, TIMES_TWICE_SENDS, TIMES_HALF_SENDS, TIMES };

enum rule {
    RULE_FIRST,
    RULE_LATE_FORWARD,
    RULE_EARLY_INPUT,
    RULE_WEIGHT_BEFORE_INPUT,
    RULE_OVERRUN,
    RULE_WAIT,
    RULE_BACKLOG,
    RULE_LIMIT,
    RULE_TIMES,
    RULES
};

static const int choices_of[RULES] = {LIST_FIRSTS, 2, 2, 2, 3, 3, 4, 6, TIMES};
static const double overruns[] = {0.0, 0.5, 1.0};
static const double waits[] = {0.0, 0.4, 0.8};
static const int backlogs[] = {1 << 30, 3, 1, 0};
/* of the micro-batches that are between forward and input pass when no device is ever idle */
static const double limits[] = {HUGE_VAL, 1.0, 1.25, 1.5, 2.0, 3.0};

static const uint8_t begins[][RULES] = {
    {0, 0, 0, 0, 0, 0, 0, 0, TIMES_REAL},     {0, 0, 0, 0, 0, 0, 0, 0, TIMES_EQUAL},
    {2, 0, 0, 1, 1, 0, 0, 0, TIMES_NO_SENDS}, {1, 1, 0, 1, 0, 0, 0, 0, TIMES_NO_SENDS},
    {1, 0, 1, 0, 2, 1, 0, 2, TIMES_REAL},     {2, 1, 1, 0, 1, 1, 2, 0, TIMES_EQUAL},
};

/* A long iteration is a short one with more of the same in the middle: its rules are chosen for a short one
 * first. */
#define SHORT_BY_DEVICES 2    /* micro-batches of the short one, per device */
#define LONG_BY_DEVICES  3    /* of an iteration that is long */
#define LONG_PASSES      5000 /* at least, of an iteration that is long */
#define SHORT_SHARE      0.5  /* of the effort */
#define TOP_SIZE         6

#define LIST_EFFORT 12 /* a list takes that much longer per pass than an evaluation */

/* Sets of rules, and the times of their orders. */
struct top {
    uint8_t chosen[RULES];
    double value, secondary;
};

struct rule_search {
    struct evaluation *evaluation;
    struct search_pool *pool; /* NULL: the orders are not kept */
    struct top top[TOP_SIZE]; /* the best first; no two have the same times */
    int top_count;
    const struct search_goal *goal;
    struct search_problem problem[TIMES]; /* with other times */
    struct pass_cost *costs[TIMES];
    struct list_state *list[TIMES];
    double *inflight, *limit; /* of each device */
    uint32_t *sequence;
    bool chunks; /* devices have several stages */
};

bool search_pool_init(struct search_pool *pool, size_t passes, struct error *err)
{
    *pool = (struct search_pool){.passes = passes};
    for (int i = 0; i < POOL_SIZE; i++) {
        pool->sequence[i] = malloc(passes * sizeof *pool->sequence[i]);
        if (pool->sequence[i] == NULL)
            return error_memory(err);
    }
    return true;
}

void search_pool_release(struct search_pool *pool)
{
    for (int i = 0; i < POOL_SIZE; i++)
        free(pool->sequence[i]);
    *pool = (struct search_pool){.passes = 0};
}

void search_pool_offer(struct search_pool *pool, const struct search_problem *problem,
                       const uint32_t *sequence, double value, double secondary)
{
    int at = pool->count;
    while (at > 0 &&
           evaluation_better(problem, value, secondary, pool->value[at - 1], pool->secondary[at - 1]))
        at--;
    if (at == POOL_SIZE || (at > 0 && !evaluation_better(problem, pool->value[at - 1],
                                                         pool->secondary[at - 1], value, secondary)))
        return;
    int last = pool->count < POOL_SIZE ? pool->count++ : POOL_SIZE - 1;
    uint32_t *copy = pool->sequence[last];
    for (int i = last; i > at; i--) {
        pool->sequence[i] = pool->sequence[i - 1];
        pool->value[i] = pool->value[i - 1];
        pool->secondary[i] = pool->secondary[i - 1];
    }
    pool->sequence[at] = copy;
    pool->value[at] = value;
    pool->secondary[at] = secondary;
    memcpy(copy, sequence, pool->passes * sizeof *copy);
}

static void release(struct rule_search *search)
{
    for (int i = 0; i < TIMES; i++) {
        list_state_free(search->list[i]);
        search_problem_release(&search->problem[i]);
        free(search->costs[i]);
    }
    free(search->inflight);
    free(search->limit);
    free(search->sequence);
}

static bool prepare_times(struct rule_search *search, const struct timing_options *timing, int times,
                          struct error *err)
{
    static const double sends[TIMES] = {1.0, 0.0, 0.0, 2.0, 0.5};
    const struct search_problem *problem = search->evaluation->problem;
    struct pass_cost *costs = malloc((size_t)problem->stages * sizeof *costs);
    search->costs[times] = costs;
    if (costs == NULL)
        return error_memory(err);
    for (int stage = 0; stage < problem->stages; stage++) {
        costs[stage] = timing->costs[stage];
        costs[stage].send_forward *= sends[times];
        costs[stage].send_backward *= sends[times];
        if (times == TIMES_EQUAL)
            costs[stage].forward = costs[stage].input = costs[stage].weight = 1.0;
    }
    struct timing_options options = *timing;
    options.costs = costs;
    double memory = problem->memory < HUGE_VAL ? problem->memory : 0.0;
    if (!search_problem_init(&search->problem[times], problem->devices, problem->stages,
                             problem->microbatches, problem->device_of, &options, memory, err))
        return false;
    search->problem[times].memory = problem->memory;
    search->list[times] = list_state_make(&search->problem[times], err);
    return search->list[times] != NULL;
}

/* Memory of the micro-batches between forward and input pass on each device, if the busiest device is never
 * idle. */
static void set_inflight(struct rule_search *search)
{
    const struct search_problem *problem = search->evaluation->problem;
    double busiest = 0.0;
    for (int device = 0; device < problem->devices; device++)
        busiest = fmax(busiest, problem->work[device] / problem->microbatches);
    for (int device = 0; device < problem->devices; device++) {
        double sum = 0.0;
        for (int i = problem->first_stage[device]; i < problem->first_stage[device + 1]; i++) {
            double trip = 0.0;
            for (int stage = problem->stages_of[i]; stage < problem->stages; stage++)
                trip += problem->costs[stage].forward + problem->costs[stage].input +
                        problem->type[stage].lag + problem->type[problem->stages + stage].lag;
            sum += problem->costs[problem->stages_of[i]].kept * ceil(trip / busiest - 1e-6);
        }
        search->inflight[device] = sum;
    }
}

static bool prepare(struct rule_search *search, const struct timing_options *timing, struct error *err)
{
    const struct search_problem *problem = search->evaluation->problem;
    search->inflight = malloc((size_t)problem->devices * sizeof *search->inflight);
    search->limit = malloc((size_t)problem->devices * sizeof *search->limit);
    search->sequence = malloc(problem->passes * sizeof *search->sequence);
    search->chunks = problem->stages > problem->devices;
    if (search->inflight == NULL || search->limit == NULL || search->sequence == NULL)
        return error_memory(err);
    for (int times = 0; times < TIMES; times++)
        if (!prepare_times(search, timing, times, err))
            return false;
    set_inflight(search);
    return true;
}

static void offer_rules(struct rule_search *search, const uint8_t *chosen, double value, double secondary)
{
    const struct search_problem *problem = search->evaluation->problem;
    struct top *top = search->top;
    int at = search->top_count;
    while (at > 0 && evaluation_better(problem, value, secondary, top[at - 1].value, top[at - 1].secondary))
        at--;
    if (at == TOP_SIZE ||
        (at > 0 && !evaluation_better(problem, top[at - 1].value, top[at - 1].secondary, value, secondary)))
        return;
    if (search->top_count < TOP_SIZE)
        search->top_count++;
    memmove(&top[at + 1], &top[at], (size_t)(search->top_count - 1 - at) * sizeof *top);
    top[at].value = value;
    top[at].secondary = secondary;
    memcpy(top[at].chosen, chosen, sizeof top[at].chosen);
}

/* Returns false if the rules make no order. */
static bool try_rules(struct rule_search *search, const uint8_t *chosen, double *value, double *secondary)
{
    struct evaluation *evaluation = search->evaluation;
    const struct search_problem *problem = evaluation->problem;
    for (int device = 0; device < problem->devices; device++) {
        double once = 0.0;
        for (int i = problem->first_stage[device]; i < problem->first_stage[device + 1]; i++)
            once += problem->costs[problem->stages_of[i]].kept;
        search->limit[device] =
            fmax(once, limits[chosen[RULE_LIMIT]] * search->inflight[device]) * (1.0 + 1e-9);
    }
    struct list_rules rules = {.first = chosen[RULE_FIRST],
                               .late_forward = chosen[RULE_LATE_FORWARD],
                               .early_input = chosen[RULE_EARLY_INPUT],
                               .weight_before_input = chosen[RULE_WEIGHT_BEFORE_INPUT],
                               .overrun = overruns[chosen[RULE_OVERRUN]],
                               .wait = waits[chosen[RULE_WAIT]],
                               .backlog = backlogs[chosen[RULE_BACKLOG]],
                               .limit = search->limit};
    evaluation->evaluated += (LIST_EFFORT + problem->devices / 8) * (int64_t)problem->passes;
    if (!list_schedule(search->list[chosen[RULE_TIMES]], &rules, search->sequence) ||
        !evaluate_starts(evaluation, search->sequence))
        return false;
    *value = evaluation->value;
    *secondary = evaluation->secondary;
    if (search->pool != NULL)
        search_pool_offer(search->pool, problem, search->sequence, *value, *secondary);
    offer_rules(search, chosen, *value, *secondary);
    return true;
}

/* True: more lists are not worth it. */
static bool enough(const struct rule_search *search)
{
    const struct search_goal *goal = search->goal;
    double hair = search->evaluation->problem->hair, value = HUGE_VAL, secondary = HUGE_VAL;
    int64_t effort = search->evaluation->evaluated;
    if (effort > goal->effort || stop_wanted())
        return true;
    if (search->pool != NULL && search->pool->count > 0) {
        value = search->pool->value[0];
        secondary = search->pool->secondary[0];
    } else if (search->top_count > 0) {
        value = search->top[0].value;
        secondary = search->top[0].secondary;
    }
    if (value > goal->value + hair)
        return false;
    return effort > goal->secondary_effort || secondary < goal->secondary + hair;
}

/* Changes one rule at a time. */
static void descend(struct rule_search *search, const uint8_t *begin)
{
    const struct search_problem *problem = search->evaluation->problem;
    uint8_t best[RULES], now[RULES];
    double best_value = HUGE_VAL, best_secondary = HUGE_VAL, value, secondary;
    memcpy(best, begin, sizeof best);
    try_rules(search, best, &best_value, &best_secondary);
    for (int since = 0, rule = 0; since < RULES; since++, rule = (rule + 1) % RULES) {
        if (!search->chunks && (rule == RULE_LATE_FORWARD || rule == RULE_EARLY_INPUT))
            continue;
        memcpy(now, best, sizeof now);
        int old = best[rule];
        for (int choice = 0; choice < choices_of[rule]; choice++) {
            if (enough(search))
                return;
            now[rule] = (uint8_t)choice;
            if (choice == old || !try_rules(search, now, &value, &secondary) ||
                !evaluation_better(problem, value, secondary, best_value, best_secondary))
                continue;
            memcpy(best, now, sizeof best);
            best_value = value;
            best_secondary = secondary;
            since = 0;
        }
    }
}

static void descend_all(struct rule_search *search)
{
    for (size_t i = 0; i < sizeof begins / sizeof *begins && (i == 0 || !enough(search)); i++)
        descend(search, begins[i]);
}

/* Finds rules for fewer micro-batches. */
static bool choose_for_short(struct rule_search *search, const struct timing_options *timing,
                             struct error *err)
{
    const struct search_problem *whole = search->evaluation->problem;
    struct search_problem problem;
    struct evaluation evaluation = {.problem = NULL};
    struct search_bound bound = {.makespan = 0.0};
    struct search_goal goal = *search->goal;
    struct rule_search other = {.evaluation = &evaluation, .goal = &goal};
    double memory = whole->memory < HUGE_VAL ? whole->memory : 0.0;
    bool ok = search_problem_init(&problem, whole->devices, whole->stages, SHORT_BY_DEVICES * whole->devices,
                                  whole->device_of, timing, memory, err) &&
              evaluation_init(&evaluation, &problem, search->evaluation->objective, err) &&
              search_bound_init(&bound, &problem, err) && prepare(&other, timing, err);
    if (ok) {
        bool makespan = evaluation.objective == SEARCH_MAKESPAN;
        goal.effort = (int64_t)(SHORT_SHARE * (double)goal.effort);
        goal.secondary_effort = (int64_t)(SHORT_SHARE * (double)goal.secondary_effort);
        goal.value = makespan ? bound.makespan : bound.span;
        goal.secondary = makespan ? bound.span : bound.makespan;
        descend_all(&other);
        search->evaluation->evaluated += evaluation.evaluated;
        memcpy(search->top, other.top, sizeof search->top);
        search->top_count = other.top_count;
    }
    release(&other);
    search_bound_release(&bound);
    evaluation_release(&evaluation);
    search_problem_release(&problem);
    return ok;
}

/* Tries the rules that were found for fewer micro-batches, and goes on from there. */
static void go_on(struct rule_search *search)
{
    struct top top[TOP_SIZE];
    double value, secondary;
    int count = search->top_count;
    memcpy(top, search->top, sizeof top);
    search->top_count = 0;
    for (int i = 0; i < count && (i == 0 || !enough(search)); i++)
        try_rules(search, top[i].chosen, &value, &secondary);
    if (search->top_count > 0 && !enough(search))
        descend(search, search->top[0].chosen);
}

bool search_by_rules(struct evaluation *evaluation, const struct timing_options *timing,
                     const struct search_goal *goal, struct search_pool *pool, struct error *err)
{
    const struct search_problem *problem = evaluation->problem;
    struct rule_search search = {.evaluation = evaluation, .pool = pool, .goal = goal};
    bool is_long =
        problem->passes > LONG_PASSES && problem->microbatches > LONG_BY_DEVICES * problem->devices;
    bool ok = prepare(&search, timing, err) && (!is_long || choose_for_short(&search, timing, err));
    if (ok && is_long)
        go_on(&search);
    if (ok && !enough(&search))
        descend_all(&search);
    release(&search);
    return ok;
}
