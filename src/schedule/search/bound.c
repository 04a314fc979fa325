#include "schedule/search/bound.h"

#include "core/stop.h"

#include <math.h>
#include <stdlib.h>

/* Sums over the stages of a device up to a stage of it, that stage included, or over all of them. */
struct sums {
    double forward, input, weight, kept;
    double min_weight;          /* the shortest weight pass */
    double release;             /* the least seconds of a weight pass per memory that it frees */
    double release_both;        /* the same with its input pass */
    double max_forward_by_kept; /* seconds of forward passes per memory, at most */
    bool early;  /* an input pass frees memory itself: the terms of memory below are left out then */
    double room; /* memory, in whole micro-batches where all stages keep the same */
};

struct work {
    const struct search_problem *problem;
    struct sums *until; /* of each stage: of the stages of its device until it */
    double *head;       /* of forward and input passes by number */
    double *tail;
    /* Of each stage: the latest of its input passes so far, each less the work that later ones wait for. */
    struct latest {
        double by_forward, by_input;
        int count; /* input passes in by_forward */
    } * latest;
};

static double ratio(double a, double b, double otherwise)
{
    return b > 0.0 ? a / b : otherwise;
}

static void sum_stages(struct work *work)
{
    const struct search_problem *problem = work->problem;
    for (int device = 0; device < problem->devices; device++) {
        double first = problem->costs[problem->stages_of[problem->first_stage[device]]].kept;
        struct sums sums = {
            .room = problem->memory, .min_weight = HUGE_VAL, .release = HUGE_VAL, .release_both = HUGE_VAL};
        for (int i = problem->first_stage[device]; i < problem->first_stage[device + 1]; i++) {
            const struct pass_cost *cost = &problem->costs[problem->stages_of[i]];
            if (cost->kept != first)
                first = 0.0;
            if (problem->memory < HUGE_VAL)
                sums.room = first > 0.0 ? first * floor(problem->memory / first) : problem->memory;
            sums.early |= cost->kept_for_weight < cost->kept;
            sums.forward += cost->forward;
            sums.input += cost->input;
            sums.weight += cost->weight;
            sums.kept += cost->kept;
            sums.min_weight = search_min(sums.min_weight, cost->weight);
            sums.release = search_min(sums.release, ratio(cost->weight, cost->kept, HUGE_VAL));
            sums.release_both =
                search_min(sums.release_both, ratio(cost->input + cost->weight, cost->kept, HUGE_VAL));
            sums.max_forward_by_kept =
                search_max(sums.max_forward_by_kept, ratio(cost->forward, cost->kept, HUGE_VAL));
            work->until[problem->stages_of[i]] = sums;
        }
    }
}

static const struct sums *sums_of_device(const struct work *work, int device)
{
    const struct search_problem *problem = work->problem;
    return &work->until[problem->stages_of[problem->first_stage[device + 1] - 1]];
}

static size_t number(const struct search_problem *problem, int kind, int stage, int microbatch)
{
    return (size_t)search_type_of(problem, (enum pass_kind)kind, stage) * (size_t)problem->microbatches +
           (size_t)microbatch;
}

/* Returns the earliest beginning of a stage's chain. */
static double first_head(const struct work *work, int stage)
{
    const struct search_problem *problem = work->problem;
    return work->head[number(problem, PASS_FORWARD,
                             problem->stages_of[problem->first_stage[problem->device_of[stage]]], 0)];
}

/* Memory whose release must precede forward pass k (from 0) of a stage. */
static double to_release(const struct work *work, int stage, int k)
{
    return (k + 1) * work->until[stage].kept - work->until[stage].room;
}

/* True: memory orders the forward and input passes of a stage. */
static bool is_tight(const struct work *work, int stage)
{
    const struct sums *sums = &work->until[stage];
    return !sums->early && sums->room < HUGE_VAL && sums->max_forward_by_kept < HUGE_VAL &&
           sums->release_both < HUGE_VAL;
}

/* Before input pass j, memory lets only so many forward passes go ahead, and frees only so much: the rest of
 * the work that must precede forward pass k comes behind it. Input passes up to `last` precede it. */
static double after_inputs(const struct work *work, int stage, int k, int last)
{
    const struct search_problem *problem = work->problem;
    const struct sums *sums = &work->until[stage];
    struct latest *latest = &work->latest[stage];
    double per_microbatch = sums->forward + sums->kept * sums->release_both;
    for (; latest->count <= last; latest->count++)
        latest->by_forward =
            search_max(latest->by_forward, work->head[number(problem, PASS_INPUT, stage, latest->count)] -
                                               latest->count * per_microbatch);
    double forward =
        (k + 1) * sums->forward - problem->costs[stage].forward - sums->room * sums->max_forward_by_kept;
    return latest->by_forward + forward + to_release(work, stage, k) * sums->release_both;
}

