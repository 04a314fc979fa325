#include "schedule/search/search.h"

#include "core/stop.h"
#include "schedule/search/exact.h"
#include "schedule/search/pattern.h"
#include "schedule/search/pull.h"
#include "schedule/search/rules.h"
#include "schedule/search/tabu.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RULES_SHARE       0.4 /* of the effort */
#define PATTERN_SHARE     0.25
#define PULL_SHARE        0.1
#define POOL_SHARE        0.3
#define PATIENCE          2000 /* iterations of tabu search without a better order */
#define KICK_PATIENCE     1000
#define KICK_SWAPS_MAX    12
#define OTHER_SHARE       0.2
#define OTHER_RULES_SHARE 0.2
#define OTHER_ROUNDS      40
#define EXACT_PASSES      160 /* problems with more passes are not solved to the end */
#define EXACT_EFFORT      4   /* a partial order takes that many evaluations per type */

struct search_work {
    const struct order_search *search;
    struct search_problem problem;
    struct evaluation evaluation;
    struct search_bound bound;
    struct search_pool pool;
    struct tabu *tabu;
    uint32_t *sequence, *trial;
    double target, value, secondary;
    int64_t effort;
};

/* Appends a pass to a device's part of a sequence, as the next one of its type. Returns false if there are
 * too many. */
static bool append(const struct search_problem *problem, int type, int *done, uint32_t *sequence,
                   size_t *place)
{
    if (done[type] == problem->microbatches)
        return false;
    sequence[(*place)++] = (uint32_t)(type * problem->microbatches + done[type]++);
    return true;
}

/* Turns an order into a sequence: micro-batches renamed, full backward passes in two. Returns false if it is
 * of another shape. */
static bool sequence_of_order(const struct search_problem *problem, const struct pass_order *order,
                              uint32_t *sequence, struct error *err, bool *failed)
{
    if (order->devices != problem->devices || order->stages != problem->stages || order->chains != 1 ||
        order->microbatches != problem->microbatches ||
        memcmp(order->device_of, problem->device_of, (size_t)problem->stages * sizeof *order->device_of) != 0)
        return false;
    int *done = calloc((size_t)problem->types, sizeof *done);
    if (done == NULL) {
        *failed = true;
        return error_memory(err);
    }
    bool same = true;
    for (int device = 0; same && device < problem->devices; device++) {
        size_t place = problem->first[device];
        for (size_t i = order->first[device]; same && i < order->first[device + 1]; i++) {
            const struct pass *pass = &order->passes[i];
            int kind = pass->kind == PASS_BACKWARD ? PASS_INPUT : pass->kind;
            same = problem->device_of[pass->stage] == device &&
                   append(problem, kind * problem->stages + pass->stage, done, sequence, &place);
            if (same && pass->kind == PASS_BACKWARD)
                same = append(problem, PASS_WEIGHT * problem->stages + pass->stage, done, sequence, &place);
        }
        same = same && place == problem->first[device + 1];
    }
    free(done);
    return same;
}

static bool add_starts(struct search_work *work, const struct order_search *search, struct error *err)
{
    for (int i = 0; i < search->start_count; i++) {
        bool failed = false;
        if (sequence_of_order(&work->problem, search->starts[i], work->sequence, err, &failed) &&
            search_fits(&work->problem, work->sequence) && evaluate_starts(&work->evaluation, work->sequence))
            search_pool_offer(&work->pool, &work->problem, work->sequence, work->evaluation.value,
                              work->evaluation.secondary);
        if (failed)
            return false;
    }
    return true;
}

static bool good(const struct search_work *work, double value)
{
    return value < work->target + work->problem.hair || stop_wanted();
}

/* Fills the gaps of the orders of the pool, where that may shorten one. */
static bool pull_pool(struct search_work *work, struct error *err)
{
    struct search_pool *pool = &work->pool;
    if (good(work, pool->value[0]))
        return true;
    struct puller *puller = puller_make(&work->problem, err);
    if (puller == NULL)
        return false;
    int64_t effort = work->evaluation.evaluated + (int64_t)((double)work->effort * PULL_SHARE);
    for (int i = 0; i < PULL_RULES * pool->count && work->evaluation.evaluated < effort; i++) {
        memcpy(work->trial, pool->sequence[i % pool->count], work->problem.passes * sizeof *work->trial);
        pull_and_offer(puller, &work->evaluation, i / pool->count, work->trial, pool);
        if (good(work, pool->value[0]))
            break;
    }
    puller_free(puller);
    return true;
}

