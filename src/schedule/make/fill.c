#include "schedule/make/fill.h"

#include "core/heap.h"

#include <math.h>
#include <stdlib.h>

#define UNKNOWN INFINITY

struct event {
    double time;
    int device;
};

struct filled_stage {
    int forward, back; /* next micro-batch */
};

struct filled_device {
    double clock;  /* until which it is busy */
    double kept;   /* memory */
    size_t end;    /* of its passes in `passes` */
    size_t weight; /* next W, and their end, in `weights` */
    size_t weight_end;
    size_t at;         /* next pass of the sequence */
    bool forward_last; /* its last pass but weights was a forward pass */
};

struct filling {
    const struct fill_rules *rules;
    const struct pass_cost *costs;
    const struct pass_order *order;
    struct filled_device *devices;
    struct filled_stage *stages;
    int *first_stage, *stage_list;        /* stages of each device, later ones first */
    double *arrive_forward, *arrive_back; /* of inputs, [stage][micro-batch] */
    struct pass *passes;                  /* room for each device's */
    struct pass *weights;                 /* the same, for W that were put off */
    struct event *events;
    size_t event_count, event_capacity;
    size_t *room; /* where each device's part of `passes` and `weights` begins */
};

/* A pass that a device may take next. */
struct candidate {
    int stage;
    enum pass_kind kind;
    double ready; /* when its input is there */
    bool fits;    /* into the memory */
};

static bool earlier(const void *a, const void *b, const void *context)
{
    const struct event *x = a, *y = b;
    (void)context;
    return x->time < y->time || (x->time <= y->time && x->device < y->device);
}

static bool push(struct filling *f, double time, int device)
{
    if (f->event_count == f->event_capacity) {
        size_t capacity = 2 * f->event_capacity + 64;
        struct event *events = realloc(f->events, capacity * sizeof *events);
        if (events == NULL)
            return false;
        f->events = events;
        f->event_capacity = capacity;
    }
    f->events[f->event_count++] = (struct event){time, device};
    heap_push(f->events, f->event_count, sizeof *f->events, earlier, NULL);
    return true;
}

static size_t slot(const struct filling *f, int stage, int microbatch)
{
    return (size_t)stage * (size_t)f->order->microbatches + (size_t)microbatch;
}

static struct candidate forward_candidate(const struct filling *f, int device, int stage)
{
    struct candidate found = {.stage = stage, .kind = PASS_FORWARD, .ready = UNKNOWN};
    int microbatch = f->stages[stage].forward;
    if (microbatch == f->order->microbatches)
        return found;
    found.ready =
        pass_order_before(f->order, stage) < 0 ? 0.0 : f->arrive_forward[slot(f, stage, microbatch)];
    double needed = f->devices[device].kept;
    for (int i = f->first_stage[device]; i < f->first_stage[device + 1] && f->stage_list[i] >= stage; i++)
        needed += f->costs[f->stage_list[i]].kept;
    found.fits = needed <= f->rules->memory[device] * (1 + 1e-12);
    return found;
}

static struct candidate back_candidate(const struct filling *f, int stage)
{
    struct candidate found = {
        .stage = stage, .kind = f->rules->split ? PASS_INPUT : PASS_BACKWARD, .ready = UNKNOWN, .fits = true};
    int microbatch = f->stages[stage].back;
    if (microbatch < f->stages[stage].forward)
        found.ready =
            pass_order_after(f->order, stage) < 0 ? 0.0 : f->arrive_back[slot(f, stage, microbatch)];
    return found;
}

/* Returns whether to take `a` rather than `b`, which both are ready. */
static bool preferred(const struct filling *f, int device, const struct candidate *a,
                      const struct candidate *b)
{
    enum fill_choice choice = f->rules->choice;
    if (choice == FILL_OLDEST) {
        int of_a = a->kind == PASS_FORWARD ? f->stages[a->stage].forward : f->stages[a->stage].back;
        int of_b = b->kind == PASS_FORWARD ? f->stages[b->stage].forward : f->stages[b->stage].back;
        if (of_a != of_b)
            return of_a < of_b;
    }
    bool forward_first =
        choice == FILL_FORWARD_FIRST || (choice == FILL_ALTERNATE && !f->devices[device].forward_last);
    if ((a->kind == PASS_FORWARD) != (b->kind == PASS_FORWARD))
        return (a->kind == PASS_FORWARD) == forward_first;
    return a->stage > b->stage;
}