static double forward_head(const struct work *work, int stage, int k)
{
    const struct search_problem *problem = work->problem;
    const struct search_type *type = &problem->type[search_type_of(problem, PASS_FORWARD, stage)];
    const struct sums *sums = &work->until[stage];
    double head = type->before;
    if (stage > 0)
        head = search_max(head, work->head[number(problem, PASS_FORWARD, stage - 1, k)] +
                                    problem->costs[stage - 1].forward + type->lag);
    if (k > 0)
        head = search_max(head, work->head[number(problem, PASS_FORWARD, stage, k - 1)] + type->seconds +
                                    type->after + type->before);
    if (stage == 0 && k == 0)
        return head;
    double before = k * sums->forward + (sums->forward - type->seconds), release = to_release(work, stage, k);
    bool device_first = problem->stages_of[problem->first_stage[type->device]] == stage;
    double begin = device_first && k == 0 ? 0.0 : first_head(work, stage);
    if (release > 0.0 && !sums->early) {
        /* the last of the released micro-batches has its input pass and a weight pass behind its input */
        int last = (int)ceil(release / sums->kept - 1e-6) - 1;
        if (last >= 0 && last < k && is_tight(work, stage))
            head = search_max(head, after_inputs(work, stage, k, last));
        if (last >= 0 && last < k)
            head = search_max(head, work->head[number(problem, PASS_INPUT, stage, last)] +
                                        problem->costs[stage].input + sums->min_weight);
        if (sums->release_both < HUGE_VAL)
            before += release * sums->release_both;
    }
    return search_max(head, begin + before);
}

static double input_head(const struct work *work, int stage, int k)
{
    const struct search_problem *problem = work->problem;
    const struct search_type *type = &problem->type[search_type_of(problem, PASS_INPUT, stage)];
    const struct sums *sums = &work->until[stage], *all = sums_of_device(work, type->device);
    double head = work->head[number(problem, PASS_FORWARD, stage, k)] + problem->costs[stage].forward;
    if (stage + 1 < problem->stages)
        head = search_max(head, work->head[number(problem, PASS_INPUT, stage + 1, k)] +
                                    problem->costs[stage + 1].input + type->lag);
    if (k > 0)
        head = search_max(head, work->head[number(problem, PASS_INPUT, stage, k - 1)] + type->seconds +
                                    type->after + type->before);
    double before = (k + 1) * all->forward + k * type->seconds + (k + 1) * (all->input - sums->input);
    double release = (k + 1) * all->kept - all->room;
    if (release > 0.0 && !all->early && all->release < HUGE_VAL)
        before += release * all->release;
    head = search_max(head, first_head(work, stage) + before);
    if (!is_tight(work, stage))
        return head;
    double per_microbatch = sums->forward + type->seconds + sums->kept * sums->release;
    if (k > 0)
        head = search_max(head, work->latest[stage].by_input + (k + 1) * sums->forward + k * type->seconds -
                                    sums->room * sums->max_forward_by_kept +
                                    to_release(work, stage, k) * sums->release);
    work->latest[stage].by_input = search_max(work->latest[stage].by_input, head - k * per_microbatch);
    return head;
}

static void set_heads(struct work *work)
{
    const struct search_problem *problem = work->problem;
    for (int k = 0; k < problem->microbatches && !stop_wanted(); k++) {
        for (int stage = 0; stage < problem->stages; stage++)
            work->head[number(problem, PASS_FORWARD, stage, k)] = forward_head(work, stage, k);
        for (int stage = problem->stages - 1; stage >= 0; stage--)
            work->head[number(problem, PASS_INPUT, stage, k)] = input_head(work, stage, k);
    }
}

/* Seconds of forward passes that are left when input pass k of a stage begins: memory let only so many go
 * ahead. */
static double forward_left(const struct work *work, int stage, int left)
{
    const struct sums *sums = &work->until[stage];
    if (sums->early || sums->max_forward_by_kept == HUGE_VAL || work->problem->memory == HUGE_VAL)
        return 0.0;
    return search_max(0.0, left * sums->forward - sums->room * sums->max_forward_by_kept);
}

static double input_tail(const struct work *work, int stage, int k)
{
    const struct search_problem *problem = work->problem;
    const struct search_type *type = &problem->type[search_type_of(problem, PASS_INPUT, stage)];
    const struct sums *sums = &work->until[stage];
    int left = problem->microbatches - k;
    double tail = type->seconds + problem->costs[stage].weight;
    if (stage > 0) {
        const struct search_type *next = &problem->type[search_type_of(problem, PASS_INPUT, stage - 1)];
        tail = search_max(tail,
                          type->seconds + next->lag + work->tail[number(problem, PASS_INPUT, stage - 1, k)]);
    }
    if (left > 1)
        tail = search_max(tail, type->seconds + type->after + type->before +
                                    work->tail[number(problem, PASS_INPUT, stage, k + 1)]);
    /* memory: the forward pass that waits for this micro-batch */
    int room = problem->memory < HUGE_VAL && sums->kept > 0.0
                   ? (int)search_min(problem->memory / problem->costs[stage].kept, problem->microbatches)
                   : problem->microbatches;
    if (k + room < problem->microbatches && !sums->early)
        tail = search_max(tail, type->seconds + problem->costs[stage].weight +
                                    work->tail[number(problem, PASS_FORWARD, stage, k + room)]);
    return search_max(tail, left * (sums->input + sums->weight) + forward_left(work, stage, left));
}

