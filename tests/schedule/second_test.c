/* A second simulator, which knows only a list of passes and their begins, against timing_of_order on random orders.
 *
 * All begins are 0 at first. Each sweep over the list moves a begin that is earlier than what it waits for; when a sweep moves
 * none, the begins are the earliest possible ones. Nothing of timing.c is used: no queue, no state of devices.
 *
 * Rules (timing.h): the passes of a cell begin together, when the cell before has ended and inputs of other devices have
 * arrived, send seconds after they left. If sends block, a device is busy for the time of each send and of each receipt;
 * receipts come one after the other, and the second result of a pair leaves when the first has left. If messages of two cells
 * are one call, a device receives for the second while it sends for the first. If only receipts block, sends take no time of
 * the device. If messages go in turn, one to the next device leaves when the last one to it has come, and one to another
 * device when the last one to any other has come. */
#include "core/random.h"
#include "schedule/check.h"
#include "schedule/timing.h"
#include "support/orders.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MAX_PASSES 2048
#define MAX_STAGES ORDERS_MAX_STAGES
#define ORDERS     30000

/* --- the second simulator --- */

struct listed {
    const struct pass_order *order;
    const struct timing_options *options;
    double begin[MAX_PASSES];                    /* of the cell of each pass */
    int device[MAX_PASSES], partner[MAX_PASSES]; /* partner in its cell; -1: alone */
    bool second[MAX_PASSES];                     /* of a pair */
};

static double duration(const struct listed *l, int i)
{
    const struct pass *pass = &l->order->passes[i];
    const struct pass_cost *cost = &l->options->costs[pass->stage];
    return pass->kind == PASS_FORWARD  ? cost->forward
           : pass->kind == PASS_INPUT  ? cost->input
           : pass->kind == PASS_WEIGHT ? cost->weight
                                       : cost->input + cost->weight;
}

static double end_of(const struct listed *l, int i)
{
    if (l->partner[i] < 0)
        return l->begin[i] + duration(l, i);
    int first = l->second[i] ? l->partner[i] : i, second = l->partner[first];
    double a = duration(l, first), b = duration(l, second);
    double hidden = l->options->costs[l->order->passes[first].stage].hidden * (a < b ? a : b);
    return l->begin[i] + a + b - hidden;
}

/* Looks a pass up in the list; -1: the chain ends there. */
static int look_up(const struct listed *l, int stage, uint32_t microbatch, bool forward)
{
    int count = (int)pass_order_count(l->order);
    for (int i = 0; i < count; i++) {
        const struct pass *pass = &l->order->passes[i];
        if (pass->stage == stage && pass->microbatch == microbatch &&
            (forward ? pass->kind == PASS_FORWARD : orders_is_back(pass)))
            return i;
    }
    return -1;
}

/* Returns the other device that needs the result of a pass; -1: none. */
static int target(const struct listed *l, int i)
{
    const struct pass *pass = &l->order->passes[i];
    int depth = l->order->stages / l->order->chains, within = pass->stage % depth, to = -1;
    if (pass->kind == PASS_FORWARD && within < depth - 1)
        to = l->order->device_of[pass->stage + 1];
    if (orders_is_back(pass) && within > 0)
        to = l->order->device_of[pass->stage - 1];
    return to == l->device[i] ? -1 : to;
}

/* Seconds of the transfer that a pass makes to another device; 0: none. */
static double sends(const struct listed *l, int i)
{
    const struct pass *pass = &l->order->passes[i];
    const struct pass_cost *cost = &l->options->costs[pass->stage];
    if (target(l, i) < 0)
        return 0.0;
    return pass->kind == PASS_FORWARD ? cost->send_forward : cost->send_backward;
}

/* When the result of a pass leaves its device. */
static double leaves(const struct listed *l, int i)
{
    double at = end_of(l, i);
    int to = target(l, i), next = (l->device[i] + 1) % l->order->devices;
    if (l->second[i] && l->options->send_blocks)
        at += sends(l, l->partner[i]);
    if (!l->options->send_in_turn || to < 0)
        return at;
    /* after the last message to the next device, or after the last one to any other */
    for (int before = i - 1; before >= 0 && l->device[before] == l->device[i]; before--) {
        int other = target(l, before);
        if (other >= 0 && (other == next) == (to == next)) {
            double gone = leaves(l, before) + sends(l, before);
            return at < gone ? gone : at;
        }
    }
    return at;
}

