#include "schedule/search/exact.h"

#include "core/random.h"
#include "core/statistics.h"
#include "core/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAYER_STATES 32768
#define BUCKETS      65536
#define BEAM_SHARE   0.3 /* of the states that may be made */
#define BEAM_MIN     16  /* states of a length: a narrower beam is not worth it */
#define NONE         UINT32_MAX

/* How a partial order was made: from the one before, by a pass of a type. */
struct step {
    uint32_t from;
    uint16_t type;
};

/* All partial orders of one length. A state is `counts` bytes (of each type) and `times` doubles: when each
 * device is free, and when the results under way arrive, forward and backward, by stage and micro-batch; 0:
 * it is there or used. */
struct layer {
    uint8_t *counts;
    double *times;
    double *bound;    /* on the makespan of all orders that begin so */
    uint32_t *next;   /* with equal hash */
    uint32_t *bucket; /* BUCKETS */
    uint32_t size;
};

struct exact {
    const struct search_problem *problem;
    const struct search_bound *bound;
    size_t counts, times;
    struct layer layer[2];
    struct step *step; /* of all lengths */
    uint32_t *first;   /* of each length: its first step */
    uint32_t steps, max_steps;
    double *forward, *input; /* scratch: earliest beginning of the next pass by stage */
    uint8_t *new_counts;
    double *new_times;
    double *sorted; /* scratch: bounds of a layer */
    double best;
    uint32_t width; /* of a beam: the most states that a length keeps; 0: all are needed */
    bool full;      /* a state was left out */
};

static bool layer_init(struct layer *layer, const struct exact *exact)
{
    layer->counts = malloc(LAYER_STATES * exact->counts);
    layer->times = malloc(LAYER_STATES * exact->times * sizeof *layer->times);
    layer->bound = malloc(LAYER_STATES * sizeof *layer->bound);
    layer->next = malloc(LAYER_STATES * sizeof *layer->next);
    layer->bucket = malloc(BUCKETS * sizeof *layer->bucket);
    return layer->counts != NULL && layer->times != NULL && layer->bound != NULL && layer->next != NULL &&
           layer->bucket != NULL;
}

static void release(struct exact *exact)
{
    for (int i = 0; i < 2; i++) {
        free(exact->layer[i].counts);
        free(exact->layer[i].times);
        free(exact->layer[i].bound);
        free(exact->layer[i].next);
        free(exact->layer[i].bucket);
    }
    free(exact->step);
    free(exact->first);
    free(exact->forward);
    free(exact->input);
    free(exact->new_counts);
    free(exact->new_times);
    free(exact->sorted);
}

static bool init(struct exact *exact, const struct search_problem *problem, struct error *err)
{
    size_t stages = (size_t)problem->stages;
    exact->problem = problem;
    exact->counts = (size_t)problem->types;
    exact->times = (size_t)problem->devices + 2 * stages * (size_t)problem->microbatches;
    exact->step = malloc(EXACT_MAX_STATES * sizeof *exact->step);
    exact->first = calloc(problem->passes + 2, sizeof *exact->first);
    exact->forward = calloc(stages, sizeof *exact->forward);
    exact->input = calloc(stages, sizeof *exact->input);
    exact->new_counts = malloc(exact->counts);
    exact->new_times = malloc(exact->times * sizeof *exact->new_times);
    exact->sorted = malloc(LAYER_STATES * sizeof *exact->sorted);
    return (layer_init(&exact->layer[0], exact) && layer_init(&exact->layer[1], exact) &&
            exact->step != NULL && exact->first != NULL && exact->forward != NULL && exact->input != NULL &&
            exact->new_counts != NULL && exact->new_times != NULL && exact->sorted != NULL) ||
           error_memory(err);
}

static void empty(struct layer *layer)
{
    layer->size = 0;
    for (int i = 0; i < BUCKETS; i++)
        layer->bucket[i] = NONE;
}

/* Returns the place of the result of a forward or input pass among the times. */
static size_t result(const struct search_problem *problem, int kind, int stage, int microbatch)
{
    return (size_t)problem->devices +
           (size_t)(kind * problem->stages + stage) * (size_t)problem->microbatches + (size_t)microbatch;
}

