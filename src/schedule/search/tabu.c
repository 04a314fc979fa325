#include "schedule/search/tabu.h"
#include "core/progress.h"
#include "core/stop.h"
#include "schedule/search/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOT_YET (-1.0)

bool evaluation_init(struct evaluation *evaluation, const struct search_problem *problem,
                     enum search_objective objective, struct error *err)
{
    size_t passes = problem->passes, devices = (size_t)problem->devices;
    *evaluation = (struct evaluation){.problem = problem, .objective = objective};
    evaluation->due = (struct due){.end = objective == SEARCH_MAKESPAN ? 0.0 : HUGE_VAL,
                                   .span = objective == SEARCH_SPAN ? 0.0 : HUGE_VAL};
    evaluation->start = malloc(passes * sizeof *evaluation->start);
    evaluation->tail = malloc(passes * sizeof *evaluation->tail);
    evaluation->place = malloc(passes * sizeof *evaluation->place);
    evaluation->sorted = malloc(passes * sizeof *evaluation->sorted);
    evaluation->begin = malloc(devices * sizeof *evaluation->begin);
    evaluation->end = malloc(devices * sizeof *evaluation->end);
    evaluation->next = malloc(devices * sizeof *evaluation->next);
    evaluation->clock = malloc(devices * sizeof *evaluation->clock);
    evaluation->waits = malloc(devices * sizeof *evaluation->waits);
    evaluation->runnable = malloc(devices * sizeof *evaluation->runnable);
    return (evaluation->start != NULL && evaluation->tail != NULL && evaluation->place != NULL &&
            evaluation->sorted != NULL && evaluation->begin != NULL && evaluation->end != NULL &&
            evaluation->next != NULL && evaluation->clock != NULL && evaluation->waits != NULL &&
            evaluation->runnable != NULL) ||
           error_memory(err);
}

void evaluation_release(struct evaluation *evaluation)
{
    free(evaluation->start);
    free(evaluation->tail);
    free(evaluation->place);
    free(evaluation->sorted);
    free(evaluation->begin);
    free(evaluation->end);
    free(evaluation->next);
    free(evaluation->clock);
    free(evaluation->waits);
    free(evaluation->runnable);
    *evaluation = (struct evaluation){.problem = NULL};
}

/* Returns the device whose pass needs the result of a pass of this type from elsewhere; -1: none. */
static int receiver(const struct search_problem *problem, const struct search_type *type)
{
    int to = type->kind == PASS_FORWARD ? type->stage + 1 : type->kind == PASS_INPUT ? type->stage - 1 : -1;
    if (to < 0 || to >= problem->stages || problem->device_of[to] == type->device)
        return -1;
    return problem->device_of[to];
}

/* Plays a device until it waits or is done. Returns the number of runnable devices. */
static int play(struct evaluation *evaluation, const uint32_t *sequence, int device, int runnable,
                size_t *sorted)
{
    const struct search_problem *problem = evaluation->problem;
    size_t place = evaluation->next[device], last = problem->first[device + 1];
    double clock = evaluation->clock[device], *starts = evaluation->start;
    for (; place < last; place++) {
        uint32_t pass = sequence[place];
        const struct search_type *type = &problem->type[problem->type_of[pass]];
        double start = clock + type->before;
        if (type->needs_other) {
            size_t needed = (size_t)((ptrdiff_t)pass + type->needs);
            if (starts[needed] < 0.0) {
                evaluation->waits[device] = (uint32_t)needed;
                break;
            }
            double arrival = starts[needed] + problem->type[problem->type_of[needed]].seconds + type->lag;
            start = arrival > start ? arrival : start;
        }
        starts[pass] = start;
        evaluation->place[pass] = (uint32_t)place;
        evaluation->sorted[(*sorted)++] = pass;
        if (place == problem->first[device])
            evaluation->begin[device] = start;
        evaluation->end[device] = start + type->seconds;
        clock = start + type->seconds + type->after;
        int to = receiver(problem, type);
        if (to >= 0 && evaluation->waits[to] == pass) {
            evaluation->waits[to] = SEARCH_NO_PASS;
            evaluation->runnable[runnable++] = to;
        }
    }
    evaluation->next[device] = place;
    evaluation->clock[device] = clock;
    return runnable;
}

