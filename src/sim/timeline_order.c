#include "sim/timeline_order.h"

#include "core/heap.h"

#include <stdlib.h>

/* The result of a pass on its way: the task that brings it, and when that ends. */
struct arrival {
    int64_t task;
    double end;
};

struct walker {
    const struct pass_order *order;
    const struct timing_options *options;
    const struct timing *timing;
    const struct timeline_sink *sink;
    struct arrival
        *arrivals[2]; /* of forward and of backward results, by the stage that takes them and micro-batch */
    size_t *next;     /* of each device */
    struct arrival *last; /* task of each device */
    double *kept;         /* of each device */
    struct timeline_part *part;
    struct error *err;
};

/* A device and the begin of its next pass, in the heap. */
struct turn {
    double begin;
    int device;
};

static bool is_before(const void *a, const void *b, const void *context)
{
    const struct turn *one = a, *other = b;
    (void)context;
    return one->begin < other->begin || (one->begin == other->begin && one->device < other->device);
}

static struct arrival *arrival_at(const struct walker *w, bool forward, int stage, uint32_t microbatch)
{
    return &w->arrivals[!forward][(size_t)stage * (size_t)w->order->microbatches + microbatch];
}

static bool give_task(struct walker *w, const struct timeline_task *task)
{
    struct timeline_task given = *task;
    given.id = w->part->next_id++;
    given.device += w->part->device;
    return w->sink->task == NULL || w->sink->task(w->sink->context, &given, w->err);
}

static bool give_memory(const struct walker *w, int device, double time, double change)
{
    struct timeline_memory memory = {.device = 0};
    if (w->part->states != NULL)
        memory = w->part->states[device];
    w->kept[device] += change;
    memory.device = device + w->part->device;
    memory.time = time;
    memory.activations = w->kept[device];
    bool begins = time == 0.0 && w->part->states != NULL;
    return (change == 0.0 && !begins) || w->sink->memory == NULL ||
           w->sink->memory(w->sink->context, &memory, w->err);
}

/* Hands the result of a pass, which is the last task given, to the next stage. */
static bool give_result(struct walker *w, size_t place, double end)
{
    const struct pass *pass = &w->order->passes[place];
    bool forward = pass->kind == PASS_FORWARD;
    int to = forward ? pass_order_after(w->order, pass->stage) : pass_order_before(w->order, pass->stage);
    if (pass->kind == PASS_WEIGHT || to < 0)
        return true;
    const struct pass_cost *cost = &w->options->costs[pass->stage];
    int device = w->order->device_of[pass->stage], other = w->order->device_of[to];
    double seconds = forward ? cost->send_forward : cost->send_backward;
    struct arrival *arrival = arrival_at(w, forward, to, pass->microbatch);
    *arrival = (struct arrival){w->part->next_id - 1, end};
    if (device == other || seconds <= 0.0)
        return true;
    double come = w->timing->came != NULL ? w->timing->came[place] : end + seconds;
    struct timeline_task task = {.cause = w->part->next_id - 1,
                                 .device = device,
                                 .stream = STREAM_SEND,
                                 .kind = TASK_SEND,
                                 .stage = pass->stage,
                                 .layer = -1,
                                 .microbatch = pass->microbatch,
                                 .begin = w->timing->came != NULL ? come - seconds : end,
                                 .end = come,
                                 .message = w->part->next_id,
                                 .peer = other + 1,
                                 .name = forward ? "send of activations" : "send of gradients"};
    if (!give_task(w, &task))
        return false;
    task.device = other;
    task.peer = device + 1;
    task.stream = STREAM_RECEIVE;
    task.kind = TASK_RECEIVE;
    task.stage = to;
    task.name = forward ? "receive of activations" : "receive of gradients";
    *arrival = (struct arrival){w->part->next_id, come};
    return give_task(w, &task);
}

/* Returns the latest of all that a pass waits for. The passes of a pair wait for each other's inputs, too. */
static struct arrival input_of(const struct walker *w, int device, size_t place)
{
    const struct pass *passes = w->order->passes;
    struct arrival input = w->last[device];
    size_t first = place > w->order->first[device] && passes[place - 1].paired ? place - 1 : place;
    for (size_t i = first; i <= first + (passes[first].paired ? 1 : 0); i++) {
        if (passes[i].kind == PASS_WEIGHT)
            continue;
        const struct arrival *arrival =
            arrival_at(w, passes[i].kind == PASS_FORWARD, passes[i].stage, passes[i].microbatch);
        if (arrival->end > input.end)
            input = *arrival;
    }
    return input;
}

