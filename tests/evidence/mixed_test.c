#include "evidence/mixed.h"
#include "support/expect.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Four layers of 1 s on a fast device type and of 2 s on a slow one; 1,000 parameters and 100 bytes of output each;
 * nodes send 100 bytes/s to each other and 1,000 inside. */
static const double fast_seconds[] = {0, 1, 2, 3, 4};
static const double slow_seconds[] = {0, 2, 4, 6, 8};
static const double fast_update[] = {0, 0.25, 0.5, 0.75, 1};
static const double kept[] = {0, 10, 20, 30, 40};
static const double launch[] = {0, 0.5, 1, 1.5, 2};
static const struct mixed_times fast = {.seconds = fast_seconds, .update = fast_update, .activations = kept};
static const struct mixed_times slow = {.seconds = slow_seconds};
static const double parameters[] = {0, 1000, 2000, 3000, 4000};
static const double outputs[] = {100, 100, 100, 100};
static const struct mixed_model model = {.layer_count = 4, .parameters = parameters, .outputs = outputs};
static const struct mixed_node nodes[] = {
    {.inside = {.bandwidth = 1000, .latency = 0}, .network = {.bandwidth = 100, .latency = 0}},
    {.inside = {.bandwidth = 1000, .latency = 0}, .network = {.bandwidth = 100, .latency = 0}},
    {.inside = {.bandwidth = 1000, .latency = 0}, .network = {.bandwidth = 50, .latency = 0}},
    {.inside = {.bandwidth = 1000, .latency = 0}, .network = {.bandwidth = 100, .latency = 0.5}},
};
static const struct mixed_software software = {.gradient_bytes = 1, .state_bytes = 16};
static const int whole[] = {0, 4}, halves[] = {0, 2, 4}, quarters[] = {0, 1, 2, 3, 4};

static struct mixed_plan plan_of(int stages, int pipelines, const int *first,
                                 const struct mixed_replica *replicas, const int64_t *microbatches)
{
    return (struct mixed_plan){.model = &model,
                               .software = &software,
                               .nodes = nodes,
                               .node_count = 4,
                               .stages = stages,
                               .pipelines = pipelines,
                               .first = first,
                               .replicas = replicas,
                               .microbatches = microbatches};
}

static void parts_make_the_whole(const struct mixed_time *time)
{
    near(time->compute + time->send + time->bubble + time->gradients + time->tied + time->optimizer +
             time->other,
         time->seconds);
}

static void one_device_computes(void **state)
{
    (void)state;
    const struct mixed_replica replicas[] = {{&fast, 1, 0}};
    const int64_t count[] = {3};
    struct mixed_plan plan = plan_of(1, 1, whole, replicas, count);
    struct mixed_time time = mixed_time(&plan);
    near(time.compute, 12.0); /* 3 x 4 layers x 1 s */
    near(time.optimizer, 1.0);
    near(time.seconds, 13.0);
    parts_make_the_whole(&time);
}

/* 100 bytes at 100 bytes/s take 1 s; stage 1 takes 4 s and waits for two messages. */
static void last_stage_waits_for_gradient_and_activation(void **state)
{
    (void)state;
    const struct mixed_replica replicas[] = {{&fast, 1, 0}, {&slow, 1, 1}};
    const int64_t count[] = {5};
    struct mixed_plan plan = plan_of(2, 1, halves, replicas, count);
    struct mixed_software buffered = software;
    buffered.buffer_bytes = 1000;
    plan.software = &buffered;
    struct mixed_time time = mixed_time(&plan);
    /* 2 + 4 + 2 to fill, then 4 times 4 + 2 */
    near(time.seconds - time.optimizer, 32.0);
    near(time.compute, 20.0);
    near(time.send, 10.0);
    near(time.bubble, 2.0);
    assert_int_equal(time.stage, 1);
    parts_make_the_whole(&time);
}

static void first_stage_goes_on_when_messages_fit_the_buffer(void **state)
{
    (void)state;
    const struct mixed_replica replicas[] = {{&slow, 1, 0}, {&fast, 1, 1}};
    const int64_t count[] = {5};
    struct mixed_plan plan = plan_of(2, 1, halves, replicas, count);
    struct mixed_software buffered = software;
    buffered.buffer_bytes = 100;
    /* the first stage's 4 s against 2 + 2 of the second: 8 to fill, 4 times 4; else 4 times 4 + 2 */
    plan.software = &buffered;
    near(mixed_time(&plan).seconds - mixed_time(&plan).optimizer, 24.0);
    buffered.buffer_bytes = 99;
    near(mixed_time(&plan).seconds - mixed_time(&plan).optimizer, 32.0);
}