static double forward_tail(const struct work *work, int stage, int k)
{
    const struct search_problem *problem = work->problem;
    const struct search_type *type = &problem->type[search_type_of(problem, PASS_FORWARD, stage)];
    const struct sums *sums = &work->until[stage], *all = sums_of_device(work, type->device);
    int left = problem->microbatches - k, last = problem->stages - 1;
    double lag = stage < last ? problem->type[search_type_of(problem, PASS_FORWARD, stage + 1)].lag : 0.0;
    double tail = type->seconds + lag +
                  (stage < last ? work->tail[number(problem, PASS_FORWARD, stage + 1, k)]
                                : work->tail[number(problem, PASS_INPUT, stage, k)]);
    if (left > 1)
        tail = search_max(tail, type->seconds + type->after + type->before +
                                    work->tail[number(problem, PASS_FORWARD, stage, k + 1)]);
    double own = all->forward - sums->forward + type->seconds;
    return search_max(tail, left * (own + all->input + all->weight));
}

static void set_tails(struct work *work)
{
    const struct search_problem *problem = work->problem;
    for (int k = problem->microbatches - 1; k >= 0 && !stop_wanted(); k--) {
        for (int stage = 0; stage < problem->stages; stage++)
            work->tail[number(problem, PASS_INPUT, stage, k)] = input_tail(work, stage, k);
        for (int stage = problem->stages - 1; stage >= 0; stage--)
            work->tail[number(problem, PASS_FORWARD, stage, k)] = forward_tail(work, stage, k);
    }
}

/* Memory times seconds that all micro-batches take at least on a device, over its memory: it works no less
 * long. */
static double memory_seconds(const struct work *work, int device)
{
    const struct search_problem *problem = work->problem;
    double sum = 0.0;
    if (problem->memory == HUGE_VAL)
        return 0.0;
    for (int i = problem->first_stage[device]; i < problem->first_stage[device + 1]; i++) {
        int stage = problem->stages_of[i];
        if (work->until[stage].early)
            return 0.0;
        double hold = 0.0;
        for (int after = stage; after < problem->stages; after++) {
            const struct pass_cost *cost = &problem->costs[after];
            hold += cost->forward + cost->input;
            if (after > stage)
                hold += problem->type[search_type_of(problem, PASS_FORWARD, after)].lag +
                        problem->type[search_type_of(problem, PASS_INPUT, after - 1)].lag;
        }
        sum += problem->microbatches * problem->costs[stage].kept * (hold + problem->costs[stage].weight);
    }
    return sum / sums_of_device(work, device)->room;
}

bool search_bound_init(struct search_bound *bound, const struct search_problem *problem, struct error *err)
{
    size_t count = 2 * (size_t)problem->stages * (size_t)problem->microbatches;
    *bound = (struct search_bound){.tail = calloc(count, sizeof *bound->tail)};
    struct work work = {.problem = problem, .tail = bound->tail};
    work.until = calloc((size_t)problem->stages, sizeof *work.until);
    work.head = calloc(count, sizeof *work.head);
    work.latest = calloc((size_t)problem->stages, sizeof *work.latest);
    bool made = work.until != NULL && work.head != NULL && work.tail != NULL && work.latest != NULL;
    if (made) {
        for (int stage = 0; stage < problem->stages; stage++)
            work.latest[stage] = (struct latest){.by_forward = -HUGE_VAL, .by_input = -HUGE_VAL};
        sum_stages(&work);
        set_heads(&work);
        set_tails(&work);
        for (size_t i = 0; i < count; i++)
            bound->makespan = search_max(bound->makespan, work.head[i] + work.tail[i]);
        for (int device = 0; device < problem->devices; device++) {
            double seconds = memory_seconds(&work, device);
            bound->span = search_max(bound->span, search_max(problem->work[device], seconds));
            bound->makespan =
                search_max(bound->makespan,
                           first_head(&work, problem->stages_of[problem->first_stage[device]]) + seconds);
        }
    } else {
        error_memory(err);
    }
    free(work.until);
    free(work.head);
    free(work.latest);
    return made;
}

void search_bound_release(struct search_bound *bound)
{
    free(bound->tail);
    *bound = (struct search_bound){.makespan = 0.0};
}
