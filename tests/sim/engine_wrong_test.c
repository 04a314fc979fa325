/* Systems that the engine refuses, and systems with devices that are alike. */
#include "sim/engine/symmetry.h"
#include "support/engine_small.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_refused(const char *text)
{
    struct engine_result result;
    struct error err;
    small_allow_all();
    assert_false(engine_run(&small.system, NULL, &result, &err));
    engine_result_release(&result);
    assert_int_equal(err.kind, ERROR_INPUT);
    if (strstr(err.text, text) == NULL)
        fail_msg("'%s' does not contain '%s'", err.text, text);
}

static void memory_that_does_not_add_up_is_refused(void **state)
{
    (void)state;
    struct engine_change first[] = {{MEMORY_ACTIVATIONS, false, 100}},
                         second[] = {{MEMORY_ACTIVATIONS, true, -100}, {MEMORY_GRADIENTS, false, 7}};
    small_begin(1, 1);
    small_add(0, (struct engine_task){.seconds = 1.0, .changes = first, .change_count = 1});
    assert_refused("device 0: 100 bytes of activations are never freed");
    small_begin(1, 1);
    small_add(0, (struct engine_task){.seconds = 1.0, .changes = second, .change_count = 2});
    assert_refused("device 0: at 1 s, 100 bytes of activations are freed that it does not have");
}

static void devices_that_wait_for_each_other_are_named(void **state)
{
    (void)state;
    small_begin(3, 1);
    for (int d = 0; d < 3; d++) {
        small_add(d, (struct engine_task){.seconds = 1.0, .receive = 1 + d, .label = SMALL_KERNEL});
        small_add(d,
                  (struct engine_task){.seconds = 1.0, .send = d == 2 ? 1 : d + 2, .label = SMALL_TRANSFER});
    }
    assert_refused("device 0, pass 0 (micro-batch 0), task 0 ('kernel') never begins: it waits for a message "
                   "of micro-batch 0 from device 2; 2 further streams wait, too");
    small_begin(1, 1);
    small_add(0, (struct engine_task){.seconds = 1.0, .receive = 3, .label = SMALL_KERNEL});
    assert_refused("a message of micro-batch 0 that no device sends");
    small_begin(2, 1);
    small_add(0, (struct engine_task){.seconds = 1.0, .label = SMALL_KERNEL});
    small_add(1, (struct engine_task){.seconds = 1.0, .receive = 5, .stream = STREAM_HOST, .mark = 1});
    small_add(1, (struct engine_task){.seconds = 1.0, .waits = {1}});
    assert_refused("device 1, pass 0 (micro-batch 0), task 0 ('kernel') never begins");
    small_begin(2, 1);
    small_add(0, (struct engine_task){.seconds = 1.0, .send = 1, .label = SMALL_KERNEL});
    assert_refused("device 0 sends a message of micro-batch 0 that is never received");
    small_begin(2, 1);
    small_group(2, -1);
    small_add(0, (struct engine_task){.seconds = 1.0, .group = 1, .label = SMALL_TRANSFER});
    assert_refused("group 0 has 2 members, but 1 devices come");
    small_begin(2, 1);
    small_group(2, -1);
    small_add(0, (struct engine_task){.group = 1, .label = SMALL_TRANSFER});
    small_add(0, (struct engine_task){.group = 1, .label = SMALL_TRANSFER});
    small_add(1, (struct engine_task){.group = 1, .label = SMALL_TRANSFER});
    assert_refused("it waits for its group, of whose 2 members 1 are there");
}

