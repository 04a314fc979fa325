/* Parts of a run by hand-made numbers: the seconds of emulated links, the memory that hosts need, what was
 * done otherwise than scheduled, and what a result says. */
#include "run/need.h"
#include "run/player.h"
#include "run/price.h"
#include "run/run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- links ---- */

enum { COMPUTES, SENDS, RECEIVES, COLLECTS, LABELS };
static const struct engine_label labels[LABELS] = {[COMPUTES] = {"forward", TASK_FORWARD},
                                                   [SENDS] = {"send", TASK_SEND},
                                                   [RECEIVES] = {"receive", TASK_RECEIVE},
                                                   [COLLECTS] = {"tensor", TASK_COLLECTIVE}};

#define MAX_MEMBERS 20
#define TASKS       7
#define GROUPS      12 /* numbers of a device's groups */

/* One template, of `members` devices in a group of each kind. */
struct made {
    struct engine_task tasks[TASKS];
    struct engine_template template;
    struct engine_device devices[2];
    struct engine_group groups[2];
    int numbers[2][GROUPS];
    struct engine_system system;
};

/* A group of the plan whose collectives are of a kind. */
static int group_of(enum sim_collective kind)
{
    for (int group = 1; group <= GROUPS; group++)
        if (sim_task_collective(&(struct engine_task){.bytes = 1, .group = group}) == kind)
            return group;
    fail_msg("no group of kind %d", (int)kind);
    return 0;
}

static void make(struct made *made, int members)
{
    const int gather = group_of(SIM_ALL_GATHER), reduce = group_of(SIM_ALL_REDUCE);
    *made = (struct made){
        .tasks = {{.label = COMPUTES, .seconds = 5, .bytes = 100},
                  {.label = SENDS, .seconds = 5, .bytes = 300, .send = 1, .route = 2, .rate = 4},
                  {.label = RECEIVES, .seconds = 0, .bytes = 300, .receive = 1},
                  {.label = RECEIVES, .seconds = 5, .bytes = 300, .receive = 1},
                  {.label = COLLECTS, .seconds = 5, .bytes = 700, .group = gather, .rate = 4},
                  {.label = COLLECTS, .seconds = 5, .bytes = 700, .group = reduce},
                  {.label = COLLECTS, .seconds = 0, .group = reduce}}};
    made->template = (struct engine_template){made->tasks, TASKS, {0, -1}};
    made->groups[0] = (struct engine_group){1, 3};
    made->groups[1] = (struct engine_group){members, 3};
    for (int g = 0; g < GROUPS; g++)
        made->numbers[0][g] = -1; /* the first device has no groups, but for one member that it is itself */
    made->numbers[0][gather - 1] = 0;
    for (int g = 0; g < GROUPS; g++)
        made->numbers[1][g] = 1;
    for (int d = 0; d < 2; d++)
        made->devices[d] =
            (struct engine_device){.rank = d, .groups = made->numbers[d], .group_count = GROUPS};
    made->system = (struct engine_system){.labels = labels,
                                          .templates = &made->template,
                                          .devices = made->devices,
                                          .groups = made->groups,
                                          .label_count = LABELS,
                                          .template_count = 1,
                                          .device_count = 2,
                                          .group_count = 2};
}

/* A message takes a latency; a collective one for each doubling of those that have heard, and back if it reduces. */
static void links_have_latency_and_bandwidth(void **state)
{
    (void)state;
    for (int members = 1; members <= MAX_MEMBERS; members++)
        for (int bandwidth = 0; bandwidth <= 10; bandwidth += 10) {
            const struct run_link link = {.kind = RUN_LINK_GIVEN, .latency = 2, .bandwidth = bandwidth};
            struct made made;
            struct arena arena = {0};
            struct engine_system priced;
            struct error err;
            double doublings = ceil(log2(members)), bytes = bandwidth > 0 ? 1.0 / bandwidth : 0;
            make(&made, members);
            assert_true(run_price_link(&made.system, &link, &arena, &priced, &err));
            const double expected[TASKS] = {5,
                                            300 * bytes + 2,
                                            0,
                                            300 * bytes + 2,
                                            700 * bytes + 2 * doublings,
                                            700 * bytes + 4 * doublings,
                                            0};
            for (int i = 0; i < TASKS; i++) {
                const struct engine_task *task = &priced.templates[0].tasks[i];
                if (fabs(task->seconds - expected[i]) > 1e-12)
                    fail_msg("%d members, task %d: %g s, not %g", members, i, task->seconds, expected[i]);
                if (i > 0 && i < TASKS - 1) {
                    assert_true(task->latency == task->seconds && task->rate == 0);
                    assert_int_equal(task->route, 0);
                }
                assert_true(task->bytes == made.tasks[i].bytes);
            }
            assert_int_equal(priced.groups[1].members, members);
            assert_int_equal(priced.groups[1].route, -1);
            assert_true(made.tasks[1].seconds == 5); /* the plan's own stay */
            arena_release(&arena);
        }
}