bool evaluate_starts(struct evaluation *evaluation, const uint32_t *sequence)
{
    const struct search_problem *problem = evaluation->problem;
    size_t sorted = 0;
    for (size_t i = 0; i < problem->passes; i++)
        evaluation->start[i] = NOT_YET;
    int runnable = 0;
    for (int device = problem->devices - 1; device >= 0; device--) {
        evaluation->next[device] = problem->first[device];
        evaluation->clock[device] = evaluation->begin[device] = evaluation->end[device] = 0.0;
        evaluation->waits[device] = SEARCH_NO_PASS;
        evaluation->runnable[runnable++] = device;
    }
    while (runnable > 0) {
        runnable--;
        runnable = play(evaluation, sequence, evaluation->runnable[runnable], runnable, &sorted);
    }
    evaluation->evaluated += (int64_t)problem->passes;
    if (sorted < problem->passes)
        return false;
    evaluation->extent.makespan = evaluation->extent.span = evaluation->length = 0.0;
    for (int device = 0; device < problem->devices; device++) {
        double end = evaluation->end[device];
        evaluation->extent.makespan = search_max(evaluation->extent.makespan, end);
        evaluation->extent.span = search_max(evaluation->extent.span, end - evaluation->begin[device]);
        evaluation->length = search_max(evaluation->length, end - evaluation_due(evaluation, device));
    }
    bool makespan = evaluation->objective == SEARCH_MAKESPAN;
    evaluation->value = makespan ? evaluation->extent.makespan : evaluation->extent.span;
    evaluation->secondary = makespan ? evaluation->extent.span : evaluation->extent.makespan;
    if (evaluation->due.end < HUGE_VAL && evaluation->due.span < HUGE_VAL) {
        double kept = makespan ? evaluation->due.end : evaluation->due.span;
        evaluation->value = evaluation->value > kept + problem->hair ? HUGE_VAL : evaluation->secondary;
        evaluation->secondary = 0.0;
    }
    return true;
}

void evaluation_keep(struct evaluation *evaluation, double bound)
{
    if (evaluation->objective == SEARCH_MAKESPAN)
        evaluation->due = (struct due){.end = evaluation->extent.makespan, .span = bound};
    else
        evaluation->due = (struct due){.end = bound, .span = evaluation->extent.span};
}

/* Fills in the tails, after evaluate_starts. */
static void evaluate_tails(struct evaluation *evaluation, const uint32_t *sequence)
{
    const struct search_problem *problem = evaluation->problem;
    size_t microbatches = (size_t)problem->microbatches, row = (size_t)problem->stages * microbatches;
    double *tails = evaluation->tail;
    for (size_t i = problem->passes; i-- > 0;) {
        uint32_t pass = evaluation->sorted[i];
        const struct search_type *type = &problem->type[problem->type_of[pass]];
        size_t place = evaluation->place[pass];
        double behind = -HUGE_VAL;
        if (place + 1 < problem->first[type->device + 1]) {
            uint32_t next = sequence[place + 1];
            behind = type->after + problem->type[problem->type_of[next]].before + tails[next];
        } else {
            behind = -evaluation_due(evaluation, type->device);
        }
        if (type->kind == PASS_FORWARD) {
            size_t then = (int)type->stage + 1 < problem->stages ? pass + microbatches : pass + row;
            behind = search_max(behind, problem->type[problem->type_of[then]].lag + tails[then]);
        } else if (type->kind == PASS_INPUT) {
            behind = search_max(behind, tails[pass + row]);
            if (type->stage > 0)
                behind = search_max(behind, problem->type[problem->type_of[pass - microbatches]].lag +
                                                tails[pass - microbatches]);
        }
        tails[pass] = type->seconds + behind;
    }
    evaluation->evaluated += (int64_t)problem->passes;
}

