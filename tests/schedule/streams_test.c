/* Messages on streams: what one of two ranks must wait for, by hand, and random schedules against values that are raised
 * until nothing changes. */
#include "schedule/trial.h"

#include "schedule/schedule.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double one = 1.0;

static struct trial play(const struct schedule_csv *csv, double send, enum comm_streams streams)
{
    struct trial_options options = {.streams = streams,
                                    .forward = {&one, 1},
                                    .input = {&one, 1},
                                    .weight = {&one, 1},
                                    .send = {&send, 1}};
    struct trial trial;
    struct error err;
    if (!trial_by_csv(csv, &options, &trial, &err))
        fail_msg("%s", err.text);
    return trial;
}

static void assert_makespan(const char *text, double send, enum comm_streams streams, double expected,
                            bool locked)
{
    struct schedule_csv csv;
    struct error err;
    if (!schedule_csv_parse(&csv, "t.csv", text, strlen(text), &err))
        fail_msg("%s", err.text);
    struct trial trial = play(&csv, send, streams);
    assert_float_equal(trial.timing.extent.makespan, expected, 1e-9);
    assert_int_equal(trial.lock.locked, locked);
    trial_release(&trial);
    schedule_csv_release(&csv);
}

static void a_receive_holds_up_what_is_behind_it(void **state)
{
    /* rank 0 cannot do 0B0 before 1B1 has come: 1.3 + 1 + 2 + 1 + 2 + 0.3, and two passes */
    static const char early[] = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B1,0RECV_B0,0B0,0B1\n"
                                "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n";
    /* 1F1 comes 0.3 later, behind the SEND of 1B0 */
    static const char late[] = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                               "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";
    (void)state;
    for (enum comm_streams streams = COMM_STREAMS_RANK; streams <= COMM_STREAMS_PEER; streams++) {
        assert_makespan(early, 0.3, streams, 11.6, true);
        assert_makespan(late, 0.3, streams, 9.9, true);
        assert_makespan(early, 0.0, streams, 9.0, false);
    }
    assert_makespan(early, 0.3, COMM_STREAMS_NONE, 9.6, false);
    assert_makespan(late, 0.3, COMM_STREAMS_NONE, 9.6, false);
}

/* Two chunks on three ranks: the RECV of the second chunk's first micro-batch stands before the SEND of the second one
 * (PyTorch issue 188833), which so waits for a round: 3 passes and 3 sends. Each rank sends to one and receives from
 * another, so that streams of pairs of ranks wait less. */
static void a_round_is_lost_for_each_microbatch(void **state)
{
    const struct schedule_shape shape = {.devices = 3, .microbatches = 3};
    struct pass_order order;
    struct schedule_csv csv;
    struct error err;
    int chunks;
    (void)state;
    if (!schedule_make(schedule_find("interleaved", &chunks, &err), &shape, &order, &err) ||
        !schedule_csv_of_order(&csv, &order, &(struct schedule_csv_form){.with_sends = true}, &err))
        fail_msg("%s", err.text);
    pass_order_release(&order);
    struct trial pairs = play(&csv, 0.1, COMM_STREAMS_PEER), ranks = play(&csv, 0.1, COMM_STREAMS_RANK);
    assert_true(pairs.timing.extent.makespan < ranks.timing.extent.makespan - 1.0);
    assert_false(ranks.lock.locked);
    assert_float_equal(ranks.timing.begin[ranks.order.first[1]], 0.6, 1e-9);
    /* 1F1 begins after 3F0's message has come (1.8 s) and its own has been sent */
    assert_float_equal(ranks.timing.begin[ranks.order.first[1] + 1], 1.9, 1e-9);
    assert_float_equal(ranks.timing.came[1], 1.9, 1e-9);
    assert_float_equal(pairs.timing.begin[pairs.order.first[1] + 1], 1.2, 1e-9); /* RECV stands behind 1F0 */
    trial_release(&pairs);
    trial_release(&ranks);
    schedule_csv_release(&csv);
}

/* ---- raised values ---- */

struct raised {
    const struct schedule_csv *csv;
    const struct trial *trial;
    enum comm_streams streams;
    double *end; /* of each action */
};

static size_t find(const struct raised *r, int kind, int stage, uint32_t microbatch)
{
    for (size_t i = 0; i < r->csv->count; i++) {
        const struct pass *action = &r->csv->actions[i];
        bool same = action->kind == kind || (kind == ACTION_INPUT && action->kind == ACTION_BACKWARD);
        if (same && action->stage == stage && action->microbatch == microbatch)
            return i;
    }
    return SIZE_MAX;
}

static size_t other_of(const struct raised *r, size_t i)
{
    const struct pass *action = &r->csv->actions[i];
    switch (action->kind) {
    case ACTION_SEND_FORWARD:
        return find(r, ACTION_RECEIVE_FORWARD, action->stage + 1, action->microbatch);
    case ACTION_RECEIVE_FORWARD:
        return find(r, ACTION_SEND_FORWARD, action->stage - 1, action->microbatch);
    case ACTION_SEND_BACKWARD:
        return find(r, ACTION_RECEIVE_BACKWARD, action->stage - 1, action->microbatch);
    default:
        return find(r, ACTION_SEND_BACKWARD, action->stage + 1, action->microbatch);
    }
}