static bool give_pass(struct walker *w, int device, size_t place)
{
    static const enum timeline_kind kinds[PASS_KINDS] = {TASK_FORWARD, TASK_INPUT, TASK_WEIGHT,
                                                         TASK_BACKWARD};
    static const char *const names[PASS_KINDS] = {"forward", "input gradient", "weight gradient", "backward"};
    const struct pass *pass = &w->order->passes[place];
    const struct pass_cost *cost = &w->options->costs[pass->stage];
    double begin = w->timing->begin[place], end = w->timing->end[place];
    struct arrival input = input_of(w, device, place);
    const struct timeline_task task = {.cause = input.task,
                                       .device = device,
                                       .stream = STREAM_COMPUTE,
                                       .kind = kinds[pass->kind],
                                       .stage = pass->stage,
                                       .layer = -1,
                                       .microbatch = pass->microbatch,
                                       .begin = begin,
                                       .end = end,
                                       .name = names[pass->kind]};
    double freed = pass->kind == PASS_FORWARD  ? 0.0
                   : pass->kind == PASS_INPUT  ? cost->kept - cost->kept_for_weight
                   : pass->kind == PASS_WEIGHT ? cost->kept_for_weight
                                               : cost->kept;
    if (pass->kind == PASS_FORWARD && !give_memory(w, device, begin, cost->kept))
        return false;
    if (!give_task(w, &task))
        return false;
    if (!pass->paired) /* both passes of a pair wait for the task before it */
        w->last[device] = (struct arrival){w->part->next_id - 1, end};
    return give_result(w, place, end) && give_memory(w, device, end, -freed);
}

static bool walk(struct walker *w, struct turn *turns)
{
    const struct pass_order *order = w->order;
    size_t count = 0;
    for (int device = 0; device < order->devices; device++) {
        w->next[device] = order->first[device];
        w->last[device] = (struct arrival){-1, 0.0};
        if (w->part->states != NULL && !give_memory(w, device, 0.0, 0.0))
            return false;
        if (order->first[device] < order->first[device + 1]) {
            turns[count++] = (struct turn){w->timing->begin[order->first[device]], device};
            heap_push(turns, count, sizeof *turns, is_before, NULL);
        }
    }
    while (count > 0) {
        int device = turns[0].device;
        size_t place = w->next[device]++;
        if (!give_pass(w, device, place))
            return false;
        heap_pop(turns, count, sizeof *turns, is_before, NULL);
        if (w->next[device] < order->first[device + 1]) {
            turns[count - 1] = (struct turn){w->timing->begin[w->next[device]], device};
            heap_push(turns, count, sizeof *turns, is_before, NULL);
        } else {
            count--;
        }
    }
    return true;
}

bool timeline_of_order(const struct pass_order *order, const struct timing_options *options,
                       const struct timing *timing, struct timeline_part *part,
                       const struct timeline_sink *sink, struct error *err)
{
    size_t devices = (size_t)order->devices, results = (size_t)order->stages * (size_t)order->microbatches;
    struct timeline_part alone = {.device = 0};
    struct walker w = {.order = order,
                       .options = options,
                       .timing = timing,
                       .sink = sink,
                       .part = part != NULL ? part : &alone,
                       .err = err};
    struct turn *turns = malloc(devices * sizeof *turns);
    w.arrivals[0] = calloc(results, sizeof *w.arrivals[0]);
    w.arrivals[1] = calloc(results, sizeof *w.arrivals[1]);
    w.next = malloc(devices * sizeof *w.next);
    w.last = calloc(devices, sizeof *w.last);
    w.kept = calloc(devices, sizeof *w.kept);
    bool ok = turns != NULL && w.arrivals[0] != NULL && w.arrivals[1] != NULL && w.next != NULL &&
              w.last != NULL && w.kept != NULL;
    ok = ok ? walk(&w, turns) : error_memory(err);
    for (size_t d = 0; ok && w.part->last != NULL && d < devices; d++)
        w.part->last[d] = w.last[d].task;
    free(turns);
    free(w.arrivals[0]);
    free(w.arrivals[1]);
    free(w.next);
    free(w.last);
    free(w.kept);
    return ok;
}