/* Tensor parallel ranks each send their part: it is a part that has to fit. */
static void parts_of_messages_fit_sooner(void **state)
{
    (void)state;
    const struct mixed_replica replicas[] = {{&slow, 2, 0}, {&fast, 2, 1}};
    const int64_t count[] = {5};
    struct mixed_plan plan = plan_of(2, 1, halves, replicas, count);
    struct mixed_software buffered = software;
    buffered.buffer_bytes = 50;
    plan.software = &buffered;
    near(mixed_time(&plan).seconds - mixed_time(&plan).optimizer, 24.0);
}

static void inside_a_node_ranks_send_side_by_side(void **state)
{
    (void)state;
    const struct mixed_replica replicas[] = {{&slow, 2, 0}, {&slow, 2, 0}};
    const int64_t count[] = {1};
    struct mixed_plan plan = plan_of(2, 1, halves, replicas, count);
    near(mixed_time(&plan).seconds, 8.0 + 2 * 50.0 / 1000.0);
}

static void pipelines_share_the_port(void **state)
{
    (void)state;
    const struct mixed_replica replicas[] = {{&slow, 1, 0}, {&slow, 1, 0}, {&slow, 1, 1}, {&slow, 1, 1}};
    const int64_t count[] = {1, 1};
    struct mixed_plan plan = plan_of(2, 2, halves, replicas, count);
    struct mixed_time time = mixed_time(&plan);
    near(time.seconds - time.gradients, 8.0 + 2 * 200.0 / 100.0);
}

/* The slower port decides, and the longer latency. */
static void the_slower_end_decides(void **state)
{
    (void)state;
    const struct mixed_replica to_slow[] = {{&slow, 1, 0}, {&slow, 1, 2}};
    const struct mixed_replica to_late[] = {{&slow, 1, 0}, {&slow, 1, 3}};
    const int64_t count[] = {1};
    struct mixed_plan plan = plan_of(2, 1, halves, to_slow, count);
    near(mixed_time(&plan).seconds, 8.0 + 2 * 2.0);
    plan.replicas = to_late;
    near(mixed_time(&plan).seconds, 8.0 + 2 * 1.5);
}

static void the_slowest_pipeline_decides(void **state)
{
    (void)state;
    const struct mixed_replica replicas[] = {{&fast, 1, 0}, {&slow, 1, 1}};
    const int64_t even[] = {3, 3}, fair[] = {4, 2};
    struct mixed_plan plan = plan_of(1, 2, whole, replicas, even);
    struct mixed_time time = mixed_time(&plan);
    near(time.compute, 24.0);
    assert_int_equal(time.pipeline, 1);
    plan.microbatches = fair;
    near(mixed_time(&plan).compute, 16.0);
}

/* Two replicas of 4,000 parameters, 1 byte each: 2 (2 - 1) / 2 of them leave each node. */
static void gradients_go_over_the_slowest_port(void **state)
{
    (void)state;
    const struct mixed_replica near_ones[] = {{&slow, 1, 0}, {&slow, 1, 1}};
    const struct mixed_replica slow_one[] = {{&slow, 1, 0}, {&slow, 1, 2}};
    const int64_t count[] = {1, 1};
    struct mixed_plan plan = plan_of(1, 2, whole, near_ones, count);
    near(mixed_time(&plan).gradients, 40.0);
    plan.replicas = slow_one;
    near(mixed_time(&plan).gradients, 80.0);
}

static void rings_inside_a_node_stay_there(void **state)
{
    (void)state;
    const struct mixed_replica replicas[] = {{&slow, 2, 0}, {&slow, 2, 0}};
    const int64_t count[] = {1, 1};
    struct mixed_plan plan = plan_of(1, 2, whole, replicas, count);
    near(mixed_time(&plan).gradients, 4000.0 / 2 / 1000.0);
}

/* Four replicas in two nodes: each node sends 2 x 3/4 of the gradient once. */
static void rings_pass_a_node_once(void **state)
{
    (void)state;
    const struct mixed_replica replicas[] = {{&slow, 1, 0}, {&slow, 1, 0}, {&slow, 1, 1}, {&slow, 1, 1}};
    const int64_t count[] = {1, 1, 1, 1};
    struct mixed_plan plan = plan_of(1, 4, whole, replicas, count);
    near(mixed_time(&plan).gradients, 4000.0 * 1.5 / 100.0);
}

/* Both stages' rings between the same two nodes. */
static void stages_in_a_node_share_its_port(void **state)
{
    (void)state;
    const struct mixed_replica replicas[] = {{&slow, 1, 0}, {&slow, 1, 1}, {&slow, 1, 0}, {&slow, 1, 1}};
    const int64_t count[] = {1, 1};
    struct mixed_plan plan = plan_of(2, 2, halves, replicas, count);
    near(mixed_time(&plan).gradients, 2 * 2000.0 / 100.0);
}

