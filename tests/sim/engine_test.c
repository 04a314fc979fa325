/* The engine on small systems whose times are known by closed formulas. */
#include "core/random.h"
#include "support/engine_small.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct engine_result play_with(const struct timeline_sink *sink)
{
    struct engine_result result;
    struct error err;
    small_allow_all();
    if (!engine_run(&small.system, sink, &result, &err))
        fail_msg("%s", err.text);
    return result;
}

static double makespan(void)
{
    struct engine_result result = play_with(NULL);
    double seconds = result.makespan;
    engine_result_release(&result);
    return seconds;
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12 * fmax(1.0, fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

/* ---- flows ---- */

static void a_collective_alone_takes_exactly_its_seconds(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 1000; i++) {
        double seconds = random_uniform(&random), start = random_uniform(&random);
        double rate = 1e9 * (1.0 + random_uniform(&random));
        small_begin(3, 1);
        small_link(rate * 3.0 / 3.0); /* as capacities are computed: not to the last bit */
        small_route(0, 1);
        small_group(3, 0);
        for (int d = 0; d < 3; d++) {
            small_add(d, (struct engine_task){
                             .seconds = d == 1 ? start : start / 2, .mark = 1, .label = SMALL_KERNEL});
            small_add(
                d, (struct engine_task){.seconds = seconds,
                                        .latency = i % 10 == 0 ? seconds : seconds * random_uniform(&random),
                                        .rate = rate,
                                        .group = 1,
                                        .waits = {1},
                                        .stream = STREAM_COLLECTIVE,
                                        .label = SMALL_TRANSFER});
        }
        for (int d = 0; d < 3; d++)
            small.tasks[d][1].latency = small.tasks[0][1].latency;
        assert_true(makespan() == start + seconds);
    }
}

/* n equal flows through a link that one fills take n times as long. */
static void equal_flows_share_alike(void **state)
{
    (void)state;
    for (int n = 1; n <= 8; n++) {
        small_begin(n, 1);
        small_link(10.0);
        small_route(0, 1);
        for (int d = 0; d < n; d++)
            small_add(d,
                      (struct engine_task){
                          .seconds = 3.0, .latency = 1.0, .rate = 10.0, .route = 1, .label = SMALL_TRANSFER});
        assert_near(makespan(), 1.0 + 2.0 * n);
    }
}

/* Three links in a row of capacity 1, and four flows of 1 byte: one over all links, and one over each link, where the last
 * link has capacity 2. Fair rates are 1/2 for the long flow and the two beside it, and 3/2 for the last one; it has 1 as its
 * own rate. */
static void bottlenecks_are_filled_one_after_the_other(void **state)
{
    (void)state;
    small_begin(4, 1);
    small_link(1.0);
    small_link(1.0);
    small_link(2.0);
    small_route(0, 3);
    for (int i = 0; i < 3; i++)
        small_route(i, 1);
    for (int d = 0; d < 4; d++)
        small_add(d,
                  (struct engine_task){
                      .seconds = d == 3 ? 4.0 : 1.0, .rate = 1.0, .route = d + 1, .label = SMALL_TRANSFER});
    struct engine_result result = play_with(NULL);
    assert_near(result.devices[0].end, 2.0);
    assert_near(result.devices[1].end, 2.0);
    assert_near(result.devices[2].end, 2.0);
    assert_true(result.devices[3].end == 4.0);
    assert_int_equal(result.flow_changes, 8);
    /* The first two links are full until their flows end, the third one never is. */
    assert_near(result.full[0], 2.0);
    assert_near(result.full[1], 2.0);
    assert_true(result.full[2] == 0.0);
    engine_result_release(&result);
}

/* A flow of weight 3 gets the same rate as one of weight 1: a link of 8 gives 2 to each. */
static void weights_count_lanes(void **state)
{
    (void)state;
    small_begin(2, 1);
    small_link(8.0);
    small_route(0, 1);
    small_route(0, 1);
    static struct engine_use heavy = {0, 3 * ENGINE_WEIGHT};
    small.routes[1].uses = &heavy;
    small_add(0, (struct engine_task){
                     .seconds = 1.0, .rate = 4.0, .route = 1, .label = SMALL_TRANSFER, .bytes = 4.0});
    small_add(1, (struct engine_task){
                     .seconds = 1.0, .rate = 2.0, .route = 2, .label = SMALL_TRANSFER, .bytes = 2.0});
    struct engine_result result = play_with(NULL);
    /* 2 bytes each after 1 s; then the first has the link. */
    assert_near(result.devices[1].end, 1.0);
    assert_near(result.devices[0].end, 1.5);
    assert_int_equal(result.carried[0], 4 + 3 * 2);
    engine_result_release(&result);
}

/* ---- kernels and streams ---- */

/* A collective of 2 s with a quarter of the multiprocessors beside a kernel of 4 s: it does 1.5 s of work in these 2 s. */
static void collectives_slow_kernels(void **state)
{
    (void)state;
    small_begin(1, 1);
    small_add(0, (struct engine_task){.seconds = 1.0, .mark = 1, .label = SMALL_KERNEL});
    small_add(0, (struct engine_task){.seconds = 2.0,
                                      .share = 0.25,
                                      .waits = {1},
                                      .stream = STREAM_COLLECTIVE,
                                      .label = SMALL_TRANSFER});
    small_add(0, (struct engine_task){.seconds = 4.0, .label = SMALL_KERNEL});
    assert_near(makespan(), 1.0 + 2.0 + 2.5);
}

/* Gathers of g seconds, each waiting for the kernel `depth` layers before: the slower stream sets the pace; with depth 1
 * they take turns. Marks hold across passes. */
static void gathers_are_prefetched(void **state)
{
    (void)state;
    enum { LAYERS = 10, PASSES = 7 };
    for (int depth = 1; depth <= 2; depth++) {
        for (int halves = 1; halves <= 4; halves++) {
            double gather = halves / 2.0;
            small_begin(1, PASSES);
            for (int i = 0; i < LAYERS; i++) {
                uint16_t before = (uint16_t)(100 + (i - depth + LAYERS) % LAYERS);
                small_add(0, (struct engine_task){.seconds = gather,
                                                  .waits = {before},
                                                  .mark = (uint16_t)(i + 1),
                                                  .stream = STREAM_COLLECTIVE,
                                                  .label = SMALL_TRANSFER});
                small_add(0, (struct engine_task){
                                 .seconds = 1.0, .waits = {(uint16_t)(i + 1)}, .mark = (uint16_t)(100 + i)});
            }
            double n = LAYERS * PASSES;
            assert_near(makespan(),
                        depth == 1 ? n * (gather + 1.0) : gather + (n - 1.0) * fmax(gather, 1.0) + 1.0);
        }
    }
}

/* Two devices: a kernel of 1 s, a message of 0.5 s, a kernel. The second device waits 1 s for work and 0.5 s for the link. */
static void waiting_time_has_causes(void **state)
{
    (void)state;
    small_begin(2, 1);
    small_add(0, (struct engine_task){.seconds = 1.0, .mark = 1, .label = SMALL_KERNEL});
    small_add(0,
              (struct engine_task){
                  .seconds = 0.5, .waits = {1}, .send = 1, .stream = STREAM_SEND, .label = SMALL_TRANSFER});
    small_add(1, (struct engine_task){.seconds = 2.0, .receive = 1, .label = SMALL_KERNEL});
    struct engine_result result = play_with(NULL);
    const struct engine_seconds *transfer = &result.seconds[1 * SMALL_LABELS + SMALL_TRANSFER];
    assert_near(transfer->waited, 1.0);
    assert_near(transfer->exposed, 0.5);
    assert_near(transfer->busy, 0.0);
    assert_near(result.seconds[1 * SMALL_LABELS + SMALL_KERNEL].busy, 2.0);
    assert_near(result.makespan, 3.5);
    engine_result_release(&result);
}

/* Where sending blocks, the sender is busy as well as the receiver. */
static void sends_block(void **state)
{
    (void)state;
    small_begin(2, 4);
    small_add(0, (struct engine_task){.seconds = 1.0, .label = SMALL_KERNEL});
    small_add(
        0, (struct engine_task){.seconds = 0.25, .send = 1, .send_at_begin = true, .label = SMALL_TRANSFER});
    small_add(1, (struct engine_task){.seconds = 0.25, .receive = 1, .label = SMALL_TRANSFER});
    small_add(1, (struct engine_task){.seconds = 1.0, .label = SMALL_KERNEL});
    assert_near(makespan(), 1.0 + 4 * 1.25);
}

static void stragglers_and_jitter_follow_the_device(void **state)
{
    (void)state;
    small_begin(2, 1);
    for (int d = 0; d < 2; d++)
        small_add(d, (struct engine_task){.seconds = 1.0, .label = SMALL_KERNEL});
    small.devices[1].factor = 1.5;
    assert_near(makespan(), 1.5);
    small.system.jitter = 0.1;
    small.system.seed = 3;
    small.devices[0].key = 8;
    small.devices[1].key = 9;
    struct engine_result result = play_with(NULL);
    assert_true(result.devices[0].end == engine_jitter(3, 8, 0, 0, 0.1));
    assert_true(result.devices[1].end == 1.5 * engine_jitter(3, 9, 0, 0, 0.1));
    engine_result_release(&result);
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < 100000; i++) {
        double factor = engine_jitter(1, 2, (size_t)(i / 100), i % 100, 0.1);
        sum += factor / 100000;
        squares += factor * factor / 100000;
    }
    assert_true(fabs(sum - 1.0) < 2e-3);
    assert_true(fabs(sqrt(squares - sum * sum) - 0.1) < 2e-3);
}