/* Returns when the result that the next pass of a type needs arrives; HUGE_VAL: it is not begun. */
static double arrival(const struct exact *exact, const uint8_t *counts, const double *times, int index)
{
    const struct search_problem *problem = exact->problem;
    const struct search_type *type = &problem->type[index];
    if (!type->needs_other)
        return 0.0;
    int k = counts[index];
    size_t needed = (size_t)((ptrdiff_t)index * problem->microbatches + k + type->needs);
    const struct search_type *from = &problem->type[problem->type_of[needed]];
    if (counts[problem->type_of[needed]] <= k)
        return HUGE_VAL;
    return from->device == type->device ? 0.0 : times[result(problem, from->kind, from->stage, k)];
}

/* Returns a bound on the makespan of all orders that begin so. */
static double bound_of(struct exact *exact, const uint8_t *counts, const double *times)
{
    const struct search_problem *problem = exact->problem;
    int stages = problem->stages, microbatches = problem->microbatches;
    double bound = 0.0;
    for (int device = 0; device < problem->devices; device++) {
        double left = times[device];
        for (int i = problem->first_stage[device]; i < problem->first_stage[device + 1]; i++)
            for (int kind = 0; kind < SEARCH_KINDS; kind++) {
                int index = kind * stages + problem->stages_of[i];
                left += problem->type[index].seconds * (microbatches - counts[index]);
            }
        bound = search_max(bound, left);
    }
    for (int i = 0; i < 2 * stages; i++) {
        bool forward = i < stages;
        int stage = forward ? i : 2 * stages - 1 - i, index = (forward ? 0 : stages) + stage;
        double *begin = forward ? &exact->forward[stage] : &exact->input[stage];
        *begin = HUGE_VAL;
        if (counts[index] == microbatches)
            continue;
        const struct search_type *type = &problem->type[index];
        double there = arrival(exact, counts, times, index);
        if (there == HUGE_VAL) {
            /* the needed pass is the next one of its type */
            int before = forward ? stage - 1 : stage + 1;
            there = forward           ? exact->forward[before] + problem->costs[before].forward
                    : before < stages ? exact->input[before] + problem->costs[before].input
                                      : exact->forward[stage] + problem->costs[stage].forward;
            there += type->lag;
        }
        *begin = search_max(there, times[type->device] + type->before);
        size_t pass = (size_t)index * (size_t)microbatches + counts[index];
        bound = search_max(bound, *begin + exact->bound->tail[pass]);
    }
    return bound;
}

static bool fits(const struct exact *exact, const uint8_t *counts, int index)
{
    const struct search_problem *problem = exact->problem;
    int device = problem->type[index].device, stages = problem->stages;
    double kept = problem->type[index].takes;
    if (kept <= 0.0)
        return true;
    for (int i = problem->first_stage[device]; i < problem->first_stage[device + 1]; i++) {
        int stage = problem->stages_of[i];
        for (int kind = 0; kind < SEARCH_KINDS; kind++) {
            const struct search_type *type = &problem->type[kind * stages + stage];
            kept += counts[kind * stages + stage] * (type->takes - type->frees);
        }
    }
    return kept <= problem->memory;
}

static bool nowhere_later(const struct exact *exact, const double *a, const double *b)
{
    for (size_t i = 0; i < exact->times; i++)
        if (a[i] > b[i] + exact->problem->hair)
            return false;
    return true;
}

static uint32_t *bucket_of(const struct exact *exact, const struct layer *layer, const uint8_t *counts)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < exact->counts; i++)
        hash = random_mix(hash + counts[i] + 1);
    return &layer->bucket[hash % BUCKETS];
}

/* Moves state `from` of a layer to place `to`, before it. */
static void move_state(struct exact *exact, struct layer *layer, uint32_t from, uint32_t to)
{
    struct step *steps = &exact->step[exact->steps - layer->size];
    memmove(&layer->counts[to * exact->counts], &layer->counts[from * exact->counts], exact->counts);
    memmove(&layer->times[to * exact->times], &layer->times[from * exact->times],
            exact->times * sizeof *layer->times);
    layer->bound[to] = layer->bound[from];
    steps[to] = steps[from];
}