static void shared_tables_are_reduced_once_more(void **state)
{
    (void)state;
    const struct mixed_replica apart[] = {{&slow, 2, 0}, {&slow, 2, 1}},
                               together[] = {{&slow, 2, 0}, {&slow, 2, 0}};
    const int64_t count[] = {1};
    struct mixed_model tied = model;
    struct mixed_software bytes = software;
    struct mixed_plan plan = plan_of(2, 1, halves, apart, count);
    tied.tied = 500;
    bytes.tied_bytes = 2;
    plan.model = &tied;
    plan.software = &bytes;
    near(mixed_time(&plan).tied, 1000.0 / 100.0);
    plan.replicas = together;
    near(mixed_time(&plan).tied, 1000.0 / 2 / 1000.0);
}

static void says_when_launching_takes_longer_than_kernels(void **state)
{
    (void)state;
    const struct mixed_times launched = {.seconds = fast_seconds, .launch = launch};
    const struct mixed_replica pairs[] = {{&launched, 2, 0}, {&launched, 2, 1}};
    const struct mixed_replica singles[] = {{&launched, 1, 0}, {&launched, 1, 1}};
    const int64_t count[] = {1, 1};
    struct mixed_plan plan = plan_of(2, 1, halves, pairs, count);
    assert_true(mixed_time(&plan).launch_bound);
    plan.replicas = singles;
    assert_false(mixed_time(&plan).launch_bound);
    plan = plan_of(1, 2, whole, pairs, count);
    assert_false(mixed_time(&plan).launch_bound);
}

static void memory_holds_what_is_in_flight(void **state)
{
    (void)state;
    const struct mixed_replica replicas[] = {{&fast, 2, 0}, {&fast, 2, 1}, {&fast, 2, 2}, {&fast, 2, 3}};
    const int64_t many[] = {8}, two[] = {2};
    struct mixed_plan plan = plan_of(4, 1, quarters, replicas, many);
    near(mixed_memory(&plan, 0, 0), 1000.0 * 16 / 2 + 4 * 10);
    near(mixed_memory(&plan, 3, 0), 1000.0 * 16 / 2 + 1 * 10);
    plan.microbatches = two;
    near(mixed_memory(&plan, 0, 0), 1000.0 * 16 / 2 + 2 * 10);
    struct mixed_software resident = software;
    resident.runtime_bytes = 500;
    plan.software = &resident;
    near(mixed_memory(&plan, 0, 0), 1000.0 * 16 / 2 + 2 * 10 + 500);
}

static void refuses_plans_that_are_none(void **state)
{
    (void)state;
    struct error err;
    const int gap[] = {0, 0, 4}, early[] = {0, 3};
    const struct mixed_replica replicas[] = {{&fast, 1, 0}, {&fast, 1, 1}}, nowhere[] = {{&fast, 1, 4}};
    const int64_t count[] = {1, 1};
    struct mixed_plan plan = plan_of(2, 1, gap, replicas, count);
    assert_false(mixed_check(&plan, &err));
    assert_non_null(strstr(err.text, "stage 0: has no layers"));
    plan = plan_of(1, 1, early, replicas, count);
    assert_false(mixed_check(&plan, &err));
    assert_non_null(strstr(err.text, "expected layers 0 to 4"));
    plan = plan_of(1, 1, whole, nowhere, count);
    assert_false(mixed_check(&plan, &err));
    assert_non_null(strstr(err.text, "no such node"));
    plan = plan_of(1, MIXED_MAX_PIPELINES + 1, whole, replicas, count);
    assert_false(mixed_check(&plan, &err));
    plan = plan_of(2, 1, halves, replicas, count);
    assert_true(mixed_check(&plan, &err));
}

static void host_time_does_not_grow_with_the_microbatch(void **state)
{
    (void)state;
    const double forward[] = {1.0, 3.0}, host[] = {0.0, 2.0};
    double sums[3], launches[3];
    mixed_sums_of_forward(forward, host, 2, 4, sums, launches);
    near(sums[1], 3 * 1.0 * 4);
    near(sums[2], 12.0 + 2.0 + 3 * 1.0 * 4);
    near(launches[2], 2.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_computes),
        cmocka_unit_test(last_stage_waits_for_gradient_and_activation),
        cmocka_unit_test(first_stage_goes_on_when_messages_fit_the_buffer),
        cmocka_unit_test(parts_of_messages_fit_sooner),
        cmocka_unit_test(inside_a_node_ranks_send_side_by_side),
        cmocka_unit_test(pipelines_share_the_port),
        cmocka_unit_test(the_slower_end_decides),
        cmocka_unit_test(the_slowest_pipeline_decides),
        cmocka_unit_test(gradients_go_over_the_slowest_port),
        cmocka_unit_test(rings_inside_a_node_stay_there),
        cmocka_unit_test(rings_pass_a_node_once),
        cmocka_unit_test(stages_in_a_node_share_its_port),
        cmocka_unit_test(shared_tables_are_reduced_once_more),
        cmocka_unit_test(says_when_launching_takes_longer_than_kernels),
        cmocka_unit_test(memory_holds_what_is_in_flight),
        cmocka_unit_test(refuses_plans_that_are_none),
        cmocka_unit_test(host_time_does_not_grow_with_the_microbatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