#define REACH      24 /* places by which a pass moves at most */
#define CHOICES    16 /* longest paths that are tried for a move */
#define TENURE     8
#define TENURE_ADD 8

/* A pass at `from` that moves to `to`; those between shift by one. */
struct move {
    size_t from, to;
    double value;
};

struct tabu {
    struct evaluation *evaluation;
    uint32_t *sequence; /* the current one */
    uint32_t *path;     /* places of a longest path, from its end */
    int64_t *forbidden; /* of each pass: until this iteration it moves not against its last move */
    int8_t *direction;  /* of its last move */
    double *end;        /* scratch of estimates: new ends of the moved part */
    uint64_t random;
    int64_t iteration;
    bool any; /* forbidden moves are considered as well */
};

struct tabu *tabu_make(struct evaluation *evaluation, struct error *err)
{
    struct tabu *tabu = calloc(1, sizeof *tabu);
    if (tabu == NULL)
        return error_memory_null(err);
    size_t passes = evaluation->problem->passes;
    tabu->evaluation = evaluation;
    tabu->random = 88172645463325252u;
    tabu->sequence = malloc(passes * sizeof *tabu->sequence);
    tabu->path = malloc(passes * sizeof *tabu->path);
    tabu->forbidden = calloc(passes, sizeof *tabu->forbidden);
    tabu->direction = calloc(passes, sizeof *tabu->direction);
    tabu->end = malloc((REACH + 2) * sizeof *tabu->end);
    if (tabu->sequence == NULL || tabu->path == NULL || tabu->forbidden == NULL || tabu->direction == NULL ||
        tabu->end == NULL) {
        tabu_free(tabu);
        return error_memory_null(err);
    }
    return tabu;
}

void tabu_free(struct tabu *tabu)
{
    if (tabu == NULL)
        return;
    free(tabu->sequence);
    free(tabu->path);
    free(tabu->forbidden);
    free(tabu->direction);
    free(tabu->end);
    free(tabu);
}

static uint32_t draw(struct tabu *tabu, uint32_t below)
{
    tabu->random ^= tabu->random << 13;
    tabu->random ^= tabu->random >> 7;
    tabu->random ^= tabu->random << 17;
    return (uint32_t)((tabu->random >> 32) * below >> 32);
}

static const struct search_type *type_at(const struct tabu *tabu, size_t place)
{
    const struct search_problem *problem = tabu->evaluation->problem;
    return &problem->type[problem->type_of[tabu->sequence[place]]];
}

/* Returns the end of a pass's input at its device; 0: it needs none. */
static double arrival_of(const struct evaluation *evaluation, uint32_t pass)
{
    const struct search_problem *problem = evaluation->problem;
    const struct search_type *type = &problem->type[problem->type_of[pass]];
    if (!type->needs_other)
        return 0.0;
    size_t needed = (size_t)((ptrdiff_t)pass + type->needs);
    return evaluation->start[needed] + problem->type[problem->type_of[needed]].seconds + type->lag;
}

/* Returns the longest tail of the passes that need this one's result. */
static double tail_behind(const struct evaluation *evaluation, uint32_t pass)
{
    const struct search_problem *problem = evaluation->problem;
    const struct search_type *type = &problem->type[problem->type_of[pass]];
    size_t microbatches = (size_t)problem->microbatches, row = (size_t)problem->stages * microbatches;
    if (type->kind == PASS_WEIGHT)
        return -HUGE_VAL;
    if (type->kind == PASS_FORWARD) {
        size_t then = (int)type->stage + 1 < problem->stages ? pass + microbatches : pass + row;
        return problem->type[problem->type_of[then]].lag + evaluation->tail[then];
    }
    double tail = evaluation->tail[pass + row];
    if (type->stage > 0) {
        size_t then = pass - microbatches;
        tail = search_max(tail, problem->type[problem->type_of[then]].lag + evaluation->tail[then]);
    }
    return tail;
}

/* Walks a longest path from its end. Returns its length in passes; *path holds places, the last pass
 * first. */