/* When the next cell of the device can begin, as far as this cell goes. */
static double frees(const struct listed *l, int i)
{
    double end = end_of(l, i);
    if (l->options->send_blocks)
        end += sends(l, i) + (l->partner[i] >= 0 ? sends(l, l->partner[i]) : 0.0);
    return end;
}

/* Returns when the input of pass i from the stage before or after it left; *send: its seconds on the way. -1: no input. */
static double input_left(const struct listed *l, int i, double *send)
{
    const struct pass *pass = &l->order->passes[i];
    int depth = l->order->stages / l->order->chains, within = pass->stage % depth, from = -1;
    *send = 0.0;
    if (pass->kind == PASS_FORWARD && within > 0)
        from = look_up(l, pass->stage - 1, pass->microbatch, true);
    else if (orders_is_back(pass) && within < depth - 1)
        from = look_up(l, pass->stage + 1, pass->microbatch, false);
    if (from < 0)
        return -1.0;
    *send = sends(l, from);
    return leaves(l, from);
}

/* Whether the messages of a cell and of the one before it on the device are one call. */
static bool is_one_call(const struct listed *l, int before, int i)
{
    if (l->options->fusion == FUSION_NONE)
        return false;
    int first = l->second[before] ? l->partner[before] : before;
    bool forward = l->order->passes[i].kind == PASS_FORWARD;
    return l->options->fusion == FUSION_ALL || (l->order->passes[first].kind == PASS_FORWARD) != forward;
}

static double earliest(const struct listed *l, int first)
{
    bool busy = l->options->send_blocks || l->options->receive_blocks;
    int before = first > 0 && l->device[first - 1] == l->device[first] ? first - 1 : -1;
    double at = before >= 0 ? frees(l, before) : 0.0;
    for (int k = 0; k < (l->partner[first] >= 0 ? 2 : 1); k++) {
        double send, left = input_left(l, first + k, &send);
        if (left < 0.0)
            continue;
        if (busy && k == 0 && before >= 0 && is_one_call(l, before, first)) {
            double received = end_of(l, before) + send; /* while the device sends */
            at = at < received ? received : at;
        } else if (busy) {
            at += send;
        }
        at = at < left + send ? left + send : at;
    }
    return at;
}

static void play(struct listed *l, const struct pass_order *order, const struct timing_options *options)
{
    int count = (int)pass_order_count(order), sweeps = 0;
    l->order = order;
    l->options = options;
    for (int i = 0; i < count; i++) {
        l->begin[i] = 0.0;
        l->device[i] = order->device_of[order->passes[i].stage];
        l->second[i] = i > 0 && order->passes[i - 1].paired;
        l->partner[i] = order->passes[i].paired ? i + 1 : l->second[i] ? i - 1 : -1;
    }
    for (bool moved = true; moved; sweeps++) {
        moved = false;
        assert_true(sweeps <= count + 1);
        for (int i = 0; i < count; i++) {
            double at = l->second[i] ? l->begin[i - 1] : earliest(l, i);
            moved |= at > l->begin[i];
            l->begin[i] = at;
        }
    }
}

/* Memory by the clock: what is kept when each cell begins, of all passes that began by then and were not freed. */
static double peak_of(const struct listed *l, int device)
{
    int count = (int)pass_order_count(l->order);
    double peak = 0.0;
    for (int now = 0; now < count; now++) {
        double kept = 0.0;
        if (l->device[now] != device)
            continue;
        for (int i = 0; i < count; i++) {
            const struct pass *pass = &l->order->passes[i];
            const struct pass_cost *cost = &l->options->costs[pass->stage];
            bool began = i <= now || i == l->partner[now], ended = i < now && i != l->partner[now];
            if (l->device[i] != device)
                continue;
            if (pass->kind == PASS_FORWARD)
                kept += began ? cost->kept : 0.0;
            else if (ended)
                kept -= pass->kind == PASS_BACKWARD ? cost->kept
                        : pass->kind == PASS_INPUT  ? cost->kept - cost->kept_for_weight
                                                    : cost->kept_for_weight;
        }
        peak = kept > peak ? kept : peak;
    }
    return peak;
}

