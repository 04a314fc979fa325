#include "schedule/search/evaluate.h"

#include <math.h>
#include <stdlib.h>

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

void evaluate_tails(struct evaluation *evaluation, const uint32_t *sequence)
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
