#include "schedule/search/pattern.h"

#include "core/stop.h"
#include "schedule/search/pull.h"

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

/* ---- building blocks of a V ---- */

/* A pattern of six slots on a V whose passes go down in steps of `down[0]` slots to device `cut`, then of `down[1]`,
 * forwards and backwards, and up in steps of one. Where both steps are the same, all devices keep about the same; the
 * cut chooses between two such memories (arXiv 2405.15362, section 3 and appendix). */
struct block {
    int cut, down[2];
    int on_first
        [3]; /* slots modulo six, on the first device, of forward and input pass up, and of input pass down */
    double way; /* slots from the first pass to the last */
};

#define SLOTS       6
#define BLOCKS_MAX  512  /* that are played */
#define BLOCK_SHARE 0.25 /* of the goal's effort */

static double slot_from(double after, int modulo)
{
    double slot = after + 1.0;
    int away = (int)fmod(modulo - slot, SLOTS);
    return slot + (away < 0 ? away + SLOTS : away);
}

/* Places a block on all devices. Returns false: two passes meet on one. */
static bool place_block(struct pattern *pattern, struct block *block)
{
    const struct search_problem *problem = pattern->problem;
    int devices = problem->devices, last = devices - 1, stages = problem->stages;
    double *begin = pattern->begin, down = 0.0;
    for (int device = 0; device < devices; device++) {
        begin[device] = begin[stages + stages - 1 - device] = down;
        down += block->down[device >= block->cut];
    }
    double up = slot_from(begin[last], block->on_first[0] - last);
    for (int device = 0; device < devices; device++)
        begin[stages - 1 - device] = up + last - device;
    double back = slot_from(begin[stages - 1], block->on_first[1]);
    for (int device = 0; device < devices; device++)
        begin[stages + stages - 1 - device] += back;
    up = slot_from(begin[stages + stages - 1 - last], block->on_first[2] - last);
    for (int device = 0; device < devices; device++)
        begin[stages + device] = up + last - device;
    block->way = begin[stages];
    for (int device = 0; device < devices; device++) {
        unsigned used = 0;
        for (int i = 0; i < 4; i++) {
            int type = (i < 2 ? 0 : stages) + (i % 2 == 0 ? device : stages - 1 - device);
            unsigned slot = 1U << (int)fmod(begin[type], SLOTS);
            if (used & slot)
                return false;
            used |= slot;
        }
        for (int i = 0; i < 2; i++) {
            int input = stages + (i == 0 ? stages - 1 - device : device);
            double at = begin[input] + 1.0;
            while (used >> (int)fmod(at, SLOTS) & 1U)
                at += 1.0;
            used |= 1U << (int)fmod(at, SLOTS);
            begin[stages + input] = at;
        }
    }
    return true;
}

/* Keeps the blocks of the shortest way. */
static void keep_block(struct block *blocks, int *count, const struct block *block)
{
    int at = *count < BLOCKS_MAX ? (*count)++ : BLOCKS_MAX;
    while (at > 0 && block->way < blocks[at - 1].way) {
        if (at < BLOCKS_MAX)
            blocks[at] = blocks[at - 1];
        at--;
    }
    if (at < BLOCKS_MAX)
        blocks[at] = *block;
}

static int list_blocks(struct pattern *pattern, struct block *blocks)
{
    int count = 0, devices = pattern->problem->devices;
    for (int cut = devices > 1 ? 1 : 0; cut < devices && !stop_wanted(); cut++)
        for (int code = 0; code < 25 * 125; code++) {
            struct block block = {.cut = cut, .down = {1 + code % 5, 1 + code / 5 % 5}};
            if (block.down[1] > block.down[0] || (block.down[1] == block.down[0] && cut > 1))
                continue;
            for (int i = 0, rest = code / 25; i < 3; i++, rest /= 5)
                block.on_first[i] = 1 + rest % 5;
            if (place_block(pattern, &block) && pattern_fits(pattern))
                keep_block(blocks, &count, &block);
        }
    return count;
}

/* Returns whether the problem is a V with two stages on each device. */
static bool is_v(const struct search_problem *problem)
{
    if (problem->stages != 2 * problem->devices)
        return false;
    for (int stage = 0; stage < problem->stages; stage++)
        if (problem->device_of[stage] != (stage < problem->devices ? stage : problem->stages - 1 - stage))
            return false;
    return true;
}

/* Fills the gaps of all blocks by one set of rules after the other. */
static bool try_blocks(struct evaluation *evaluation, const struct search_goal *goal, struct pattern *pattern,
                       int *done, uint32_t *sequence, struct search_pool *pool, struct error *err)
{
    const struct search_problem *problem = evaluation->problem;
    struct block *blocks = malloc(BLOCKS_MAX * sizeof *blocks);
    struct puller *puller = puller_make(problem, err);
    bool made = blocks != NULL && puller != NULL;
    int64_t effort = evaluation->evaluated + (int64_t)(BLOCK_SHARE * (double)goal->effort);
    set_times(pattern, TIMES_EQUAL);
    pattern->period = SLOTS;
    int count = made ? list_blocks(pattern, blocks) : 0;
    for (int rules = 0; rules < PULL_RULES; rules++)
        for (int i = 0; i < count && evaluation->evaluated < effort && !stop_wanted(); i++) {
            if (pool->count > 0 && pool->value[0] < goal->value + problem->hair)
                break;
            place_block(pattern, &blocks[i]);
            write_sequence(pattern, sequence, done);
            if (search_fits(problem, sequence))
                pull_and_offer(puller, evaluation, rules, sequence, pool);
        }
    free(blocks);
    puller_free(puller);
    return made || error_memory(err);
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
        made = !is_v(problem) || try_blocks(evaluation, goal, &pattern, own, sequence, pool, err);
    } else {
        error_memory(err);
    }
    free(numbers);
    free(own);
    free(sequence);
    return made;
}