static void a_device_is_slow_for_a_while(void **state)
{
    (void)state;
    small_begin(1, 4);
    small_add(0, (struct engine_task){.seconds = 1.0, .label = SMALL_KERNEL});
    small.devices[0].factor = 2.0;
    small.devices[0].slow_from = 0.5;
    small.devices[0].slow_until = 2.5; /* in which one second of work is done, not two */
    assert_near(makespan(), 5.0);
    small.devices[0].slow_until = 100.0;
    assert_near(makespan(), 7.5);
    small.devices[0].slow_from = 4.0;
    assert_near(makespan(), 4.0);
}

/* ---- memory ---- */

static void memory_has_a_peak_and_its_parts(void **state)
{
    (void)state;
    struct engine_change first[] = {{MEMORY_ACTIVATIONS, false, 100}},
                         second[] = {{MEMORY_ACTIVATIONS, true, -100}, {MEMORY_GRADIENTS, false, 7}},
                         buffer[] = {{MEMORY_WORKING, false, 1000}, {MEMORY_WORKING, true, -1000}};
    small_begin(1, 1);
    small.devices[0].memory[MEMORY_PARAMETERS] = 5000;
    small_add(0, (struct engine_task){.seconds = 1.0, .changes = first, .change_count = 1});
    small_add(0, (struct engine_task){.seconds = 0.5,
                                      .changes = buffer,
                                      .change_count = 2,
                                      .stream = STREAM_COLLECTIVE,
                                      .label = SMALL_TRANSFER});
    small_add(0, (struct engine_task){.seconds = 1.0, .changes = second, .change_count = 2});
    struct engine_result result = play_with(NULL);
    assert_int_equal(result.devices[0].peak, 6100);
    assert_int_equal(result.devices[0].peak_of[MEMORY_WORKING], 1000);
    assert_int_equal(result.devices[0].peak_of[MEMORY_GRADIENTS], 0);
    assert_true(result.devices[0].peak_time == 0.0);
    engine_result_release(&result);
}