static void assert_same(double a, double b, const char *what, int round)
{
    if (!(fabs(a - b) <= 1e-9 * fmax(1.0, fabs(b))))
        fail_msg("order %d: %s %.17g, not %.17g", round, what, a, b);
}

static void compare(const struct listed *l, const struct timing *timing, int round)
{
    double first[8], last[8] = {0}, busy[8] = {0}, makespan = 0.0, span = 0.0, peak = 0.0;
    int count = (int)pass_order_count(l->order);
    for (int device = 0; device < 8; device++)
        first[device] = INFINITY;
    for (int i = 0; i < count; i++) {
        int device = l->device[i];
        double begin = l->begin[i], end = end_of(l, i);
        assert_same(timing->begin[i], begin, "begin", round);
        assert_same(timing->end[i], end, "end", round);
        busy[device] += l->second[i] ? 0.0 : end - begin;
        first[device] = begin < first[device] ? begin : first[device];
        last[device] = end > last[device] ? end : last[device];
        makespan = end > makespan ? end : makespan;
    }
    for (int device = 0; device < l->order->devices; device++) {
        if (last[device] <= 0.0)
            continue;
        span = last[device] - first[device] > span ? last[device] - first[device] : span;
        double kept = peak_of(l, device);
        peak = kept > peak ? kept : peak;
        assert_same(timing->devices[device].begin, first[device], "first begin", round);
        assert_same(timing->devices[device].end, last[device], "last end", round);
        assert_same(timing->devices[device].busy, busy[device], "busy seconds", round);
        assert_same(timing->devices[device].peak, kept, "memory", round);
    }
    assert_same(timing->extent.makespan, makespan, "makespan", round);
    assert_same(timing->extent.span, span, "span", round);
    assert_same(timing->peak, peak, "peak", round);
}

static void the_second_simulator_agrees(void **state)
{
    (void)state;
    uint64_t random = 2026;
    struct listed *listed = malloc(sizeof *listed);
    int pairs = 0, blocking = 0;
    size_t passes = 0;
    assert_non_null(listed);
    for (int round = 0; round < ORDERS; round++) {
        struct pass_order order;
        struct timing timing;
        struct error err;
        struct pass_cost costs[MAX_STAGES];
        struct timing_options options = {.costs = costs,
                                         .send_blocks = orders_between(&random, 0, 1) == 1,
                                         .receive_blocks = orders_between(&random, 0, 3) == 0,
                                         .fusion = orders_between(&random, FUSION_NONE, FUSION_ALL),
                                         .send_in_turn = orders_between(&random, 0, 1) == 1};
        orders_draw(&random, &order);
        for (int stage = 0; stage < order.stages; stage++) {
            costs[stage] =
                (struct pass_cost){.forward = 0.1 + random_uniform(&random),
                                   .input = 0.1 + random_uniform(&random),
                                   .weight = 0.1 + random_uniform(&random),
                                   .send_forward = orders_between(&random, 0, 1) * random_uniform(&random),
                                   .send_backward = orders_between(&random, 0, 1) * random_uniform(&random),
                                   .hidden = random_uniform(&random),
                                   .kept = random_uniform(&random)};
            costs[stage].kept_for_weight = costs[stage].kept * random_uniform(&random);
        }
        if (!pass_order_check(&order, NULL, &err) || !timing_of_order(&order, &options, true, &timing, &err))
            fail_msg("order %d: %s", round, err.text);
        play(listed, &order, &options);
        compare(listed, &timing, round);
        for (size_t i = 0; i < pass_order_count(&order); i++)
            pairs += order.passes[i].paired;
        blocking += options.send_blocks;
        passes += pass_order_count(&order);
        timing_release(&timing);
        pass_order_release(&order);
    }
    printf("# %d orders of %zu passes, %d with blocking sends, %d pairs\n", ORDERS, passes, blocking, pairs);
    assert_true(pairs > 5000);
    free(listed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_simulator_agrees),
    };
    return cmocka_run_group_tests_name("second", tests, NULL, NULL);
}