/* Tabu search from each order of the pool; the best one goes to work->sequence. */
static void improve_pool(struct search_work *work)
{
    struct search_pool *pool = &work->pool;
    int best = 0;
    int64_t share = (int64_t)((double)work->effort * POOL_SHARE) / POOL_SIZE;
    for (int i = 0; i < pool->count && !good(work, pool->value[best]); i++) {
        int64_t effort = work->evaluation.evaluated + share;
        tabu_improve(work->tabu, pool->sequence[i], &pool->value[i], &pool->secondary[i], work->target,
                     effort < work->effort ? effort : work->effort, PATIENCE);
        if (evaluation_better(&work->problem, pool->value[i], pool->secondary[i], pool->value[best],
                              pool->secondary[best]))
            best = i;
    }
    work->value = pool->value[best];
    work->secondary = pool->secondary[best];
    memcpy(work->sequence, pool->sequence[best], work->problem.passes * sizeof *work->sequence);
}

/* Tabu search from the best order, then from it with some neighbours swapped, again and again. */
static void improve(struct search_work *work, int64_t effort, int rounds)
{
    size_t bytes = work->problem.passes * sizeof *work->sequence;
    for (int round = 0; round < rounds && work->evaluation.evaluated < effort && !good(work, work->value);
         round++) {
        double value = HUGE_VAL, secondary = HUGE_VAL;
        memcpy(work->trial, work->sequence, bytes);
        if (round > 0)
            tabu_kick(work->tabu, work->trial, 1 + round % KICK_SWAPS_MAX);
        tabu_improve(work->tabu, work->trial, &value, &secondary, work->target, effort, KICK_PATIENCE);
        if (value > work->value + work->problem.hair)
            continue;
        work->value = fmin(value, work->value);
        work->secondary = secondary;
        memcpy(work->sequence, work->trial, bytes);
    }
}

/* Shortens the other value of work->sequence while the objective keeps its own; returns it, or HUGE_VAL for a sequence
 * whose objective is not `value`. */
static double improve_other_of(struct search_work *work, double value, int64_t effort)
{
    struct evaluation *evaluation = &work->evaluation;
    bool makespan = work->search->objective == SEARCH_MAKESPAN;
    if (!evaluate_starts(evaluation, work->sequence))
        return HUGE_VAL;
    if ((makespan ? evaluation->extent.makespan : evaluation->extent.span) > value + work->problem.hair)
        return HUGE_VAL;
    evaluation_keep(evaluation, work->target);
    work->value = makespan ? evaluation->extent.span : evaluation->extent.makespan;
    improve(work, evaluation->evaluated + effort, OTHER_ROUNDS);
    return work->value;
}

/* Shortens the other value of the best order, and of those of the pool that are as good, and takes the best of them. */
static bool improve_other(struct search_work *work, struct error *err)
{
    bool makespan = work->search->objective == SEARCH_MAKESPAN;
    double target = work->target, value = work->value, best = HUGE_VAL;
    int64_t left = work->effort - work->evaluation.evaluated,
            share = (int64_t)((double)work->effort * OTHER_SHARE);
    int64_t effort = left > share ? left : share;
    size_t bytes = work->problem.passes * sizeof *work->sequence;
    uint32_t *kept = malloc(bytes);
    if (kept == NULL)
        return error_memory(err);
    work->target = makespan ? work->bound.span : work->bound.makespan;
    for (int i = -1; i < work->pool.count && best > work->target + work->problem.hair; i++) {
        if (i >= 0)
            memcpy(work->sequence, work->pool.sequence[i], bytes);
        double other = improve_other_of(work, value, i < 0 ? effort / 2 : effort / 2 / work->pool.count);
        if (i < 0 || other < best - work->problem.hair) {
            memcpy(kept, work->sequence, bytes);
            best = other;
        }
    }
    memcpy(work->sequence, kept, bytes);
    free(kept);
    work->target = target;
    work->value = value;
    return true;
}

/* Branch and bound with the best order as the one to beat: of a small problem the order is then the
 * shortest. */
static bool finish(struct search_work *work, struct error *err)
{
    bool proven = false;
    /* a search of the default effort may take longer here: a proof is worth it */
    int64_t left = work->effort - work->evaluation.evaluated,
            per_state = (int64_t)work->problem.types * EXACT_EFFORT;
    int64_t states = work->search->effort > 0 ? left / per_state : EXACT_MAX_STATES;
    if (!exact_search(&work->problem, &work->bound, work->sequence, &work->value, &proven, &states, err))
        return false;
    work->evaluation.evaluated += states * per_state;
    if (proven)
        work->target = work->value;
    return true;
}

static bool order_of_sequence(const struct search_problem *problem, const uint32_t *sequence,
                              struct pass_order *order, struct error *err)
{
    if (!pass_order_init(order, problem->devices, problem->stages, 1, problem->microbatches, err))
        return false;
    memcpy(order->device_of, problem->device_of, (size_t)problem->stages * sizeof *order->device_of);
    for (int device = 0; device < problem->devices; device++) {
        for (size_t i = problem->first[device]; i < problem->first[device + 1]; i++) {
            const struct search_type *type = &problem->type[problem->type_of[sequence[i]]];
            int microbatch = (int)(sequence[i] % (uint32_t)problem->microbatches);
            if (!pass_order_add(order, type->kind, type->stage, microbatch, false, err))
                return false;
        }
        pass_order_next_device(order);
    }
    return true;
}

