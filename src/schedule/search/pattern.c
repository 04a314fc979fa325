#include "schedule/search/pattern.h"

#include "core/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_STEPS 40 /* periods tried, each a step longer than the one before */
#define PERIOD_STEP                                                                                          \
    0.015 /* of the work; a pass where all are equal, since other periods leave parts of passes idle */
#define FITTING        2 /* periods that are tried beyond the first that fits */
#define TRIED          12
#define STRIDES        16 /* a gap or none between devices: forward passes there and back, input passes */
#define PATTERN_EFFORT 8  /* a pattern takes that many evaluations of a pass per type */

enum times { TIMES_REAL, TIMES_NO_SENDS, TIMES_EQUAL, TIMES_VARIANTS }; /* the last also without sends */

struct candidate {
    double promise; /* length of an order that keeps to the pattern */
    double period;
    enum times times;
    int strides;
    bool fused; /* the weight pass comes right behind the input pass */
};

struct pattern {
    const struct search_problem *problem;
    double *begin, *seconds, *lag; /* of each type */
    double period;
    double gap;
};

/* Returns the earliest time, not before `from`, at which `seconds` on a device are free in every period;
 * HUGE_VAL: none. */
static double free_slot(const struct pattern *pattern, int device, int placed, const int *types, double from,
                        double seconds)
{
    double at = from;
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < placed; i++) {
            int type = types[i];
            if (pattern->problem->type[type].device != device || pattern->seconds[type] <= 0.0)
                continue;
            /* the other's place in the period that begins with ours */
            double ahead = fmod(pattern->begin[type] - at, pattern->period);
            ahead += ahead < 0.0 ? pattern->period : 0.0;
            double hair = pattern->problem->hair;
            if (ahead > pattern->period - hair)
                ahead = 0.0;
            double behind = ahead + pattern->seconds[type] - pattern->period;
            if (behind > hair) {
                at += behind;
                moved = true;
            } else if (ahead < seconds - hair) {
                at += ahead + pattern->seconds[type];
                moved = true;
            }
        }
        if (at > from + pattern->period)
            return HUGE_VAL;
    }
    return at;
}

/* Places a type at the earliest free time, and adds it to the placed ones of its device. Returns false if none is
 * free. */
static bool place(struct pattern *pattern, int type, double from, int *own, int *own_count)
{
    const struct search_problem *problem = pattern->problem;
    int device = problem->type[type].device,
        most = SEARCH_KINDS * (problem->first_stage[device + 1] - problem->first_stage[device]);
    int *types = &own[(size_t)SEARCH_KINDS * (size_t)problem->first_stage[device]];
    pattern->begin[type] = free_slot(pattern, device, own_count[device], types, from, pattern->seconds[type]);
    if (pattern->begin[type] == HUGE_VAL || own_count[device] == most)
        return false;
    types[own_count[device]++] = type;
    return true;
}

/* Places all types. Returns false if the period has no room. */
static bool make_pattern(struct pattern *pattern, const struct candidate *candidate, int *own, int *own_count)
{
    const struct search_problem *problem = pattern->problem;
    int stages = problem->stages;
    double end = 0.0;
    for (int device = 0; device < problem->devices; device++)
        own_count[device] = 0;
    for (int i = 0; i < 2 * stages; i++) {
        bool forward = i < stages;
        int stage = forward ? i : 2 * stages - 1 - i, type = forward ? stage : stages + stage;
        bool back = stage > 0 && problem->device_of[stage] <= problem->device_of[stage - 1];
        int which = (forward ? 0 : 2) + back;
        double from = end + pattern->lag[type], seconds = pattern->seconds[type];
        if (i > 0 && pattern->lag[type] >= 0.0 && candidate->strides >> which & 1)
            from += pattern->gap;
        if (candidate->fused && !forward)
            pattern->seconds[type] += pattern->seconds[stages + type];
        bool placed = place(pattern, type, from, own, own_count);
        pattern->seconds[type] = seconds;
        if (!placed)
            return false;
        end = pattern->begin[type] + seconds;
        if (candidate->fused && !forward && !place(pattern, stages + type, end, own, own_count))
            return false;
    }
    for (int stage = stages - 1; stage >= 0 && !candidate->fused; stage--) {
        int input = stages + stage;
        if (!place(pattern, stages + input, pattern->begin[input] + pattern->seconds[input], own, own_count))
            return false;
    }
    return true;
}