/* Returns the candidate to take at a time, or one that is not ready yet, the earliest, or one that lacks memory. */
static struct candidate choose(const struct filling *f, int device, double now)
{
    struct candidate best = {.stage = -1, .ready = UNKNOWN}, blocked = best;
    for (int i = f->first_stage[device]; i < f->first_stage[device + 1]; i++) {
        struct candidate found[2] = {forward_candidate(f, device, f->stage_list[i]),
                                     back_candidate(f, f->stage_list[i])};
        for (int k = 0; k < 2; k++) {
            if (found[k].ready >= UNKNOWN)
                continue;
            if (!found[k].fits)
                blocked = found[k].ready < blocked.ready ? found[k] : blocked;
            else if (best.stage < 0 ||
                     (found[k].ready <= now &&
                      (best.ready > now || preferred(f, device, &found[k], &best))) ||
                     (found[k].ready > now && found[k].ready < best.ready))
                best = found[k];
        }
    }
    return best.stage >= 0 && (best.ready <= now || blocked.ready > now) ? best
           : blocked.stage >= 0                                          ? blocked
                                                                         : best;
}

static struct candidate next_of_sequence(struct filling *f, int device)
{
    const struct pass_order *sequence = f->rules->sequence;
    struct filled_device *own = &f->devices[device];
    while (own->at < sequence->first[device + 1] && sequence->passes[own->at].kind == PASS_WEIGHT)
        own->at++;
    if (own->at == sequence->first[device + 1])
        return (struct candidate){.stage = -1, .ready = UNKNOWN};
    const struct pass *pass = &sequence->passes[own->at];
    if (pass->kind != PASS_FORWARD)
        return back_candidate(f, pass->stage);
    struct candidate found = forward_candidate(f, device, pass->stage);
    found.fits = own->kept + f->costs[pass->stage].kept <= f->rules->memory[device] * (1 + 1e-12);
    return found;
}

/* Sends the result of a pass on: it arrives at another stage. */
static bool arrive(struct filling *f, int from, int to, double *arrivals, int microbatch, double end,
                   double send)
{
    if (to < 0)
        return true;
    int device = f->order->device_of[to];
    double time = f->order->device_of[from] == device ? end : end + send;
    arrivals[slot(f, to, microbatch)] = time;
    return push(f, time, device);
}

static bool take_weight(struct filling *f, int device, double now)
{
    struct filled_device *own = &f->devices[device];
    const struct pass pass = f->weights[own->weight++];
    f->passes[own->end++] = pass;
    own->kept -= f->costs[pass.stage].kept_for_weight;
    own->clock = now + f->costs[pass.stage].weight;
    return push(f, own->clock, device);
}

static bool take(struct filling *f, int device, const struct candidate *chosen, double now)
{
    struct filled_device *own = &f->devices[device];
    struct filled_stage *stage = &f->stages[chosen->stage];
    const struct pass_cost *cost = &f->costs[chosen->stage];
    bool forward = chosen->kind == PASS_FORWARD;
    int microbatch = forward ? stage->forward++ : stage->back++;
    const struct pass pass = {
        .microbatch = (uint32_t)microbatch, .stage = (uint16_t)chosen->stage, .kind = (uint8_t)chosen->kind};
    f->passes[own->end++] = pass;
    own->at++;
    own->forward_last = forward;
    own->clock = now + (forward ? cost->forward : cost->input);
    if (forward) {
        own->kept += cost->kept;
        return push(f, own->clock, device) &&
               arrive(f, chosen->stage, pass_order_after(f->order, chosen->stage), f->arrive_forward,
                      microbatch, own->clock, cost->send_forward);
    }
    if (chosen->kind == PASS_INPUT) {
        f->weights[own->weight_end] = pass;
        f->weights[own->weight_end++].kind = PASS_WEIGHT;
        own->kept -= cost->kept - cost->kept_for_weight;
    } else {
        own->clock += cost->weight;
        own->kept -= cost->kept;
    }
    return push(f, own->clock, device) && arrive(f, chosen->stage, pass_order_before(f->order, chosen->stage),
                                                 f->arrive_back, microbatch, own->clock, cost->send_backward);
}