/* Keeps about half of a full layer: the states of the least bounds, of equal ones the first. */
static void thin(struct exact *exact, struct layer *layer)
{
    uint32_t size = layer->size, half = size / 2, kept = 0, equal = half;
    double *sorted = exact->sorted;
    memcpy(sorted, layer->bound, size * sizeof *sorted);
    qsort(sorted, size, sizeof *sorted, order_doubles);
    double most = sorted[half - 1];
    for (uint32_t i = 0; i < half && sorted[i] < most; i++)
        equal--;
    for (uint32_t i = 0; i < size; i++) {
        bool tie = layer->bound[i] >= most;
        if (layer->bound[i] > most || (tie && equal == 0))
            continue;
        equal -= tie;
        move_state(exact, layer, i, kept++);
    }
    exact->steps -= size - kept;
    layer->size = kept;
    for (int i = 0; i < BUCKETS; i++)
        layer->bucket[i] = NONE;
    for (uint32_t i = 0; i < kept; i++) {
        uint32_t *bucket = bucket_of(exact, layer, &layer->counts[i * exact->counts]);
        layer->next[i] = *bucket;
        *bucket = i;
    }
}

/* Adds the new state to a layer, unless another makes it superfluous. */
static void add(struct exact *exact, struct layer *layer, uint32_t from, int type, double bound)
{
    if (exact->width > 0 && layer->size == exact->width) {
        exact->full = true;
        thin(exact, layer);
    }
    uint32_t *bucket = bucket_of(exact, layer, exact->new_counts), first = exact->steps - layer->size;
    for (uint32_t i = *bucket; i != NONE; i = layer->next[i]) {
        if (memcmp(&layer->counts[i * exact->counts], exact->new_counts, exact->counts) != 0)
            continue;
        double *times = &layer->times[i * exact->times];
        if (nowhere_later(exact, times, exact->new_times))
            return;
        if (nowhere_later(exact, exact->new_times, times)) {
            memcpy(times, exact->new_times, exact->times * sizeof *times);
            layer->bound[i] = bound;
            exact->step[first + i] = (struct step){.from = from, .type = (uint16_t)type};
            return;
        }
    }
    if (layer->size == LAYER_STATES || exact->steps >= exact->max_steps) {
        exact->full = true;
        return;
    }
    uint32_t at = layer->size++;
    memcpy(&layer->counts[at * exact->counts], exact->new_counts, exact->counts);
    memcpy(&layer->times[at * exact->times], exact->new_times, exact->times * sizeof *exact->new_times);
    layer->bound[at] = bound;
    layer->next[at] = *bucket;
    *bucket = at;
    exact->step[exact->steps++] = (struct step){.from = from, .type = (uint16_t)type};
}

/* True: a weight pass fits into the time for which a device would wait. An order that has it there instead of
 * later is as short, and needs no more memory. */
static bool wastes(const struct exact *exact, const uint8_t *counts, int device, double gap)
{
    const struct search_problem *problem = exact->problem;
    for (int i = problem->first_stage[device]; i < problem->first_stage[device + 1]; i++) {
        int input = problem->stages + problem->stages_of[i], weight = problem->stages + input;
        if (counts[weight] < counts[input] && problem->type[weight].seconds <= gap)
            return true;
    }
    return false;
}

/* Makes the state that a pass of a type leads to. Returns false if the pass cannot come next. */
static bool extend(struct exact *exact, const uint8_t *counts, const double *times, int index)
{
    const struct search_problem *problem = exact->problem;
    const struct search_type *type = &problem->type[index];
    int k = counts[index];
    if (k == problem->microbatches)
        return false;
    double there = arrival(exact, counts, times, index);
    if (there == HUGE_VAL || !fits(exact, counts, index))
        return false;
    double begin = search_max(there, times[type->device] + type->before), end = begin + type->seconds;
    if (type->kind != PASS_WEIGHT &&
        wastes(exact, counts, type->device, begin - type->before - times[type->device]))
        return false;
    memcpy(exact->new_counts, counts, exact->counts);
    memcpy(exact->new_times, times, exact->times * sizeof *times);
    exact->new_counts[index]++;
    for (int device = 0; device < problem->devices; device++)
        exact->new_times[device] = search_max(times[device], begin - type->before);
    exact->new_times[type->device] = end + type->after;
    if (type->needs_other) {
        size_t needed = (size_t)((ptrdiff_t)index * problem->microbatches + k + type->needs);
        const struct search_type *from = &problem->type[problem->type_of[needed]];
        if (from->device != type->device)
            exact->new_times[result(problem, from->kind, from->stage, k)] = 0.0;
    }
    int to = type->kind == PASS_FORWARD ? type->stage + 1 : type->kind == PASS_INPUT ? type->stage - 1 : -1;
    if (to >= 0 && to < problem->stages && problem->device_of[to] != type->device)
        exact->new_times[result(problem, type->kind, type->stage, k)] =
            end + problem->type[type->kind * problem->stages + to].lag;
    return true;
}