static size_t find_path(struct tabu *tabu)
{
    struct evaluation *evaluation = tabu->evaluation;
    const struct search_problem *problem = evaluation->problem;
    int chosen = -1;
    uint32_t ties = 0;
    for (int device = 0; device < problem->devices; device++) {
        double late = evaluation->end[device] - evaluation_due(evaluation, device);
        if (late > evaluation->length - problem->hair && draw(tabu, ++ties) == 0)
            chosen = device;
    }
    size_t place = problem->first[chosen + 1] - 1, length = 0;
    while (true) {
        tabu->path[length++] = (uint32_t)place;
        uint32_t pass = tabu->sequence[place];
        const struct search_type *type = type_at(tabu, place);
        double start = evaluation->start[pass];
        bool by_input = type->needs_other && arrival_of(evaluation, pass) > start - problem->hair;
        bool by_device = false;
        if (place > problem->first[type->device]) {
            const struct search_type *before = type_at(tabu, place - 1);
            double end = evaluation->start[tabu->sequence[place - 1]] + before->seconds + before->after;
            by_device = end + type->before > start - problem->hair;
        }
        if (!by_input && !by_device)
            return length;
        if (by_device && (!by_input || draw(tabu, 2) == 0))
            place--;
        else
            place = evaluation->place[(size_t)((ptrdiff_t)pass + type->needs)];
    }
}

/* True: the pass may not go past another on the same device: they are of one type, or one needs the other. */
static bool ordered(const struct search_problem *problem, uint32_t first, uint32_t second)
{
    if (problem->type_of[first] == problem->type_of[second])
        return true;
    const struct search_type *type = &problem->type[problem->type_of[second]];
    return type->needs_other && (ptrdiff_t)second + type->needs == (ptrdiff_t)first;
}

/* True: a move keeps the sequence valid, as far as the moved part can tell. */
static bool allowed(const struct tabu *tabu, size_t from, size_t to)
{
    const struct search_problem *problem = tabu->evaluation->problem;
    const struct evaluation *evaluation = tabu->evaluation;
    uint32_t moved = tabu->sequence[from];
    const struct search_type *type = type_at(tabu, from);
    if (to < from) {
        double arrival = arrival_of(evaluation, moved);
        for (size_t place = to; place < from; place++)
            if (ordered(problem, tabu->sequence[place], moved))
                return false;
        /* the input must not come from a pass that waits for one of those it goes past */
        const struct search_type *past = type_at(tabu, to);
        return arrival - type->lag <= evaluation->start[tabu->sequence[to]] + past->seconds + problem->hair;
    }
    double tail = tail_behind(evaluation, moved);
    for (size_t place = from + 1; place <= to; place++)
        if (ordered(problem, moved, tabu->sequence[place]))
            return false;
    return tail <= evaluation->tail[tabu->sequence[to]] + problem->hair;
}

/* Memory that is kept before a place of its device. */
static double kept_before(const struct tabu *tabu, size_t place)
{
    double kept = 0.0;
    for (size_t i = tabu->evaluation->problem->first[type_at(tabu, place)->device]; i < place; i++) {
        const struct search_type *type = type_at(tabu, i);
        kept += type->takes - type->frees;
    }
    return kept;
}

/* Returns the type at a place after a move. */
static size_t moved_place(size_t from, size_t to, size_t place)
{
    if (place == to)
        return from;
    return to < from ? place - 1 : place + 1;
}

static bool memory_fits(const struct tabu *tabu, size_t from, size_t to, double kept)
{
    const struct search_problem *problem = tabu->evaluation->problem;
    size_t low = from < to ? from : to, high = from < to ? to : from;
    for (size_t place = low; place <= high; place++) {
        const struct search_type *type = type_at(tabu, moved_place(from, to, place));
        kept += type->takes;
        if (kept > problem->memory)
            return false;
        kept -= type->frees;
    }
    return true;
}