/* Lets a device begin a pass at a time, if there is one to begin. Returns false without memory. */
static bool go_on(struct filling *f, int device, double now)
{
    struct filled_device *own = &f->devices[device];
    if (now < own->clock)
        return true;
    struct candidate chosen =
        f->rules->choice == FILL_SEQUENCE ? next_of_sequence(f, device) : choose(f, device, now);
    if (chosen.stage >= 0 && chosen.fits && chosen.ready <= now)
        return take(f, device, &chosen, now);
    if (own->weight == own->weight_end)
        return true; /* an arrival will wake it */
    double weight = f->costs[f->weights[own->weight].stage].weight;
    bool waits = chosen.fits && chosen.ready < now + f->rules->patience * weight;
    return waits || take_weight(f, device, now);
}

/* Lists the stages of each device, later ones first. */
static void list_stages(struct filling *f)
{
    const struct pass_order *order = f->order;
    for (int stage = 0; stage < order->stages; stage++)
        f->first_stage[order->device_of[stage] + 1]++;
    for (int device = 0; device < order->devices; device++)
        f->first_stage[device + 1] += f->first_stage[device];
    for (int stage = 0; stage < order->stages; stage++)
        f->stage_list[--f->first_stage[order->device_of[stage] + 1]] = stage;
    /* that left the beginning of device d in entry d + 1 */
    for (int device = 0; device < order->devices; device++)
        f->first_stage[device] = f->first_stage[device + 1];
    f->first_stage[order->devices] = order->stages;
    size_t of_stage = (size_t)order->microbatches * (f->rules->split ? 3 : 2);
    for (int device = 0; device < order->devices; device++) {
        f->room[device] = (size_t)f->first_stage[device] * of_stage;
        f->devices[device] = (struct filled_device){
            .end = f->room[device], .weight = f->room[device], .weight_end = f->room[device]};
        if (f->rules->sequence != NULL)
            f->devices[device].at = f->rules->sequence->first[device];
    }
}

static bool prepare(struct filling *f, struct error *err)
{
    const struct pass_order *order = f->order;
    size_t devices = (size_t)order->devices, stages = (size_t)order->stages;
    size_t slots = stages * (size_t)order->microbatches, room = slots * (f->rules->split ? 3 : 2);
    f->devices = calloc(devices, sizeof *f->devices);
    f->stages = calloc(stages, sizeof *f->stages);
    f->first_stage = calloc(devices + 2, sizeof *f->first_stage);
    f->stage_list = calloc(stages, sizeof *f->stage_list);
    f->arrive_forward = malloc(slots * sizeof *f->arrive_forward);
    f->arrive_back = malloc(slots * sizeof *f->arrive_back);
    f->passes = calloc(room, sizeof *f->passes);
    f->weights = malloc(room * sizeof *f->weights);
    f->room = calloc(devices, sizeof *f->room);
    if (f->devices == NULL || f->stages == NULL || f->first_stage == NULL || f->stage_list == NULL ||
        f->arrive_forward == NULL || f->arrive_back == NULL || f->passes == NULL || f->weights == NULL ||
        f->room == NULL)
        return error_memory(err);
    for (size_t i = 0; i < slots; i++)
        f->arrive_forward[i] = f->arrive_back[i] = UNKNOWN;
    list_stages(f);
    for (int device = 0; device < order->devices; device++)
        if (!push(f, 0.0, device))
            return error_memory(err);
    return true;
}

static bool play(struct filling *f, struct error *err)
{
    while (f->event_count > 0) {
        heap_pop(f->events, f->event_count, sizeof *f->events, earlier, NULL);
        const struct event next = f->events[--f->event_count];
        if (!go_on(f, next.device, next.time))
            return error_memory(err);
    }
    for (int stage = 0; stage < f->order->stages; stage++)
        if (f->stages[stage].back < f->order->microbatches)
            return error_set(err, ERROR_INFEASIBLE, "the memory of device %u does not hold one micro-batch",
                             (unsigned)f->order->device_of[stage]);
    return true;
}

bool fill_order(const struct fill_rules *rules, const struct pass_cost *costs, struct pass_order *order,
                struct error *err)
{
    struct filling f = {.rules = rules, .costs = costs, .order = order};
    bool filled = prepare(&f, err) && play(&f, err);
    for (int device = 0; filled && device < order->devices; device++) {
        for (size_t i = f.room[device]; filled && i < f.devices[device].end; i++)
            filled = pass_order_add(order, f.passes[i].kind, f.passes[i].stage, (int)f.passes[i].microbatch,
                                    false, err);
        pass_order_next_device(order);
    }
    free(f.devices);
    free(f.stages);
    free(f.first_stage);
    free(f.stage_list);
    free(f.arrive_forward);
    free(f.arrive_back);
    free(f.passes);
    free(f.weights);
    free(f.events);
    free(f.room);
    return filled;
}
