#include "schedule/search/list.h"

#include <math.h>
#include <stdlib.h>

struct list_device {
    double clock;          /* of its next decision; HUGE_VAL: none before a result arrives */
    double free;           /* end of its last pass */
    double used, inflight; /* memory: all, and between forward and input pass */
    size_t place;
    int pending; /* weight passes */
    bool forward_last;
};

struct list_state {
    const struct search_problem *problem;
    struct list_device *device;
    int *done;   /* of each type */
    double *end; /* of each pass; of those that have begun */
};

/* A pass that a device may choose. */
struct choice {
    int type; /* -1: none */
    double start;
};

struct list_state *list_state_make(const struct search_problem *problem, struct error *err)
{
    struct list_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return error_memory_null(err);
    state->problem = problem;
    state->device = malloc((size_t)problem->devices * sizeof *state->device);
    state->done = malloc((size_t)problem->types * sizeof *state->done);
    state->end = malloc(problem->passes * sizeof *state->end);
    if (state->device == NULL || state->done == NULL || state->end == NULL) {
        list_state_free(state);
        return error_memory_null(err);
    }
    return state;
}

void list_state_free(struct list_state *state)
{
    if (state == NULL)
        return;
    free(state->device);
    free(state->done);
    free(state->end);
    free(state);
}

/* Returns the time at which the next pass of a type can begin; HUGE_VAL: its input is not being made. */
static double start_of(const struct list_state *state, int index)
{
    const struct search_problem *problem = state->problem;
    const struct search_type *type = &problem->type[index];
    double start = state->device[type->device].free + type->before;
    int done = state->done[index];
    if (done == problem->microbatches)
        return HUGE_VAL;
    if (!type->needs_other)
        return start;
    ptrdiff_t pass = (ptrdiff_t)index * problem->microbatches + done;
    size_t needed = (size_t)(pass + type->needs);
    int from = problem->type_of[needed];
    if (state->done[from] <= done)
        return HUGE_VAL;
    return search_max(start, state->end[needed] + type->lag);
}

/* Memory that the oldest micro-batch still needs on a device for its forward passes when that of `stage` is
 * done as well. */
static double reserved(const struct list_state *state, int device, int stage)
{
    const struct search_problem *problem = state->problem;
    const int *stages = &problem->stages_of[problem->first_stage[device]];
    int count = problem->first_stage[device + 1] - problem->first_stage[device];
    int last = stages[count - 1], oldest = state->done[last];
    double need = 0.0;
    for (int i = 0; i < count && stage != last; i++)
        if (state->done[stages[i]] + (stages[i] == stage) <= oldest)
            need += problem->costs[stages[i]].kept;
    return need;
}

static bool fits(const struct list_state *state, const struct list_rules *rules, int device, int stage,
                 bool *full)
{
    const struct list_device *own = &state->device[device];
    double kept = state->problem->costs[stage].kept, need = kept + reserved(state, device, stage);
    if (own->inflight + need > rules->limit[device])
        return false;
    if (own->used + need <= state->problem->memory)
        return true;
    *full = true;
    return false;
}

static void choose(const struct list_state *state, const struct list_rules *rules, int device, double now,
                   struct choice *forward, struct choice *input, struct choice *weight, bool *full)
{
    const struct search_problem *problem = state->problem;
    int stages = problem->stages;
    *forward = *input = *weight = (struct choice){.type = -1, .start = HUGE_VAL};
    *full = false;
    for (int i = problem->first_stage[device]; i < problem->first_stage[device + 1]; i++) {
        int stage = problem->stages_of[i];
        int types[SEARCH_KINDS] = {stage, stages + stage, 2 * stages + stage};
        double start = search_max(start_of(state, types[PASS_FORWARD]), now);
        bool blocked = false;
        bool later = rules->late_forward && start <= now + problem->type[types[PASS_FORWARD]].before;
        if (start < HUGE_VAL && (start < forward->start || later)) {
            if (fits(state, rules, device, stage, &blocked))
                *forward = (struct choice){.type = types[PASS_FORWARD], .start = start};
            *full |= blocked && start <= now + problem->type[types[PASS_FORWARD]].before;
        }
        start = search_max(start_of(state, types[PASS_INPUT]), now);
        later = !rules->early_input && start <= now + problem->type[types[PASS_INPUT]].before;
        if (start < HUGE_VAL && (start < input->start || later))
            *input = (struct choice){.type = types[PASS_INPUT], .start = start};
        if (state->done[types[PASS_WEIGHT]] < state->done[types[PASS_INPUT]] &&
            (weight->type < 0 || !rules->early_input))
            *weight = (struct choice){.type = types[PASS_WEIGHT], .start = now};
    }
}