/* When what an action's own rank does before it has ended. */
static double own_ready(const struct raised *r, size_t i)
{
    const struct schedule_csv *csv = r->csv;
    bool message = action_is_message(&csv->actions[i]);
    int rank = schedule_csv_rank_of(csv, i);
    double ready = 0.0;
    for (size_t j = csv->first[rank]; j < i; j++) {
        bool too = action_is_message(&csv->actions[j]);
        bool shares = r->streams == COMM_STREAMS_RANK || (message && too &&
                                                          schedule_csv_rank_of(csv, other_of(r, i)) ==
                                                              schedule_csv_rank_of(csv, other_of(r, j)));
        if (too ? message && shares : action_is_pass(&csv->actions[j]))
            ready = fmax(ready, r->end[j]);
    }
    return ready;
}

static double end_of(const struct raised *r, size_t i)
{
    const struct pass *action = &r->csv->actions[i];
    const struct pass_cost *cost = &r->trial->costs[action->stage];
    double ready = own_ready(r, i);
    if (action_is_message(action)) {
        size_t other = other_of(r, i);
        const struct pass *send = action->kind == ACTION_SEND_FORWARD || action->kind == ACTION_SEND_BACKWARD
                                      ? action
                                      : &r->csv->actions[other];
        const struct pass_cost *from = &r->trial->costs[send->stage];
        return fmax(ready, own_ready(r, other)) +
               (send->kind == ACTION_SEND_FORWARD ? from->send_forward : from->send_backward);
    }
    bool forward = action->kind == ACTION_FORWARD;
    size_t input = find(r, forward ? ACTION_RECEIVE_FORWARD : ACTION_RECEIVE_BACKWARD, action->stage,
                        action->microbatch);
    int from = forward ? action->stage - 1 : action->stage + 1;
    if (input == SIZE_MAX && from >= 0)
        input = find(r, forward ? ACTION_FORWARD : ACTION_INPUT, from, action->microbatch);
    if (action->kind != ACTION_WEIGHT && input != SIZE_MAX)
        ready = fmax(ready, r->end[input]);
    return ready + (forward                         ? cost->forward
                    : action->kind == ACTION_INPUT  ? cost->input
                    : action->kind == ACTION_WEIGHT ? cost->weight
                                                    : cost->input + cost->weight);
}

static double raise_makespan(struct raised *r)
{
    double makespan = 0.0;
    bool changed = true;
    r->end = calloc(r->csv->count, sizeof *r->end);
    while (changed) {
        changed = false;
        for (size_t i = 0; i < r->csv->count; i++) {
            double end = action_is_ordered(&r->csv->actions[i]) ? end_of(r, i) : 0.0;
            changed |= end > r->end[i] + 1e-12;
            r->end[i] = end;
            makespan = action_is_pass(&r->csv->actions[i]) ? fmax(makespan, end) : makespan;
        }
    }
    free(r->end);
    return makespan;
}

static void random_schedules_take_as_long_as_raised_values(void **state)
{
    static const char *const names[] = {"gpipe", "1f1b", "interleaved", "zb-h1", "interleaved-zb", "zb-v"};
    struct random_source source = {29};
    int longer = 0;
    (void)state;
    for (int round = 0; round < 60; round++) {
        struct error err;
        int chunks = 0;
        const struct schedule *schedule = schedule_find(names[random_range(&source, 0, 5)], &chunks, &err);
        struct schedule_shape shape = {.devices = random_range(&source, 2, 4)};
        shape.microbatches = random_range(&source, 1, 2) * shape.devices;
        struct pass_order order;
        struct schedule_csv csv;
        if (!schedule_make(schedule, &shape, &order, &err) ||
            !schedule_csv_of_order(&csv, &order, &(struct schedule_csv_form){.with_sends = true}, &err))
            fail_msg("%s", err.text);
        double send = 0.05 * random_range(&source, 1, 20), makespans[2];
        for (enum comm_streams streams = COMM_STREAMS_RANK; streams <= COMM_STREAMS_PEER; streams++) {
            struct trial trial = play(&csv, send, streams);
            struct raised raised = {.csv = &csv, .trial = &trial, .streams = streams};
            assert_false(trial.lock.locked); /* PyTorch places messages so that none cross */
            makespans[streams] = trial.timing.extent.makespan;
            assert_float_equal(makespans[streams], raise_makespan(&raised), 1e-9);
            assert_true(makespans[streams] >= trial.unordered - 1e-9);
            trial_release(&trial);
        }
        assert_true(makespans[COMM_STREAMS_PEER] <= makespans[COMM_STREAMS_RANK] + 1e-9);
        longer += makespans[COMM_STREAMS_PEER] < makespans[COMM_STREAMS_RANK] - 1e-9;
        schedule_csv_release(&csv);
        pass_order_release(&order);
    }
    assert_true(longer > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receive_holds_up_what_is_behind_it),
        cmocka_unit_test(a_round_is_lost_for_each_microbatch),
        cmocka_unit_test(random_schedules_take_as_long_as_raised_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