static void wrong_numbers_are_refused(void **state)
{
    (void)state;
    const struct engine_task wrong[] = {
        {.seconds = NAN},
        {.seconds = -1.0},
        {.seconds = INFINITY},
        {.latency = NAN},
        {.delay = -1.0},
        {.share = 0.5},
        {.share = 1.5, .stream = 1},
        {.stream = ENGINE_STREAMS},
        {.label = SMALL_LABELS},
        {.mark = ENGINE_MARKS + 1},
        {.waits = {ENGINE_MARKS + 1}},
        {.receive = -1},
        {.seconds = 1.0, .route = 1, .rate = 0.0},
        {.seconds = 1.0, .route = 1, .rate = INFINITY},
        {.seconds = 1.0, .group = 1, .rate = NAN},
        {.seconds = 1.0, .group = 1, .rate = -1.0},
        {.route = 1, .group = 1, .rate = 1.0},
        {.group = 1, .send = 1, .send_at_begin = true},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        small_begin(1, 1);
        small_link(1.0);
        small_route(0, 1);
        small_group(1, -1);
        small_add(0, (struct engine_task){.seconds = 1.0});
        small_add(0, wrong[i]);
        assert_refused("template 0, task 1: ");
    }
    small_begin(1, 1);
    small_add(0, (struct engine_task){.group = 1});
    assert_refused("is not in its lists");
    small_begin(1, 1);
    small.devices[0].factor = NAN;
    small_add(0, (struct engine_task){.seconds = 1.0});
    assert_refused("a factor of");
    small_begin(1, 1);
    small_link(0.0);
    assert_refused("link 0 has a capacity of 0");
    small_begin(1, 1);
    small.passes[0][0].template = 1;
    assert_refused("order 0, pass 0: no template 1");
    small_begin(1, 1);
    small.devices[0].order = -1;
    assert_refused("device 0: no order -1");
    small_begin(1, 1);
    small.devices[0].members = 0;
    assert_refused("device 0: a factor of 0, 0 members");
    small_begin(1, 1);
    small.system.jitter = NAN;
    assert_refused("a jitter of nan");
    small_begin(1, 1);
    small.templates[0].count = -1;
    assert_refused("template 0 has too many tasks");
    static const int wrong_ports[] = {-1, SMALL_MAX};
    for (int i = 0; i < 2; i++) {
        small_begin(1, 1);
        small.numbers[0] = wrong_ports[i];
        small_add(0, (struct engine_task){.seconds = 1.0, .send = 1});
        assert_refused("is not in its lists");
        small_begin(1, 1);
        small_group(i, 2 * i - 2);
        assert_refused(i == 0 ? "group 0 has 0 members" : "group 0 has 1 members and route 0");
    }
}

/* ---- symmetry ---- */

/* Two stages of four replicas: replica r sends on channel r, and each stage has a group. */
static void make_replicas(void)
{
    small_begin(8, 1);
    small_group(4, -1);
    small_group(4, -1);
    small_add(0, (struct engine_task){.seconds = 1.0, .send = 1, .label = SMALL_KERNEL});
    small_add(4, (struct engine_task){.seconds = 1.0, .receive = 1, .label = SMALL_KERNEL});
    small_add(0, (struct engine_task){.seconds = 0.5, .group = 1, .label = SMALL_TRANSFER});
    small_add(4, (struct engine_task){.seconds = 0.5, .group = 1, .label = SMALL_TRANSFER});
    for (int d = 0; d < 8; d++) {
        small.devices[d].order = d / 4 * 4;
        small.devices[d].ports = &small.numbers[d % 4];
        small.devices[d].groups = &small.numbers[d / 4];
        small.devices[d].port_count = small.devices[d].group_count = 1;
    }
}

static int classes(void)
{
    struct engine_symmetry symmetry;
    struct engine_result one = {.makespan = 0.0}, whole = {.makespan = 0.0};
    struct error err;
    if (!engine_symmetry_find(&small.system, &symmetry, &err) ||
        !engine_run(&symmetry.system, NULL, &one, &err) || !engine_run(&small.system, NULL, &whole, &err))
        fail_msg("%s", err.text);
    int count = symmetry.system.device_count;
    assert_true(one.makespan == whole.makespan);
    engine_result_release(&one);
    engine_result_release(&whole);
    engine_symmetry_release(&symmetry);
    return count;
}

static void a_straggler_splits_its_class(void **state)
{
    (void)state;
    make_replicas();
    assert_int_equal(classes(), 2);
    /* It delays its receiver and, through it, nobody else of its own kind. */
    small.devices[1].factor = 2.0;
    assert_int_equal(classes(), 4);
    small.devices[6].factor = 2.0;
    assert_int_equal(classes(), 6);
    small.devices[5].factor = 3.0;
    assert_int_equal(classes(), 6);
    small.system.jitter = 0.1;
    for (int d = 0; d < 8; d++)
        small.devices[d].key = (uint64_t)d;
    assert_int_equal(classes(), 8);
}

static void symmetry_of_wrong_systems_is_refused(void **state)
{
    (void)state;
    struct engine_symmetry symmetry;
    struct error err;
    for (int i = 0; i < 5; i++) {
        make_replicas();
        if (i == 0)
            small.devices[7].order = 8;
        if (i == 1)
            small.devices[7].port_count = 0;
        if (i == 2)
            small.numbers[1] = SMALL_MAX;
        if (i == 3)
            small.groups[1].route = 0;
        if (i == 4)
            small.passes[0][0].template = 8;
        assert_false(engine_symmetry_find(&small.system, &symmetry, &err));
        assert_int_equal(err.kind, ERROR_INPUT);
        engine_symmetry_release(&symmetry);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_does_not_add_up_is_refused),
        cmocka_unit_test(devices_that_wait_for_each_other_are_named),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(a_straggler_splits_its_class),
        cmocka_unit_test(symmetry_of_wrong_systems_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
