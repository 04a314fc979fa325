#include "schedule/search/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RELATIVE_HAIR 1e-10

static double seconds_of(const struct pass_cost *cost, int kind)
{
    return kind == PASS_FORWARD ? cost->forward : kind == PASS_INPUT ? cost->input : cost->weight;
}

/* Sets the needed pass of a type, and the time of the way from there. */
static void set_need(struct search_problem *problem, struct search_type *type, bool receive_blocks)
{
    int stage = type->stage, last = problem->stages - 1, from = stage;
    ptrdiff_t count = problem->microbatches, row = (ptrdiff_t)problem->stages * count;
    double send = 0.0;
    if (type->kind == PASS_FORWARD) {
        type->needs_other = stage > 0;
        type->needs = -count;
        from = stage > 0 ? stage - 1 : stage;
        send = problem->costs[from].send_forward;
    } else if (type->kind == PASS_INPUT) {
        type->needs_other = true;
        type->needs = stage < last ? count : -row;
        from = stage < last ? stage + 1 : stage;
        send = problem->costs[from].send_backward;
    } else {
        type->needs_other = true;
        type->needs = -row;
    }
    if (problem->device_of[from] == type->device)
        return;
    type->lag = send;
    type->before = receive_blocks ? send : 0.0;
}

static void set_type(struct search_problem *problem, int kind, int stage, const struct timing_options *timing)
{
    const struct pass_cost *cost = &timing->costs[stage];
    struct search_type *type = &problem->type[kind * problem->stages + stage];
    *type = (struct search_type){.kind = (uint8_t)kind, .stage = (uint16_t)stage};
    type->device = problem->device_of[stage];
    type->seconds = seconds_of(cost, kind);
    type->takes = kind == PASS_FORWARD ? cost->kept : 0.0;
    if (kind != PASS_FORWARD)
        type->frees = kind == PASS_WEIGHT ? cost->kept_for_weight : cost->kept - cost->kept_for_weight;
    set_need(problem, type, timing->send_blocks || timing->receive_blocks);
    if (!timing->send_blocks || kind == PASS_WEIGHT)
        return;
    int to = kind == PASS_FORWARD ? stage + 1 : stage - 1;
    if (to >= 0 && to < problem->stages && problem->device_of[to] != type->device)
        type->after = kind == PASS_FORWARD ? cost->send_forward : cost->send_backward;
}

static void list_stages(struct search_problem *problem)
{
    int *first = problem->first_stage;
    for (int stage = 0; stage < problem->stages; stage++)
        first[problem->device_of[stage] + 1]++;
    for (int device = 0; device < problem->devices; device++)
        first[device + 1] += first[device];
    for (int stage = 0; stage < problem->stages; stage++)
        problem->stages_of[first[problem->device_of[stage]]++] = stage;
    for (int device = problem->devices; device > 0; device--)
        first[device] = first[device - 1];
    first[0] = 0;
}

/* A micro-batch must fit on each device, else no order exists. */
static bool check_memory(const struct search_problem *problem, double memory, struct error *err)
{
    for (int device = 0; device < problem->devices; device++) {
        double need = 0.0;
        for (int i = problem->first_stage[device]; i < problem->first_stage[device + 1]; i++)
            need += problem->costs[problem->stages_of[i]].kept;
        if (need > problem->memory)
            return error_set(err, ERROR_INFEASIBLE,
                             "device %d: one micro-batch keeps %g, and the limit of memory is %g", device,
                             need, memory);
    }
    return true;
}

bool search_problem_init(struct search_problem *problem, int devices, int stages, int microbatches,
                         const uint16_t *device_of, const struct timing_options *timing, double memory,
                         struct error *err)
{
    *problem = (struct search_problem){.devices = devices,
                                       .stages = stages,
                                       .microbatches = microbatches,
                                       .types = SEARCH_KINDS * stages,
                                       .costs = timing->costs};
    if (stages > SEARCH_MAX_STAGES)
        return error_set(err, ERROR_INPUT, "a search over %d stages: expected 1 to %d", stages,
                         SEARCH_MAX_STAGES);
    problem->passes = (size_t)problem->types * (size_t)microbatches;
    if (problem->passes > SEARCH_MAX_PASSES)
        return error_set(err, ERROR_INPUT, "a search over %zu passes: expected at most %d", problem->passes,
                         SEARCH_MAX_PASSES);
    problem->memory = memory > 0.0 ? memory * (1.0 + 1e-9) : HUGE_VAL;
    problem->type = calloc((size_t)problem->types, sizeof *problem->type);
    problem->type_of = malloc(problem->passes * sizeof *problem->type_of);
    problem->device_of = calloc((size_t)stages, sizeof *problem->device_of);
    problem->stages_of = calloc((size_t)stages, sizeof *problem->stages_of);
    problem->first_stage = calloc((size_t)devices + 1, sizeof *problem->first_stage);
    problem->first = calloc((size_t)devices + 1, sizeof *problem->first);
    problem->work = calloc((size_t)devices, sizeof *problem->work);
    if (problem->type == NULL || problem->type_of == NULL || problem->device_of == NULL ||
        problem->stages_of == NULL || problem->first_stage == NULL || problem->first == NULL ||
        problem->work == NULL)
        return error_memory(err);
    memcpy(problem->device_of, device_of, (size_t)stages * sizeof *problem->device_of);
    list_stages(problem);
    double total = 0.0;
    for (int i = 0; i < problem->types; i++) {
        set_type(problem, i / stages, i % stages, timing);
        const struct search_type *type = &problem->type[i];
        problem->work[type->device] += type->seconds * microbatches;
        total += type->seconds + type->lag;
        for (int k = 0; k < microbatches; k++)
            problem->type_of[(size_t)i * (size_t)microbatches + (size_t)k] = (uint16_t)i;
    }
    problem->hair = RELATIVE_HAIR * total * microbatches;
    for (int device = 0; device < devices; device++) {
        int held = problem->first_stage[device + 1] - problem->first_stage[device];
        problem->first[device + 1] =
            problem->first[device] + (size_t)held * SEARCH_KINDS * (size_t)microbatches;
    }
    return check_memory(problem, memory, err);
}

void search_problem_release(struct search_problem *problem)
{
    free(problem->type);
    free(problem->type_of);
    free(problem->device_of);
    free(problem->stages_of);
    free(problem->first_stage);
    free(problem->first);
    free(problem->work);
    *problem = (struct search_problem){.devices = 0};
}

bool search_fits(const struct search_problem *problem, const uint32_t *sequence)
{
    for (int device = 0; device < problem->devices; device++) {
        double kept = 0.0;
        for (size_t i = problem->first[device]; i < problem->first[device + 1]; i++) {
            const struct search_type *type = &problem->type[problem->type_of[sequence[i]]];
            kept += type->takes;
            if (kept > problem->memory)
                return false;
            kept -= type->frees;
        }
    }
    return true;
}
