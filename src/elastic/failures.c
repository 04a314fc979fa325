#include "elastic/failures.h"

#include "core/heap.h"
#include "core/random.h"
#include "core/stop.h"
#include "core/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Every node lives and is repaired in turns. A heap holds the next event of each node; the earliest is
 * taken, until the horizon. A node that is lost with a neighbour leaves its old event in the heap, which
 * no longer is its next and is skipped.
 *
 * So that the rate of all losses is the model's, a node by itself is lost `batch` times as rarely, and
 * takes on average batch - 1 neighbours with it.
 *
 * Check (tests/elastic/failures_test.c): counts against the rates, distributions of lives and batches,
 * alternation. */

void failures_release(struct failure_trace *trace)
{
    free(trace->events);
    free(trace->slow);
    memset(trace, 0, sizeof *trace);
}

int failures_end_of_change(const struct failure_trace *trace, int first)
{
    int end = first + 1;
    while (end < trace->count && trace->events[end].time <= trace->events[first].time)
        end++;
    return end;
}

/* The next event of a node: of this life, lost or returned. */
struct drawn {
    double time;
    int32_t node;
    int32_t returned;
};

struct drawing {
    const struct failure_model *model;
    struct failure_trace *trace;
    uint64_t key; /* of the seed */
    double horizon;
    double life_scale; /* mean 1 / rate, or Weibull's scale */
    double repair_scale;
    double *next;    /* of each node: the time of its event; INFINITY: none before the horizon */
    uint32_t *lives; /* of each node */
    struct drawn *heap;
    size_t heap_count, heap_capacity;
};

enum { DRAW_LIFE, DRAW_REPAIR, DRAW_BATCH, DRAW_KINDS };

#define SLOW_STREAM UINT64_C(0x510e527fade682d1) /* apart from losses, which slow nodes do not change */

/* A number in (0, 1] that depends on the seed, the node, its life and the use alone. */
static double draw_of(const struct drawing *drawing, int node, uint32_t life, int kind)
{
    uint64_t stream = random_mix(drawing->key + (uint64_t)(node + 1) * RANDOM_GOLDEN);
    return 1 - random_fraction(
                   random_mix(stream + ((uint64_t)life * DRAW_KINDS + (uint64_t)kind) * RANDOM_GOLDEN));
}

/* Losses before returns, so that a node that is replaced at once is lost first; else by number. */
HEAP_INLINE bool drawn_before(const void *a, const void *b, const void *context)
{
    const struct drawn *left = a, *right = b;
    (void)context;
    if (left->time < right->time || left->time > right->time)
        return left->time < right->time;
    return left->returned != right->returned ? left->returned < right->returned : left->node < right->node;
}

static bool plan_event(struct drawing *drawing, int node, double time, bool returned)
{
    drawing->next[node] = INFINITY;
    if (!(time <= drawing->horizon))
        return true;
    drawing->next[node] = time;
    if (!VECTOR_ADD(drawing->heap, drawing->heap_count, drawing->heap_capacity,
                    (struct drawn){.time = time, .node = node, .returned = returned}))
        return false;
    heap_push(drawing->heap, drawing->heap_count, sizeof *drawing->heap, drawn_before, NULL);
    return true;
}

static bool plan_loss(struct drawing *drawing, int node, double now)
{
    const struct failure_model *model = drawing->model;
    double draw = -log(draw_of(drawing, node, drawing->lives[node], DRAW_LIFE));
    if (model->life == FAILURE_WEIBULL)
        draw = pow(draw, 1 / model->shape);
    else if (model->life == FAILURE_FIXED)
        draw = 1;
    return plan_event(drawing, node, now + drawing->life_scale * draw, false);
}

static bool add_event(struct drawing *drawing, double time, int node, bool returned)
{
    struct failure_trace *trace = drawing->trace;
    return trace->count < FAILURES_MAX_EVENTS &&
           VECTOR_ADD(trace->events, trace->count, trace->capacity,
                      (struct failure_event){.time = time, .node = node, .returned = returned});
}