/* The plan's links are played as they are; over the hosts' network alone transfers take no seconds of their own. */
static void other_links_are_the_plans_or_the_hosts(void **state)
{
    (void)state;
    for (enum run_link_kind kind = RUN_LINK_PLAN; kind <= RUN_LINK_HOST; kind++) {
        const struct run_link link = {.kind = kind, .latency = 2, .bandwidth = 10};
        struct made made;
        struct arena arena = {0};
        struct engine_system priced, played;
        struct error err;
        make(&made, 4);
        assert_true(run_price_link(&made.system, &link, &arena, &priced, &err));
        assert_true(run_free_link(&made.system, &link, &arena, &played, &err));
        assert_int_equal(priced.templates == made.system.templates, kind != RUN_LINK_GIVEN);
        assert_int_equal(played.templates == made.system.templates, kind != RUN_LINK_HOST);
        for (int i = 0; i < TASKS; i++)
            assert_true(played.templates[0].tasks[i].seconds ==
                        (kind == RUN_LINK_HOST && i > 0 ? 0 : made.tasks[i].seconds));
        arena_release(&arena);
    }
}

static void links_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "latency",
        "latency=",
        "latency=-1us",
        "bandwidth=0",
        "bandwidth=-1",
        "plans",
        "latency=20us bandwidth=1",
        "bandwidth=1000000000000000000000000000000000000000000000000000000000000000000"};
    struct run_link link;
    struct error err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (run_link_read(&link, wrong[i], &err))
            fail_msg("'%s' is read", wrong[i]);
        assert_int_equal(err.kind, ERROR_USAGE);
    }
    assert_true(run_link_read(&link, "plan", &err));
    assert_int_equal(link.kind, RUN_LINK_PLAN);
    assert_true(run_link_read(&link, "latency=0us", &err)); /* as fast as the bytes are */
    assert_true(link.kind == RUN_LINK_GIVEN && link.latency == 0 && link.bandwidth == 0);
}

/* ---- memory ---- */