/* True: memory suffices when all micro-batches keep to the pattern. */
static bool pattern_fits(const struct pattern *pattern)
{
    const struct search_problem *problem = pattern->problem;
    int stages = problem->stages;
    for (int stage = 0; stage < stages; stage++) {
        double kept = 0.0, at = pattern->begin[stage];
        int device = problem->type[stage].device, first = problem->first_stage[device];
        int count = problem->first_stage[device + 1] - first;
        for (int i = 0; i < SEARCH_KINDS * count; i++) {
            int type = i / count * stages + problem->stages_of[first + i % count];
            const struct search_type *other = &problem->type[type];
            double after = (at - pattern->begin[type]) / pattern->period;
            double since = after - pattern->seconds[type] / pattern->period;
            kept += other->takes * (floor(after + 1e-9) + 1.0) - other->frees * (floor(since + 1e-9) + 1.0);
        }
        if (kept > problem->memory)
            return false;
    }
    return true;
}

static void set_times(struct pattern *pattern, enum times times)
{
    const struct search_problem *problem = pattern->problem;
    for (int type = 0; type < problem->types; type++) {
        const struct search_type *of = &problem->type[type];
        pattern->seconds[type] = times == TIMES_EQUAL ? 1.0 : of->seconds + of->before + of->after;
        pattern->lag[type] = times == TIMES_REAL ? of->lag : 0.0;
    }
}

static double longest_work(const struct pattern *pattern)
{
    double longest = 0.0;
    for (int device = 0; device < pattern->problem->devices; device++) {
        double work = 0.0;
        const struct search_problem *problem = pattern->problem;
        for (int i = problem->first_stage[device]; i < problem->first_stage[device + 1]; i++)
            for (int kind = 0; kind < SEARCH_KINDS; kind++)
                work += pattern->seconds[kind * problem->stages + problem->stages_of[i]];
        longest = fmax(longest, work);
    }
    return longest;
}

/* Returns a period that no pattern in this memory is shorter than: each device works that long, or its memory is taken
 * for that long by a micro-batch that never waits. */
static double shortest_period(const struct pattern *pattern)
{
    const struct search_problem *problem = pattern->problem;
    int stages = problem->stages;
    double longest = longest_work(pattern);
    for (int device = 0; device < problem->devices; device++) {
        double taken = 0.0;
        for (int i = problem->first_stage[device]; i < problem->first_stage[device + 1]; i++) {
            int stage = problem->stages_of[i];
            double hold = pattern->seconds[2 * stages + stage];
            for (int after = stage; after < stages; after++)
                hold += pattern->seconds[after] + pattern->seconds[stages + after] +
                        (after > stage ? pattern->lag[after] + pattern->lag[stages + after - 1] : 0.0);
            const struct search_type *input = &problem->type[stages + stage];
            taken += (problem->costs[stage].kept - input->frees) * hold;
        }
        longest = fmax(longest, taken / problem->memory);
    }
    return longest;
}

/* Keeps the candidates of the greatest promise. */
static void remember(struct candidate *best, int *count, const struct candidate *candidate)
{
    int at = *count < TRIED ? *count : TRIED;
    while (at > 0 && candidate->promise < best[at - 1].promise)
        at--;
    if (at == TRIED)
        return;
    if (*count < TRIED)
        ++*count;
    memmove(&best[at + 1], &best[at], (size_t)(*count - 1 - at) * sizeof *best);
    best[at] = *candidate;
}