/* Estimates the length of the longest path through the moved part. */
static double estimate(struct tabu *tabu, size_t from, size_t to)
{
    const struct evaluation *evaluation = tabu->evaluation;
    const struct search_problem *problem = evaluation->problem;
    size_t low = from < to ? from : to, high = from < to ? to : from;
    int device = type_at(tabu, from)->device;
    double clock = 0.0, value = -HUGE_VAL;
    if (low > problem->first[device]) {
        const struct search_type *before = type_at(tabu, low - 1);
        clock = evaluation->start[tabu->sequence[low - 1]] + before->seconds + before->after;
    }
    for (size_t place = low; place <= high; place++) {
        size_t old = moved_place(from, to, place);
        const struct search_type *type = type_at(tabu, old);
        double end =
            search_max(clock + type->before, arrival_of(evaluation, tabu->sequence[old])) + type->seconds;
        tabu->end[place - low] = end;
        clock = end + type->after;
    }
    double behind = -evaluation_due(evaluation, device);
    if (high + 1 < problem->first[device + 1])
        behind = type_at(tabu, high + 1)->before + evaluation->tail[tabu->sequence[high + 1]];
    for (size_t place = high + 1; place-- > low;) {
        size_t old = moved_place(from, to, place);
        const struct search_type *type = type_at(tabu, old);
        double tail =
            search_max(behind + (high + 1 < problem->first[device + 1] || place < high ? type->after : 0.0),
                       tail_behind(evaluation, tabu->sequence[old]));
        value = search_max(value, tabu->end[place - low] + tail);
        behind = tail + type->seconds + type->before;
    }
    return value;
}

static void consider(struct tabu *tabu, size_t from, size_t to, double kept, double best_length,
                     struct move *best, uint32_t *ties)
{
    const struct search_problem *problem = tabu->evaluation->problem;
    if (from == to || !allowed(tabu, from, to) || !memory_fits(tabu, from, to, kept))
        return;
    double value = estimate(tabu, from, to);
    uint32_t pass = tabu->sequence[from];
    int8_t direction = to < from ? -1 : 1;
    bool forbidden =
        !tabu->any && tabu->forbidden[pass] > tabu->iteration && tabu->direction[pass] != direction;
    if (forbidden && value > best_length - problem->hair)
        return;
    if (value > best->value + problem->hair)
        return;
    if (value > best->value - problem->hair) {
        if (draw(tabu, ++*ties) != 0)
            return;
    } else {
        *ties = 1;
    }
    *best = (struct move){.from = from, .to = to, .value = value};
}

/* Considers the moves of a block at places low .. high. The path enters it at `low` by an input if `entered`,
 * and leaves it at `high` with a result if `left`. */
static void consider_block(struct tabu *tabu, size_t low, size_t high, bool entered, bool left,
                           double best_length, struct move *best, uint32_t *ties)
{
    if (low == high)
        return;
    if (entered) {
        double kept = kept_before(tabu, low);
        size_t end = high - low > REACH ? low + REACH : high;
        for (size_t place = low + 1; place <= end; place++) {
            consider(tabu, place, low, kept, best_length, best, ties);
            if (place > low + 1)
                consider(tabu, low, place, kept, best_length, best, ties);
        }
        if (end > low)
            consider(tabu, low, low + 1, kept, best_length, best, ties);
    }
    if (!left)
        return;
    size_t begin = high - low > REACH ? high - REACH : low;
    double kept = kept_before(tabu, begin);
    for (size_t place = begin; place < high; place++) {
        consider(tabu, place, high, kept, best_length, best, ties);
        consider(tabu, high, place, kept, best_length, best, ties);
        const struct search_type *type = type_at(tabu, place);
        kept += type->takes - type->frees;
    }
}

static struct move choose(struct tabu *tabu, double best_length)
{
    struct move best = {.value = HUGE_VAL};
    uint32_t ties = 0;
    size_t length = find_path(tabu);
    for (size_t i = 0; i < length;) {
        size_t high = tabu->path[i], low = high, next = i + 1;
        while (next < length && tabu->path[next] + 1 == low &&
               type_at(tabu, tabu->path[next])->device == type_at(tabu, low)->device)
            low = tabu->path[next++];
        consider_block(tabu, low, high, next<length, i> 0, best_length, &best, &ties);
        i = next;
    }
    return best;
}