static bool lose(struct drawing *drawing, int node, double now)
{
    double repair = drawing->repair_scale;
    if (drawing->model->repair_time == FAILURE_EXPONENTIAL)
        repair *= -log(draw_of(drawing, node, drawing->lives[node], DRAW_REPAIR));
    drawing->lives[node]++;
    return add_event(drawing, now, node, false) && plan_event(drawing, node, now + repair, true);
}

/* Loses a node and a geometric number of the nodes behind it that are there. */
static bool lose_batch(struct drawing *drawing, char *present, int first, double now)
{
    const struct failure_model *model = drawing->model;
    int others = 0;
    if (model->batch > 1) {
        double draw =
            log(draw_of(drawing, first, drawing->lives[first], DRAW_BATCH)) / log1p(-1 / model->batch);
        others = draw < model->nodes - 1 ? (int)draw : model->nodes - 1;
    }
    for (int i = 0; i <= others; i++) {
        int node = (int)(((int64_t)first + i) % model->nodes);
        if (!present[node])
            continue;
        present[node] = 0;
        if (!lose(drawing, node, now))
            return false;
    }
    return true;
}

static bool draw_events(struct drawing *drawing, char *present)
{
    for (size_t steps = 0; drawing->heap_count > 0; steps++) {
        if (stop_wanted_at(steps))
            return false;
        heap_pop(drawing->heap, drawing->heap_count, sizeof *drawing->heap, drawn_before, NULL);
        struct drawn event = drawing->heap[--drawing->heap_count];
        bool ok = true;
        if (event.time < drawing->next[event.node] || event.time > drawing->next[event.node] ||
            present[event.node] == (event.returned != 0))
            continue; /* lost with a neighbour meanwhile */
        if (event.returned) {
            present[event.node] = 1;
            ok = add_event(drawing, event.time, event.node, true) &&
                 plan_loss(drawing, event.node, event.time);
        } else {
            ok = lose_batch(drawing, present, event.node, event.time);
        }
        if (!ok)
            return false;
    }
    return true;
}

/* ---- slow nodes ---- */

static int order_slow(const void *a, const void *b)
{
    const struct failure_slowdown *left = a, *right = b;
    if (left->time < right->time || left->time > right->time)
        return left->time < right->time ? -1 : 1;
    return left->node < right->node ? -1 : left->node > right->node;
}

/* A node is well and slow in turns. */
static bool draw_slow_node(const struct drawing *drawing, int node)
{
    const struct failure_model *model = drawing->model;
    struct failure_trace *trace = drawing->trace;
    double time = 0;
    for (uint32_t turn = 0;; turn++) {
        double mean = turn % 2 == 0 ? 1 / model->slow_rate : model->slow_time;
        time -= mean * log(draw_of(drawing, node, turn, DRAW_LIFE));
        if (!(time <= drawing->horizon))
            return true;
        struct failure_slowdown slow = {time, node, turn % 2 == 0 ? model->slow_speed : 1};
        if (trace->slow_count >= FAILURES_MAX_EVENTS ||
            !VECTOR_ADD(trace->slow, trace->slow_count, trace->slow_capacity, slow))
            return false;
    }
}

static bool draw_slow_nodes(struct drawing *drawing)
{
    const struct failure_model *model = drawing->model;
    struct failure_trace *trace = drawing->trace;
    drawing->key ^= SLOW_STREAM;
    for (int node = 0; model->slow_rate > 0 && node < model->nodes; node++)
        if (stop_wanted_at((size_t)node) || !draw_slow_node(drawing, node))
            return false;
    if (trace->slow_count > 0)
        qsort(trace->slow, (size_t)trace->slow_count, sizeof *trace->slow, order_slow);
    return true;
}