/* Makes all states that are one pass longer. */
static void grow(struct exact *exact, size_t length)
{
    const struct search_problem *problem = exact->problem;
    const struct layer *old = &exact->layer[length % 2];
    struct layer *layer = &exact->layer[(length + 1) % 2];
    empty(layer);
    exact->first[length + 1] = exact->steps;
    for (uint32_t i = 0; i < old->size && (exact->width > 0 || !exact->full); i++) {
        if (stop_wanted_at(i)) {
            exact->full = true; /* nothing is proven */
            return;
        }
        const uint8_t *counts = &old->counts[i * exact->counts];
        const double *times = &old->times[i * exact->times];
        for (int index = 0; index < problem->types; index++) {
            if (!extend(exact, counts, times, index))
                continue;
            double bound = bound_of(exact, exact->new_counts, exact->new_times);
            if (bound < exact->best - problem->hair)
                add(exact, layer, exact->first[length] + i, index, bound);
        }
    }
}

/* Writes the passes that led to a step. */
static bool write_sequence(const struct exact *exact, uint32_t step, uint32_t *sequence, struct error *err)
{
    const struct search_problem *problem = exact->problem;
    uint8_t *left = exact->new_counts;
    size_t *place = calloc((size_t)problem->devices + 1, sizeof *place);
    if (place == NULL)
        return error_memory(err);
    for (int device = 0; device < problem->devices; device++)
        place[device] = problem->first[device + 1];
    for (int i = 0; i < problem->types; i++)
        left[i] = (uint8_t)problem->microbatches;
    for (size_t i = 0; i < problem->passes; i++, step = exact->step[step].from) {
        int index = exact->step[step].type;
        sequence[--place[problem->type[index].device]] =
            (uint32_t)(index * problem->microbatches + --left[index]);
    }
    free(place);
    return true;
}

/* Makes all states of all lengths, or those of a beam, and takes the best of the last ones. */
static bool search_all(struct exact *exact, uint32_t *sequence, struct error *err)
{
    const struct search_problem *problem = exact->problem;
    struct layer *first = &exact->layer[0];
    empty(first);
    memset(first->counts, 0, exact->counts);
    for (size_t i = 0; i < exact->times; i++)
        first->times[i] = 0.0;
    first->size = 1;
    exact->steps = 0;
    exact->full = false;
    exact->step[exact->steps++] = (struct step){.from = 0};
    for (size_t length = 0; length < problem->passes && (exact->width > 0 || !exact->full); length++)
        grow(exact, length);
    if (exact->full && exact->width == 0)
        return true;
    const struct layer *last = &exact->layer[problem->passes % 2];
    uint32_t best = NONE;
    for (uint32_t i = 0; i < last->size; i++) {
        double end = 0.0;
        for (int device = 0; device < problem->devices; device++)
            end = search_max(end, last->times[i * exact->times + (size_t)device]);
        if (end < exact->best - problem->hair) {
            exact->best = end;
            best = exact->first[problem->passes] + i;
        }
    }
    return best == NONE || write_sequence(exact, best, sequence, err);
}

bool exact_search(const struct search_problem *problem, const struct search_bound *bound, uint32_t *sequence,
                  double *makespan, bool *proven, int64_t *states, struct error *err)
{
    struct exact exact = {.bound = bound, .best = *makespan};
    int64_t limit = *states < EXACT_MAX_STATES ? *states : EXACT_MAX_STATES;
    *proven = false;
    *states = 0;
    if (problem->microbatches > EXACT_MAX_MICROBATCHES || limit < 1)
        return true;
    if (!init(&exact, problem, err)) {
        release(&exact);
        return false;
    }
    /* A better order to beat makes the proof shorter. */
    int64_t width = (int64_t)(BEAM_SHARE * (double)limit) / (int64_t)(problem->passes + 1);
    exact.width = (uint32_t)(width < LAYER_STATES ? width : LAYER_STATES);
    exact.max_steps = (uint32_t)limit;
    exact.full = true;
    bool searched = true;
    if (exact.width >= BEAM_MIN) {
        searched = search_all(&exact, sequence, err);
        *states = exact.steps;
        exact.max_steps -= exact.steps;
    }
    if (searched && exact.full) {
        exact.width = 0;
        searched = search_all(&exact, sequence, err);
        *states += exact.steps;
    }
    *proven = searched && !exact.full;
    *makespan = exact.best;
    release(&exact);
    return searched;
}