static int moments;
static double last_moment;

/* Of the next test, at every moment. */
static bool check_memory(void *context, const struct timeline_memory *memory, struct error *err)
{
    (void)context;
    (void)err;
    assert_true(moments == 0 || memory->time > last_moment);
    assert_true(memory->working == (memory->time < 30.0 ? 10.0 : 0.0));
    assert_true(memory->activations == (memory->time < 60.0 ? 1.0 : 0.0));
    assert_true(memory->parameters == 7.0);
    last_moment = memory->time;
    moments++;
    return true;
}

/* A stream is far ahead of the other one; their changes are put into the order of time. */
static void changes_of_streams_are_merged(void **state)
{
    (void)state;
    struct engine_change slow[] = {{MEMORY_ACTIVATIONS, false, 1}, {MEMORY_ACTIVATIONS, true, -1}},
                         fast[] = {{MEMORY_WORKING, false, 10}, {MEMORY_WORKING, true, -10}};
    struct timeline_sink sink = {.memory = check_memory};
    small_begin(1, 60);
    small.devices[0].memory[MEMORY_PARAMETERS] = 7;
    small_add(0, (struct engine_task){.seconds = 1.0, .changes = slow, .change_count = 2});
    small_add(
        0, (struct engine_task){.seconds = 0.5, .changes = fast, .change_count = 2, .stream = STREAM_HOST});
    moments = 0;
    struct engine_result result = play_with(&sink);
    assert_int_equal(moments, 91); /* halves of seconds to 30, then seconds to 60 */
    assert_int_equal(result.devices[0].peak, 18);
    engine_result_release(&result);
    small_begin(1, 1);
    small.devices[0].memory[MEMORY_PARAMETERS] = 7;
    result = play_with(NULL);
    assert_int_equal(result.devices[0].peak, 7);
    assert_int_equal(result.devices[0].peak_of[MEMORY_PARAMETERS], 7);
    engine_result_release(&result);
}