static void needs_of_a_host_add_up(void **state)
{
    (void)state;
    static const struct need needs[] = {
        {"a", 600, 1000}, {"b", 1000, 1000}, {"a", 400, 999}, {"unknown", INT64_C(1) << 50, 0}};
    struct need_sum sum = {0};
    struct error err;
    for (size_t i = 0; i < 4; i++)
        assert_true(need_add(&sum, &needs[i], &err));
    assert_int_equal(sum.count, 3);
    assert_int_equal(sum.hosts[0].needed, 1000);
    assert_true(need_check(&sum, &err)); /* all of it may be used */
    assert_true(need_add(&sum, &(struct need){"b", 1, 1000}, &err));
    assert_false(need_check(&sum, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_string_equal(err.text,
                        "host b: messages and collectives need about 1001 B of memory, but 1000 B are free: "
                        "--byte-share 0.1 sends a tenth of all bytes, or use more hosts");
    need_release(&sum);
    assert_true(need_check(&sum, &err));
}

/* ---- what was done ---- */

static void other_deeds_than_scheduled_are_named(void **state)
{
    (void)state;
    static const struct engine_change changes[] = {
        {MEMORY_ACTIVATIONS, false, 64}, {MEMORY_ACTIVATIONS, true, -64}, {MEMORY_WORKING, false, 8}};
    const struct engine_task tasks[] = {{.label = SENDS, .send = 1, .changes = changes, .change_count = 3},
                                        {.label = RECEIVES, .receive = 2},
                                        {.label = COMPUTES}};
    const struct engine_template template = {tasks, 3, {0, -1}};
    const struct engine_pass passes[] = {{0, {0, 0}}, {0, {1, 0}}};
    const struct engine_order order = {passes, 2};
    const struct engine_device source = {.rank = 7};
    const struct engine_system system = {
        .templates = &template, .orders = &order, .devices = &source, .channel_count = 1};
    const struct player_device right = {.source = &source,
                                        .number = 1,
                                        .task_count = 6,
                                        .sent = 2,
                                        .received = 2,
                                        .kept = 2,
                                        .freed = 2,
                                        .peak = 64};
    static const struct {
        size_t at;
        const char *message;
    } cases[] = {
        {offsetof(struct player_device, task_count), "tasks done: 7, but the schedule has 6"},
        {offsetof(struct player_device, sent), "messages sent: 3, but the schedule has 2"},
        {offsetof(struct player_device, received), "messages received: 3, but the schedule has 2"},
        {offsetof(struct player_device, kept), "activations kept: 3, but the schedule has 2"},
        {offsetof(struct player_device, freed), "activations freed: 3, but the schedule has 2"},
        {offsetof(struct player_device, activations),
         "bytes of activations at the end: 1, but the schedule has 0"},
        {offsetof(struct player_device, peak), "peak bytes of activations: 65, but the schedule has 64"},
    };
    const int64_t peaks[] = {0, 64};
    struct player_device device = right;
    struct player_message message = {.microbatch = 5};
    struct player_channel channel = {.from = 3, .to = 1};
    const struct player player = {.system = &system, .count = 1, .devices = &device, .channels = &channel};
    struct error err;
    char text[200];
    assert_true(player_check(&player, peaks, &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        device = right;
        ++*(int64_t *)((char *)&device + cases[i].at);
        assert_false(player_check(&player, peaks, &err));
        snprintf(text, sizeof text, "device 1: %s", cases[i].message);
        assert_string_equal(err.text, text);
    }
    assert_true(player_check(&player, NULL, &err)); /* of a peak that is not known */
    device = right;
    channel.messages = &message;
    channel.count = 1;
    assert_false(player_check(&player, peaks, &err));
    assert_string_equal(err.text, "device 1, micro-batch 5: a message from device 3 that no task receives");
}

/* ---- results ---- */

static struct run_result result_of(double *simulated, double *played)
{
    return (struct run_result){.ranks = 2,
                               .devices = 8,
                               .per_rank = 4,
                               .iterations = 3,
                               .model = "m-1",
                               .schedule = "gpipe",
                               .computed = "a library",
                               .planned = 2,
                               .expected = 2.5,
                               .simulated = 4,
                               .played = 5,
                               .ends = {simulated, played},
                               .kernels_planned = 6,
                               .kernels_wall = 7,
                               .kernels_processor = 7.5,
                               .wall = 16,
                               .processor = 32,
                               .late_median = 1e-3,
                               .late_p99 = 2e-3,
                               .late_max = 3e-3,
                               .clock_drift = 5e-6,
                               .clock_error = 4e-6,
                               .counts = {.tasks = 11,
                                          .messages = 12,
                                          .collectives_checked = 13,
                                          .bytes = 14000,
                                          .wire_bytes = 15000,
                                          .copied_bytes = 16000,
                                          .samples = 17,
                                          .sample_bytes = 18000,
                                          .files = 19,
                                          .file_bytes = 20000,
                                          .kept = 21},
                               .memory = 22000,
                               .buffers = 23000};
}

static void prints(const struct run_result *result, const char *expected)
{
    struct text out = {0};
    run_print(result, &out);
    assert_string_equal(out.data, expected);
    text_release(&out);
}

static void a_result_is_printed(void **state)
{
    (void)state;
    struct run_result result = result_of(NULL, NULL);
    prints(&result,
           "3 iterations of 8 devices on 2 ranks, schedule gpipe\n"
           "\n"
           "time of an iteration (median), and its difference from the simulation:\n"
           "  expected   2.500 s\n"
           "  formula    2.000 s\n"
           "  simulated  4.000 s\n"
           "  played     5.000 s  (+25.00 %)\n"
           "\n"
           "11 tasks, as scheduled; 21 activations stored and freed\n"
           "12 messages of 13.7 KiB between devices; 14.6 KiB across ranks, 15.6 KiB within ranks\n"
           "17 samples of 17.6 KiB read\n"
           "19 files of checkpoints written, 19.5 KiB\n"
           "kernels computed by a library: 7.000 s (CPU 7.500 s), planned 6.000 s\n"
           "13 collectives with correct sums\n"
           "tasks end 1.000 ms late (median; p99 2.000 ms, max 3.000 ms)\n"
           "clocks of ranks agree within 4.000 us; a drift of 5 us per second was corrected\n"
           "each device: 25 % of a CPU and 21.5 KiB of memory; buffers of at most 22.5 KiB per rank\n");
}

/* What is unknown or did not happen is not said. */
static void a_small_result_is_printed(void **state)
{
    (void)state;
    struct run_result result = result_of(NULL, NULL);
    result.ranks = result.iterations = 1;
    result.expected = result.planned = NAN;
    result.computed = NULL;
    result.clock_drift = 0;
    result.counts.samples = result.counts.files = 0;
    prints(&result,
           "1 iteration of 8 devices on 1 rank, schedule gpipe\n"
           "\n"
           "time of an iteration, and its difference from the simulation:\n"
           "  formula    unknown\n"
           "  simulated  4.000 s\n"
           "  played     5.000 s  (+25.00 %)\n"
           "  slower: this host's processors or network did not keep up; --byte-share 0.1\n"
           "  sends a tenth of the bytes, --priority runs ranks before other programs\n"
           "\n"
           "11 tasks, as scheduled; 21 activations stored and freed\n"
           "12 messages of 13.7 KiB between devices; 14.6 KiB across ranks, 15.6 KiB within ranks\n"
           "13 collectives with correct sums\n"
           "tasks end 1.000 ms late (median; p99 2.000 ms, max 3.000 ms)\n"
           "each device: 25 % of a CPU and 21.5 KiB of memory; buffers of at most 22.5 KiB per rank\n");
    result.played = 4.4; /* as much as may be */
    struct text out = {0};
    run_print(&result, &out);
    assert_null(strstr(out.data, "slower"));
    text_release(&out);
}

static void a_document_has_every_number(void **state)
{
    (void)state;
    double simulated[] = {1, 2, 3}, played[] = {1.5, 2.5, 3.5};
    struct run_result result = result_of(simulated, played);
    struct text out = {0};
    struct json json = {.out = &out};
    run_write_json(&result, &json);
    assert_string_equal(
        out.data, "{\n"
                  "  \"format\": \"rehearse-run/1\",\n"
                  "  \"$schema\": \"https://rehearse.invalid/schema/run-1.json\",\n"
                  "  \"model\": \"m-1\",\n"
                  "  \"schedule\": \"gpipe\",\n"
                  "  \"computed\": \"a library\",\n"
                  "  \"ranks\": 2,\n"
                  "  \"devices\": 8,\n"
                  "  \"devices_per_rank\": 4,\n"
                  "  \"iterations\": 3,\n"
                  "  \"seconds\": {\"expected\": 2.5, \"planned\": 2, \"simulated\": 4, \"played\": 5},\n"
                  "  \"simulated_ends\": [1, 2, 3],\n"
                  "  \"played_ends\": [1.5, 2.5, 3.5],\n"
                  "  \"late\": {\"median\": 0.001, \"p99\": 0.002, \"max\": 0.003},\n"
                  "  \"kernels\": {\"planned\": 6, \"computed\": 7, \"processor\": 7.5},\n"
                  "  \"wall_seconds\": 16,\n"
                  "  \"processor_seconds\": 32,\n"
                  "  \"clock_error\": 4e-06,\n"
                  "  \"clock_drift\": 5e-06,\n"
                  "  \"tasks\": 11,\n"
                  "  \"activations\": 21,\n"
                  "  \"collectives_checked\": 13,\n"
                  "  \"messages\": 12,\n"
                  "  \"bytes\": {\"messages\": 14000, \"between_ranks\": 15000, \"copied\": 16000},\n"
                  "  \"loaded\": {\"samples\": 17, \"bytes\": 18000},\n"
                  "  \"saved\": {\"files\": 19, \"bytes\": 20000},\n"
                  "  \"memory\": {\"device\": 22000, \"buffers\": 23000}\n"
                  "}\n");
    out.length = 0;
    result.computed = NULL; /* whose seconds mean nothing then */
    struct json again = {.out = &out};
    run_write_json(&result, &again);
    assert_non_null(
        strstr(out.data, "\"kernels\": {\"planned\": null, \"computed\": null, \"processor\": null}"));
    assert_non_null(strstr(out.data, "\"computed\": null,\n"));
    text_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_have_latency_and_bandwidth),
        cmocka_unit_test(other_links_are_the_plans_or_the_hosts),
        cmocka_unit_test(links_are_refused),
        cmocka_unit_test(needs_of_a_host_add_up),
        cmocka_unit_test(other_deeds_than_scheduled_are_named),
        cmocka_unit_test(a_result_is_printed),
        cmocka_unit_test(a_small_result_is_printed),
        cmocka_unit_test(a_document_has_every_number),
    };
    return cmocka_run_group_tests_name("run/parts", tests, NULL, NULL);
}