static bool check_slow(const struct failure_model *model, double horizon, struct error *err)
{
    if (!(model->slow_rate >= 0 && model->slow_rate < 1e6) ||
        (model->slow_rate > 0 && !(model->slow_speed > 0 && model->slow_speed <= 1 && model->slow_time > 0 &&
                                   model->slow_time <= 1e12)))
        return error_set(err, ERROR_INPUT,
                         "failures: slow nodes at rate %g, speed %g, for %g s: out of range",
                         model->slow_rate, model->slow_speed, model->slow_time);
    double events =
        model->slow_rate > 0 ? 2 * model->nodes * horizon / (1 / model->slow_rate + model->slow_time) : 0;
    if (events > FAILURES_MAX_EVENTS / 2.0)
        return error_set(err, ERROR_INPUT,
                         "failures: nodes become slow or recover about %.3g times; at most %d can be played",
                         events, FAILURES_MAX_EVENTS / 2);
    return true;
}

static bool check_model(const struct failure_model *model, double horizon, struct error *err)
{
    if (model->nodes < 1 || model->nodes > FAILURES_MAX_NODES)
        return error_set(err, ERROR_INPUT, "failures: expected 1 to %d nodes, found %d", FAILURES_MAX_NODES,
                         model->nodes);
    if (!(model->rate >= 0 && model->rate < 1e6 && horizon > 0 && horizon <= 1e12 && model->repair >= 0 &&
          model->repair <= 1e12))
        return error_set(err, ERROR_INPUT, "failures: rate %g, repair %g s and horizon %g s are out of range",
                         model->rate, model->repair, horizon);
    if (model->life == FAILURE_WEIBULL && !(model->shape >= 0.1 && model->shape <= 20))
        return error_set(err, ERROR_INPUT, "failures: expected a Weibull shape from 0.1 to 20, found %g",
                         model->shape);
    if (!(model->batch >= 1 && model->batch <= model->nodes))
        return error_set(err, ERROR_INPUT, "failures: expected batches of 1 to %d nodes, found %g",
                         model->nodes, model->batch);
    if (!check_slow(model, horizon, err))
        return false;
    double events =
        2 * model->nodes * horizon / (model->rate > 0 ? 1 / model->rate + model->repair : INFINITY);
    if (events > FAILURES_MAX_EVENTS / 2.0)
        return error_set(err, ERROR_INPUT,
                         "failures: about %.3g losses and returns; at most %d can be played", events,
                         FAILURES_MAX_EVENTS / 2);
    return true;
}

bool failures_draw(struct failure_trace *trace, const struct failure_model *model, double horizon,
                   uint64_t seed, struct error *err)
{
    if (!check_model(model, horizon, err))
        return false;
    size_t nodes = (size_t)model->nodes;
    struct drawing drawing = {.model = model,
                              .trace = trace,
                              .key = random_mix(seed + RANDOM_GOLDEN),
                              .horizon = horizon,
                              .life_scale = model->batch / model->rate,
                              .repair_scale = model->repair,
                              .next = malloc(nodes * sizeof *drawing.next),
                              .lives = calloc(nodes, sizeof *drawing.lives)};
    char *present = malloc(nodes);
    bool ok = drawing.next && drawing.lives && present;
    if (model->life == FAILURE_WEIBULL)
        drawing.life_scale /= tgamma(1 + 1 / model->shape);
    trace->nodes = trace->present = model->nodes;
    trace->horizon = horizon;
    trace->counted = false;
    trace->count = trace->slow_count = 0;
    if (present)
        memset(present, 1, nodes);
    for (int node = 0; ok && node < model->nodes && model->rate > 0; node++)
        ok = !stop_wanted_at((size_t)node) && plan_loss(&drawing, node, 0);
    ok = ok && draw_events(&drawing, present) && draw_slow_nodes(&drawing);
    free(drawing.next);
    free(drawing.lives);
    free(drawing.heap);
    free(present);
    if (!ok && (trace->count >= FAILURES_MAX_EVENTS || trace->slow_count >= FAILURES_MAX_EVENTS))
        return error_set(err, ERROR_INPUT, "failures: more than %d losses and returns, or slow nodes",
                         FAILURES_MAX_EVENTS);
    return ok || error_memory(err);
}