/* ---- causes ---- */

static struct timeline_task seen[1000];
static int seen_count;

static bool see(void *context, const struct timeline_task *task, struct error *err)
{
    (void)context;
    (void)err;
    seen[seen_count++] = *task;
    return true;
}

static bool refuse(void *context, const struct timeline_task *task, struct error *err)
{
    (void)context;
    return error_set(err, ERROR_FAILED, "no room for task %d", (int)task->id);
}

/* In a chain of three devices with jitter, the way back from the last task has no holes and begins at 0. */
static void causes_lead_back_to_the_beginning(void **state)
{
    (void)state;
    small_begin(3, 8);
    small_group(3, -1);
    for (int d = 0; d < 3; d++) {
        if (d > 0)
            small_add(d, (struct engine_task){
                             .receive = d, .mark = 3, .stream = STREAM_RECEIVE, .label = SMALL_TRANSFER});
        small_add(
            d, (struct engine_task){.seconds = 1.0 + d, .waits = {3, 4}, .mark = 1, .label = SMALL_KERNEL});
        if (d < 2)
            small_add(d, (struct engine_task){.seconds = 0.5,
                                              .waits = {1},
                                              .send = d + 1,
                                              .stream = STREAM_SEND,
                                              .label = SMALL_TRANSFER});
    }
    /* The devices meet after each pass; one of them is the last. */
    for (int d = 0; d < 3; d++)
        small_add(d, (struct engine_task){.seconds = 0.25,
                                          .waits = {1},
                                          .mark = 4,
                                          .group = 1,
                                          .stream = STREAM_HOST,
                                          .label = SMALL_TRANSFER});
    for (int d = 0; d < 3; d++)
        small.devices[d].key = (uint64_t)d;
    small.system.jitter = 0.9;
    seen_count = 0;
    struct timeline_sink sink = {.task = see};
    struct engine_result result = play_with(&sink);
    assert_int_equal(seen_count, result.tasks);
    int last = 0, steps = 0;
    for (int i = 0; i < seen_count; i++)
        last = seen[i].end > seen[last].end ? i : last;
    assert_true(seen[last].end == result.makespan);
    for (int at = last; seen[at].begin > 0.0; steps++) {
        int from = (int)seen[at].cause;
        for (int i = at - 1; i >= 0 && from < 0; i--) {
            if (seen[i].device == seen[at].device && seen[i].stream == seen[at].stream)
                from = i;
        }
        assert_in_range(from, 0, at - 1);
        assert_true(seen[from].end == seen[at].begin);
        at = from;
    }
    assert_true(steps >= 10);
    engine_result_release(&result);
    sink.task = refuse;
    struct error err;
    assert_false(engine_run(&small.system, &sink, &result, &err));
    assert_string_equal(err.text, "no room for task 0");
    engine_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collective_alone_takes_exactly_its_seconds),
        cmocka_unit_test(equal_flows_share_alike),
        cmocka_unit_test(bottlenecks_are_filled_one_after_the_other),
        cmocka_unit_test(weights_count_lanes),
        cmocka_unit_test(collectives_slow_kernels),
        cmocka_unit_test(gathers_are_prefetched),
        cmocka_unit_test(waiting_time_has_causes),
        cmocka_unit_test(sends_block),
        cmocka_unit_test(stragglers_and_jitter_follow_the_device),
        cmocka_unit_test(a_device_is_slow_for_a_while),
        cmocka_unit_test(memory_has_a_peak_and_its_parts),
        cmocka_unit_test(changes_of_streams_are_merged),
        cmocka_unit_test(causes_lead_back_to_the_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