static void apply(uint32_t *sequence, size_t from, size_t to)
{
    uint32_t moved = sequence[from];
    if (to < from)
        memmove(&sequence[to + 1], &sequence[to], (from - to) * sizeof *sequence);
    else
        memmove(&sequence[from], &sequence[from + 1], (to - from) * sizeof *sequence);
    sequence[to] = moved;
}

void tabu_kick(struct tabu *tabu, uint32_t *sequence, int swaps)
{
    const struct search_problem *problem = tabu->evaluation->problem;
    memcpy(tabu->sequence, sequence, problem->passes * sizeof *sequence);
    if (!evaluate_starts(tabu->evaluation, tabu->sequence))
        return;
    evaluate_tails(tabu->evaluation, tabu->sequence);
    for (int tries = 0; swaps > 0 && tries < 100 * swaps && !stop_wanted(); tries++) {
        size_t place = draw(tabu, (uint32_t)problem->passes - 1);
        if (type_at(tabu, place)->device != type_at(tabu, place + 1)->device ||
            !allowed(tabu, place, place + 1) ||
            !memory_fits(tabu, place, place + 1, kept_before(tabu, place)))
            continue;
        apply(tabu->sequence, place, place + 1);
        if (evaluate_starts(tabu->evaluation, tabu->sequence)) {
            evaluate_tails(tabu->evaluation, tabu->sequence);
            swaps--;
        } else {
            apply(tabu->sequence, place + 1, place);
            evaluate_starts(tabu->evaluation, tabu->sequence);
        }
    }
    memcpy(sequence, tabu->sequence, problem->passes * sizeof *sequence);
}

void tabu_improve(struct tabu *tabu, uint32_t *sequence, double *value, double *secondary, double target,
                  int64_t effort, int patience)
{
    struct evaluation *evaluation = tabu->evaluation;
    const struct search_problem *problem = evaluation->problem;
    size_t bytes = problem->passes * sizeof *sequence;
    memcpy(tabu->sequence, sequence, bytes);
    if (!evaluate_starts(evaluation, tabu->sequence))
        return;
    for (size_t i = 0; i < problem->passes; i++)
        tabu->forbidden[i] = 0;
    tabu->iteration = 0;
    double best_length = evaluation->length;
    for (int idle = 0;
         idle<patience && * value> target + problem->hair && evaluation->evaluated < effort && !stop_wanted();
         idle++) {
        progress_tell("%.0f %% of a search", 100.0 * (double)evaluation->evaluated / (double)effort);
        tabu->iteration++;
        evaluate_tails(evaluation, tabu->sequence);
        struct move move = choose(tabu, best_length);
        for (int again = 0; again < CHOICES && move.value == HUGE_VAL; again++) {
            tabu->any = true;
            move = choose(tabu, best_length);
        }
        tabu->any = false;
        if (move.value == HUGE_VAL)
            break; /* longest paths without a move: no order is shorter, or all moves lack memory */
        uint32_t pass = tabu->sequence[move.from];
        apply(tabu->sequence, move.from, move.to);
        tabu->forbidden[pass] = tabu->iteration + TENURE + draw(tabu, TENURE_ADD);
        tabu->direction[pass] = move.to < move.from ? -1 : 1;
        if (!evaluate_starts(evaluation, tabu->sequence)) {
            apply(tabu->sequence, move.to, move.from);
            evaluate_starts(evaluation, tabu->sequence);
            continue;
        }
        if (evaluation_better(problem, evaluation->value, evaluation->secondary, *value, *secondary)) {
            best_length = search_min(best_length, evaluation->length);
            if (evaluation->value < *value - problem->hair)
                idle = 0;
            *value = evaluation->value;
            *secondary = evaluation->secondary;
            memcpy(sequence, tabu->sequence, bytes);
        }
    }
}
