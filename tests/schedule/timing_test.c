/* Times of orders made by hand, against their closed formulas. */
#include "schedule/timing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-12)
        fail_msg("%.17g is not %.17g", a, b);
}

/* GPipe: all forward passes, then all backward passes. */
static void make_gpipe(struct pass_order *order, int devices, int microbatches)
{
    struct error err;
    assert_true(pass_order_init(order, devices, devices, 1, microbatches, &err));
    for (int device = 0; device < devices; device++) {
        for (int i = 0; i < microbatches; i++)
            assert_true(pass_order_add(order, PASS_FORWARD, device, i, false, &err));
        for (int i = 0; i < microbatches; i++)
            assert_true(pass_order_add(order, PASS_BACKWARD, device, i, false, &err));
        pass_order_next_device(order);
    }
}

static void gpipe_takes_a_round_per_microbatch_and_stage(void **state)
{
    (void)state;
    struct pass_cost costs[8];
    for (int stage = 0; stage < 8; stage++)
        costs[stage] = (struct pass_cost){
            .forward = 1.0, .input = 1.0, .weight = 0.5, .kept = 1.0, .kept_for_weight = 1.0};
    struct timing_options options = {.costs = costs};
    for (int devices = 1; devices <= 8; devices++) {
        struct pass_order order;
        struct timing timing;
        struct error err;
        make_gpipe(&order, devices, 5);
        assert_true(timing_of_order(&order, &options, true, &timing, &err));
        assert_near(timing.extent.makespan, (5 + devices - 1) * 2.5);
        assert_near(timing.peak, 5.0);
        assert_near(timing.devices[0].busy, 5 * 2.5);
        assert_near(timing.begin[order.first[devices - 1]], devices - 1.0);
        timing_release(&timing);
        pass_order_release(&order);
    }
}

/* Two devices and one micro-batch: F, send, F, B, send, B. */
static void sends_are_waited_for(void **state)
{
    (void)state;
    struct pass_cost costs[2] = {{.forward = 1.0, .input = 2.0, .send_forward = 0.25},
                                 {.forward = 1.0, .input = 2.0, .send_backward = 0.5}};
    struct timing_options options = {.costs = costs};
    for (int blocks = 0; blocks < 2; blocks++) {
        struct pass_order order;
        struct timing timing;
        struct error err;
        options.send_blocks = blocks;
        make_gpipe(&order, 2, 1);
        assert_true(timing_of_order(&order, &options, false, &timing, &err));
        assert_near(timing.extent.makespan, 6.75);
        timing_release(&timing);
        pass_order_release(&order);
    }
}

/* The second device has its micro-batches back to back only if receiving them leaves its time alone. */
static void blocking_sends_occupy_both_devices(void **state)
{
    (void)state;
    struct pass_cost costs[2] = {{.forward = 1.0, .input = 0.0, .send_forward = 0.25},
                                 {.forward = 1.0, .input = 0.0}};
    struct timing_options options = {.costs = costs};
    double expected[2] = {1.0 + 0.25 + 3.0, 1.25 + 3.0 + 2 * 0.25};
    for (int blocks = 0; blocks < 2; blocks++) {
        struct pass_order order;
        struct timing timing;
        struct error err;
        options.send_blocks = blocks;
        make_gpipe(&order, 2, 3);
        assert_true(timing_of_order(&order, &options, false, &timing, &err));
        assert_near(timing.devices[1].end, expected[blocks]);
        timing_release(&timing);
        pass_order_release(&order);
    }
}

static void an_order_that_waits_for_itself_is_an_error(void **state)
{
    (void)state;
    struct pass_cost costs[2] = {{.forward = 1.0}, {.forward = 1.0}};
    struct timing_options options = {.costs = costs};
    struct pass_order order;
    struct timing timing;
    struct error err;
    assert_true(pass_order_init(&order, 2, 2, 1, 1, &err));
    assert_true(pass_order_add(&order, PASS_BACKWARD, 0, 0, false, &err));
    assert_true(pass_order_add(&order, PASS_FORWARD, 0, 0, false, &err));
    pass_order_next_device(&order);
    assert_true(pass_order_add(&order, PASS_FORWARD, 1, 0, false, &err));
    assert_true(pass_order_add(&order, PASS_BACKWARD, 1, 0, false, &err));
    pass_order_next_device(&order);
    assert_false(timing_of_order(&order, &options, false, &timing, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_string_equal(err.text, "device 0, pass 0: 0B0 never begins: its input is never made");
    timing_release(&timing);
    pass_order_release(&order);
}

/* The end of the last forward pass of device 1 of three, and of two where `send` is longer than a pass. */
static double last_forward(int devices, double send, struct timing_options options)
{
    struct pass_cost costs[3];
    struct pass_order order;
    struct timing timing;
    struct error err;
    for (int stage = 0; stage < 3; stage++)
        costs[stage] = (struct pass_cost){.forward = 1.0, .send_forward = send};
    options.costs = costs;
    make_gpipe(&order, devices, 3);
    assert_true(timing_of_order(&order, &options, true, &timing, &err));
    double end = timing.end[order.first[1] + 2];
    timing_release(&timing);
    pass_order_release(&order);
    return end;
}

static void messages_go_together_or_in_turn(void **state)
{
    (void)state;
    assert_near(last_forward(3, 0.25, (struct timing_options){.send_blocks = true}), 5.25);
    assert_near(
        last_forward(3, 0.25, (struct timing_options){.send_blocks = true, .fusion = FUSION_OPPOSITE}), 5.25);
    assert_near(last_forward(3, 0.25, (struct timing_options){.send_blocks = true, .fusion = FUSION_ALL}),
                4.75);
    assert_near(last_forward(3, 0.25, (struct timing_options){.receive_blocks = true}), 4.75);
    assert_near(last_forward(3, 0.25, (struct timing_options){.send_in_turn = true}), 4.25);
    assert_near(last_forward(2, 3.0, (struct timing_options){.send_in_turn = false}), 7.0);
    assert_near(last_forward(2, 3.0, (struct timing_options){.send_in_turn = true}), 11.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpipe_takes_a_round_per_microbatch_and_stage),
        cmocka_unit_test(sends_are_waited_for),
        cmocka_unit_test(blocking_sends_occupy_both_devices),
        cmocka_unit_test(messages_go_together_or_in_turn),
        cmocka_unit_test(an_order_that_waits_for_itself_is_an_error),
    };
    return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