static bool ready(const struct search_problem *problem, const struct choice *choice, double now)
{
    return choice->type >= 0 && choice->start <= now + problem->type[choice->type].before + problem->hair;
}

/* Returns the type of the pass that a device begins, or -1: it waits until *clock. */
static int decide(const struct list_state *state, const struct list_rules *rules, int device, double *clock)
{
    const struct search_problem *problem = state->problem;
    const struct list_device *own = &state->device[device];
    struct choice forward, input, weight;
    bool full;
    double now = *clock;
    choose(state, rules, device, now, &forward, &input, &weight, &full);
    bool forward_ready = ready(problem, &forward, now), input_ready = ready(problem, &input, now);
    if (forward_ready && weight.type >= 0 && own->pending > rules->backlog)
        forward_ready = false, full = true;
    if (input_ready) {
        if (full && weight.type >= 0 && rules->weight_before_input)
            return weight.type;
        bool forward_first =
            rules->first == LIST_FORWARD_FIRST || (rules->first == LIST_ALTERNATE && !own->forward_last);
        return forward_ready && forward_first ? forward.type : input.type;
    }
    if (full && !forward_ready && weight.type >= 0)
        return weight.type;
    if (forward_ready) {
        double gap = input.start - now, length = problem->type[forward.type].seconds;
        bool waits = rules->first != LIST_FORWARD_FIRST && gap < rules->wait * length;
        if (!waits)
            return forward.type;
    }
    double next = input.type < 0 ? HUGE_VAL : input.start - problem->type[input.type].before;
    if (forward.type >= 0 && !forward_ready)
        next = search_min(next, forward.start - problem->type[forward.type].before);
    if (weight.type >= 0) {
        double length = problem->type[weight.type].seconds;
        if (now + length <= next + rules->overrun * length + problem->hair)
            return weight.type;
    }
    *clock = next;
    return -1;
}

/* Begins a pass: notes its end, and wakes the device that waits for it. */
static void begin(struct list_state *state, int index, double now, uint32_t *sequence)
{
    const struct search_problem *problem = state->problem;
    const struct search_type *type = &problem->type[index];
    struct list_device *own = &state->device[type->device];
    double start = search_max(start_of(state, index), now), kept = problem->costs[type->stage].kept;
    uint32_t pass = (uint32_t)((size_t)index * (size_t)problem->microbatches + (size_t)state->done[index]);
    state->end[pass] = start + type->seconds;
    state->done[index]++;
    sequence[own->place++] = pass;
    own->free = own->clock = start + type->seconds + type->after;
    own->used += type->takes - type->frees;
    own->pending += type->kind == PASS_INPUT ? 1 : type->kind == PASS_WEIGHT ? -1 : 0;
    if (type->kind == PASS_WEIGHT)
        return;
    bool forward = type->kind == PASS_FORWARD;
    own->forward_last = forward;
    own->inflight += forward ? kept : -kept;
    int to = forward ? type->stage + 1 : type->stage - 1;
    if (to < 0 || to >= problem->stages || problem->device_of[to] == type->device)
        return;
    const struct search_type *then = &problem->type[forward ? to : problem->stages + to];
    struct list_device *other = &state->device[then->device];
    other->clock =
        search_min(other->clock, search_max(other->free, state->end[pass] + then->lag - then->before));
}

bool list_schedule(struct list_state *state, const struct list_rules *rules, uint32_t *sequence)
{
    const struct search_problem *problem = state->problem;
    for (int i = 0; i < problem->types; i++)
        state->done[i] = 0;
    for (int device = 0; device < problem->devices; device++)
        state->device[device] = (struct list_device){.place = problem->first[device]};
    for (size_t begun = 0; begun < problem->passes;) {
        int device = 0;
        for (int i = 1; i < problem->devices; i++)
            if (state->device[i].clock < state->device[device].clock)
                device = i;
        double now = state->device[device].clock, clock = now;
        if (now == HUGE_VAL)
            return false;
        int type = decide(state, rules, device, &clock);
        if (type >= 0)
            begun++, begin(state, type, now, sequence);
        else if (clock > now)
            state->device[device].clock = clock;
        else
            return false;
    }
    return true;
}