/* True: timing.h gives an order the times that the search knows. */
static bool knows_times(const struct order_search *search)
{
    return search->timing->fusion == FUSION_NONE && !search->timing->send_in_turn;
}

bool order_search_bound(const struct order_search *search, struct search_bound *bound, struct error *err)
{
    struct search_problem problem;
    struct timing_options timing = {.costs = search->timing->costs};
    *bound = (struct search_bound){.makespan = 0.0};
    bool ok = search_problem_init(&problem, search->devices, search->stages, search->microbatches,
                                  search->device_of, knows_times(search) ? search->timing : &timing,
                                  search->memory, err) &&
              search_bound_init(bound, &problem, err);
    search_problem_release(&problem);
    return ok;
}

/* Writes the order that was found, and its times. */
static bool write_found(struct search_work *work, struct order_found *found, struct error *err)
{
    const struct order_search *search = work->search;
    if (!evaluate_starts(&work->evaluation, work->sequence))
        return error_set(err, ERROR_FAILED, "the passes of the order that was found wait for each other");
    found->extent = work->evaluation.extent;
    if (!order_of_sequence(&work->problem, work->sequence, &found->order, err))
        return false;
    if (!knows_times(search)) {
        struct timing timing;
        bool timed = timing_of_order(&found->order, search->timing, false, &timing, err);
        found->extent = timing.extent;
        timing_release(&timing);
        if (!timed)
            return false;
    }
    double value = search->objective == SEARCH_MAKESPAN ? found->extent.makespan : found->extent.span;
    found->bound = fmin(work->target, value);
    found->gap = value > 0.0 ? 1.0 - found->bound / value : 0.0;
    return true;
}

static bool search_order(struct search_work *work, const struct order_search *search,
                         struct order_found *found, struct error *err)
{
    if (!search_problem_init(&work->problem, search->devices, search->stages, search->microbatches,
                             search->device_of, search->timing, search->memory, err) ||
        !evaluation_init(&work->evaluation, &work->problem, search->objective, err) ||
        !order_search_bound(search, &work->bound, err) ||
        !search_pool_init(&work->pool, work->problem.passes, err))
        return false;
    work->sequence = malloc(work->problem.passes * sizeof *work->sequence);
    work->trial = malloc(work->problem.passes * sizeof *work->trial);
    if (work->sequence == NULL || work->trial == NULL)
        return error_memory(err);
    work->tabu = tabu_make(&work->evaluation, err);
    if (work->tabu == NULL)
        return false;
    int64_t effort = search->effort;
    if (effort <= 0)
        effort = SEARCH_EFFORT_PER_PASS * (int64_t)work->problem.passes;
    if (search->effort <= 0 && effort > SEARCH_EFFORT)
        effort = SEARCH_EFFORT;
    work->effort = effort;
    work->target = search->objective == SEARCH_MAKESPAN ? work->bound.makespan : work->bound.span;
    struct search_goal goal = {
        .value = work->target,
        .secondary = search->objective == SEARCH_MAKESPAN ? work->bound.span : work->bound.makespan,
        .effort = (int64_t)((double)effort * RULES_SHARE),
        .secondary_effort = (int64_t)((double)effort * OTHER_RULES_SHARE),
    };
    if (!add_starts(work, search, err) ||
        !search_by_rules(&work->evaluation, search->timing, &goal, &work->pool, err) || stop_obeyed(err))
        return false;
    goal.effort += (int64_t)((double)effort * PATTERN_SHARE);
    if ((work->pool.count == 0 || !good(work, work->pool.value[0])) &&
        !search_by_patterns(&work->evaluation, &goal, &work->pool, err))
        return false;
    if (work->pool.count == 0)
        return error_set(err, ERROR_FAILED, "no order was found for %d stages on %d devices", search->stages,
                         search->devices);
    if (!pull_pool(work, err))
        return false;
    improve_pool(work);
    if (search->objective == SEARCH_MAKESPAN && knows_times(search) && work->problem.passes <= EXACT_PASSES &&
        !good(work, work->value) && !finish(work, err))
        return false;
    improve(work, work->effort, INT_MAX);
    return improve_other(work, err) && write_found(work, found, err);
}

bool order_search(const struct order_search *search, struct order_found *found, struct error *err)
{
    struct search_work work = {.search = search};
    *found = (struct order_found){.extent.makespan = 0.0};
    bool ok = search_order(&work, search, found, err);
    free(work.sequence);
    free(work.trial);
    tabu_free(work.tabu);
    search_pool_release(&work.pool);
    search_bound_release(&work.bound);
    evaluation_release(&work.evaluation);
    search_problem_release(&work.problem);
    return ok;
}

void order_found_release(struct order_found *found)
{
    pass_order_release(&found->order);
    *found = (struct order_found){.extent.makespan = 0.0};
}