/* Tries periods, from the shortest one on. */
static void try_periods(struct pattern *pattern, struct candidate *candidate, int *own, int *own_count,
                        struct candidate *best, int *count, int64_t *effort)
{
    const struct search_problem *problem = pattern->problem;
    double work = longest_work(pattern), scale = problem->work[0];
    for (int device = 0; device < problem->devices; device++)
        scale = fmax(scale, problem->work[device]);
    scale /= work * problem->microbatches; /* seconds of the problem per unit of these times */
    double shortest = shortest_period(pattern);
    for (int step = 0, fitting = 0; step < PERIOD_STEPS && fitting <= FITTING && !stop_wanted(); step++) {
        pattern->period = shortest + PERIOD_STEP * work * step;
        if (candidate->times == TIMES_EQUAL)
            pattern->period = ceil(shortest - 1e-6) + step;
        pattern->gap = pattern->period / problem->types * problem->devices;
        *effort += PATTERN_EFFORT * (int64_t)problem->types;
        if (!make_pattern(pattern, candidate, own, own_count) || !pattern_fits(pattern))
            continue;
        double end = 0.0;
        for (int type = 2 * problem->stages; type < problem->types; type++)
            end = fmax(end, pattern->begin[type] + pattern->seconds[type]);
        candidate->period = pattern->period;
        candidate->promise = scale * (end + (problem->microbatches - 1) * pattern->period);
        remember(best, count, candidate);
        fitting++;
    }
}

/* Writes the passes of each device in the order of their times. */
static void write_sequence(const struct pattern *pattern, uint32_t *sequence, int *done)
{
    const struct search_problem *problem = pattern->problem;
    int stages = problem->stages;
    for (int type = 0; type < problem->types; type++)
        done[type] = 0;
    for (int device = 0; device < problem->devices; device++)
        for (size_t at = problem->first[device]; at < problem->first[device + 1]; at++) {
            int next = -1;
            double earliest = HUGE_VAL;
            for (int i = problem->first_stage[device]; i < problem->first_stage[device + 1]; i++)
                for (int kind = 0; kind < SEARCH_KINDS; kind++) {
                    int type = kind * stages + problem->stages_of[i];
                    double begin = pattern->begin[type] + done[type] * pattern->period;
                    if (done[type] < problem->microbatches && begin < earliest - problem->hair) {
                        next = type;
                        earliest = begin;
                    }
                }
            sequence[at] = (uint32_t)(next * problem->microbatches + done[next]++);
        }
}

static void try_all(struct evaluation *evaluation, const struct search_goal *goal, struct pattern *pattern,
                    int *own, int *own_count, uint32_t *sequence, struct search_pool *pool)
{
    const struct search_problem *problem = evaluation->problem;
    struct candidate best[TRIED + 1], candidate = {.times = 0};
    int count = 0;
    for (candidate.times = 0; candidate.times < TIMES_VARIANTS; candidate.times++) {
        set_times(pattern, candidate.times);
        for (candidate.strides = 0; candidate.strides < STRIDES; candidate.strides++)
            for (int fused = 0; fused < 2 && evaluation->evaluated < goal->effort; fused++) {
                candidate.fused = fused == 1;
                try_periods(pattern, &candidate, own, own_count, best, &count, &evaluation->evaluated);
            }
    }
    for (int i = 0; i < count; i++) {
        set_times(pattern, best[i].times);
        pattern->period = best[i].period;
        pattern->gap = pattern->period / problem->types * problem->devices;
        if (!make_pattern(pattern, &best[i], own, own_count))
            continue;
        write_sequence(pattern, sequence, own);
        if (search_fits(problem, sequence) && evaluate_starts(evaluation, sequence))
            search_pool_offer(pool, problem, sequence, evaluation->value, evaluation->secondary);
    }
}

bool search_by_patterns(struct evaluation *evaluation, const struct search_goal *goal,
                        struct search_pool *pool, struct error *err)
{
    const struct search_problem *problem = evaluation->problem;
    size_t types = (size_t)problem->types;
    struct pattern pattern = {.problem = problem};
    if (problem->memory == HUGE_VAL)
        return true;
    double *numbers = calloc(3 * types, sizeof *numbers);
    int *own = calloc(types + (size_t)problem->devices, sizeof *own);
    uint32_t *sequence = malloc(problem->passes * sizeof *sequence);
    bool made = numbers != NULL && own != NULL && sequence != NULL;
    if (made) {
        pattern.begin = numbers;
        pattern.seconds = numbers + types;
        pattern.lag = numbers + 2 * types;
        try_all(evaluation, goal, &pattern, own, own + types, sequence, pool);
    } else {
        error_memory(err);
    }
    free(numbers);
    free(own);
    free(sequence);
    return made;
}
