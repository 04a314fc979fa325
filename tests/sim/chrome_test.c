/* Timelines as Chrome traces: the trace-event format, Kineto's shape, arrows, and reading back. */
#include "core/file.h"
#include "sim/chrome.h"
#include "sim/replay/play.h"
#include "support/expect.h"
#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    return path;
}

static struct doc read_trace(const char *path)
{
    struct error err;
    char *text;
    size_t length;
    if (!file_read(path, (size_t)64 << 20, &text, &length, &err))
        fail_msg("%s", err.text);
    struct doc doc = json_of(text);
    free(text);
    return doc;
}

static double number(const struct doc_node *event, const char *key)
{
    const struct doc_node *node = doc_find(event, key);
    if (!node || node->type != DOC_NUMBER)
        fail_msg("'%s' is missing", key);
    return node->number;
}

static const char *string(const struct doc_node *event, const char *key)
{
    const struct doc_node *node = doc_find(event, key);
    return node && node->type == DOC_STRING ? node->text : "";
}

struct counts {
    int tasks, launches, starts, ends, counters, names, steps, transfers;
};

/* The rules of the trace-event format for the phases that are used (Google, "Trace Event Format", 2016), and those of
 * Kineto for its args. */
static void check_event(const struct doc_node *event, struct counts *counts)
{
    const char *phase = string(event, "ph"), *category = string(event, "cat");
    assert_int_equal(event->type, DOC_MAP);
    assert_int_equal(strlen(phase), 1);
    assert_non_null(strchr("XMsfC", *phase));
    assert_true(*string(event, "name") != '\0');
    number(event, "pid");
    number(event, "tid");
    assert_true(number(event, "ts") >= 0);
    const struct doc_node *args = doc_find(event, "args");
    if (*phase == 'X') {
        assert_true(number(event, "dur") >= 0);
        bool gpu = strcmp(category, "kernel") == 0 || strcmp(category, "gpu_memcpy") == 0;
        if (gpu) {
            assert_true(number(args, "stream") == number(event, "tid"));
            assert_true(number(args, "device") == number(event, "pid"));
            assert_true(number(args, "correlation") > 0 && number(args, "External id") > 0);
        }
        counts->tasks += gpu;
        counts->launches += strcmp(category, "cuda_runtime") == 0;
        counts->steps += strcmp(category, "user_annotation") == 0;
    }
    if (*phase == 's' || *phase == 'f') {
        number(event, "id");
        assert_true(*category != '\0');
    }
    if (*phase == 'M' || *phase == 'C')
        assert_int_equal(args->type, DOC_MAP);
    if (*phase == 'C')
        for (const struct doc_node *value = args->first_child; value; value = value->next)
            assert_int_equal(value->type, DOC_NUMBER);
    counts->starts += *phase == 's';
    counts->transfers += *phase == 's' && strcmp(category, "transfer") == 0;
    counts->ends += *phase == 'f';
    counts->counters += *phase == 'C';
    counts->names += strcmp(string(event, "name"), "thread_name") == 0;
}

static struct counts check_trace(const char *path, int rank)
{
    struct counts counts = {0};
    struct doc doc = read_trace(path);
    const struct doc_node *events = doc_find(doc.root, "traceEvents");
    const struct doc_node *distributed = doc_find(doc.root, "distributedInfo");
    assert_true(number(distributed, "rank") == rank);
    assert_true(number(distributed, "world_size") == 2);
    assert_string_equal(string(doc_find(doc.root, "deviceProperties")->first_child, "name"), "H100");
    for (const struct doc_node *event = events->first_child; event; event = event->next)
        check_event(event, &counts);
    doc_release(&doc);
    return counts;
}

/* Forward on device 0, send, receive and forward on device 1; a collective beside it; a checkpoint. */
static void give_small_run(const char *path)
{
    static const struct timeline_task tasks[] = {
        {0, -1, 0, STREAM_COMPUTE, TASK_FORWARD, 0, -1, 0, 0, 1.5, 0, "forward", 0, 0, 0},
        {1, 0, 0, STREAM_SEND, TASK_SEND, 0, -1, 0, 1.5, 1.75, 1e6, "send of \"activations\"", 0, 0, 0},
        {2, 1, 1, STREAM_RECEIVE, TASK_RECEIVE, 1, -1, 0, 1.5, 1.75, 1e6, "receive", 0, 0, 0},
        {3, 2, 1, STREAM_COMPUTE, TASK_FORWARD, 1, -1, 0, 1.75, 3, 0, NULL, 0, 0, 0},
        {4, 0, 0, STREAM_COMPUTE, TASK_FORWARD, 0, -1, 1, 1.5, 3, 0, "forward", 0, 0, 0},
        {5, 3, 1, STREAM_COLLECTIVE, TASK_COLLECTIVE, 1, -1, -1, 3, 3.5, 2e6, "all-reduce of gradients", 0, 0,
         0},
        {6, 4, 0, STREAM_HOST, TASK_SAVE, 0, -1, -1, 3, 4, 3e6, "checkpoint", 0, 0, 0},
        {7, 4, 0, STREAM_COMPUTE, TASK_INPUT, 0, -1, 0, 2.5, 3.5, 0, "beside the one before", 0, 0, 0},
    };
    static const struct timeline_memory memory = {1, 1.75, 10, 20, 30, 40, 50};
    struct error err;
    struct chrome_options options = {.device_name = "H100", .device_memory = 80e9, .world_size = 2};
    struct chrome *chrome = chrome_open(path, &options, &err);
    if (!chrome)
        fail_msg("%s", err.text);
    struct timeline_sink sink = chrome_sink(chrome);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        assert_true(sink.task(sink.context, &tasks[i], &err));
    assert_true(sink.memory(sink.context, &memory, &err));
    assert_true(chrome_close(chrome, true, &err));
}

static void a_run_is_written_as_the_format_has_it(void **state)
{
    (void)state;
    give_small_run(path_of("run.json"));
    struct counts counts = check_trace(path_of("run.json"), 0);
    assert_int_equal(counts.tasks, 8);
    assert_int_equal(counts.launches, 8);
    assert_int_equal(counts.starts, 6); /* all but the first one, and the one that follows on its own track */
    assert_int_equal(counts.ends, 6);
    assert_int_equal(counts.transfers, 1);
    assert_int_equal(counts.counters, 3 * 2 + 1);
    assert_int_equal(counts.names, 7); /* compute, beside, send and host; compute, receive and collective */
    assert_int_equal(counts.steps, 1);
}

/* What a link carries is told once: no more for each of the transfers on it. */
static void links_have_counters_beside_a_device(void **state)
{
    (void)state;
    static const struct timeline_link links[] = {{5, 0, "card 0 of node 0, out", 1.5, 4e6, 8e6},
                                                 {5, 0, "card 0 of node 0, out", 1.75, 0, 8e6}};
    static const struct timeline_task send = {0,   -1,   0,   STREAM_SEND, TASK_SEND, 0, -1, 0,
                                              1.5, 1.75, 1e6, "send",      0,         0, 0};
    struct error err;
    struct chrome_options options = {.device_name = "H100", .device_memory = 80e9, .world_size = 2};
    struct chrome *chrome = chrome_open(path_of("links.json"), &options, &err);
    assert_non_null(chrome);
    struct timeline_sink sink = chrome_sink(chrome);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        assert_true(sink.link(sink.context, &links[i], &err));
    assert_true(sink.task(sink.context, &send, &err));
    assert_true(chrome_close(chrome, true, &err));
    assert_int_equal(check_trace(path_of("links.json"), 0).counters, 2);
    struct doc doc = read_trace(path_of("links.json"));
    int found = 0;
    for (const struct doc_node *event = doc_find(doc.root, "traceEvents")->first_child; event;
         event = event->next)
        if (strcmp(string(event, "ph"), "C") == 0) {
            assert_string_equal(string(event, "name"), "card 0 of node 0, out, bytes/s of 8e+06");
            assert_true(number(doc_find(event, "args"), "rate") == links[found].rate);
            assert_true(number(event, "pid") == 0 && number(event, "ts") == 1e6 * links[found].time);
            found++;
        }
    assert_int_equal(found, 2);
    doc_release(&doc);
}

static void a_folder_has_a_file_for_each_device(void **state)
{
    (void)state;
    give_small_run(path_of("ranks/"));
    assert_int_equal(check_trace(path_of("ranks/rank-0.json"), 0).tasks, 5);
    assert_int_equal(check_trace(path_of("ranks/rank-1.json"), 1).tasks, 3);
}

static void replay_reads_what_is_written(void **state)
{
    struct replay replay;
    struct replay_graph graph;
    struct replay_result result;
    struct replay_options options = {0};
    struct error err;
    (void)state;
    give_small_run(path_of("run.json"));
    if (!replay_load(&replay, path_of("run.json"), &err) || !replay_graph_make(&graph, &replay, &err) ||
        !replay_play(&graph, &options, &result, &err))
        fail_msg("%s", err.text);
    assert_int_equal(replay.count, 8);
    assert_int_equal(result.device_count, 2);
    /* device 0: forward 0 to 3, beside it until 3.5; send 1.5 to 1.75; checkpoint 3 to 4 */
    assert_int_equal(result.shares[0].span, INT64_C(4000000000));
    assert_int_equal(result.shares[0].compute, INT64_C(3500000000));
    assert_int_equal(result.shares[0].communication, INT64_C(250000000));
    assert_int_equal(result.shares[0].overlap, INT64_C(250000000));
    assert_int_equal(result.shares[0].memory, INT64_C(1000000000));
    assert_int_equal(result.shares[0].idle, 0);
    assert_int_equal(result.shares[1].communication, INT64_C(750000000));
    assert_int_equal(result.shares[1].idle, 0);
    replay_result_release(&result);
    replay_graph_release(&graph);
    replay_release(&replay);
}

/* A send and its receive begin together when the pass ends: both have it as their cause. */
static void a_receive_gets_its_arrow_from_the_send(void **state)
{
    static const struct timeline_task tasks[] = {
        {0, -1, 0, STREAM_COMPUTE, TASK_FORWARD, 0, -1, 0, 0, 1.5, 0, "forward", 0, 0, 0},
        {1, 0, 0, STREAM_SEND, TASK_SEND, 0, -1, 0, 1.5, 1.75, 0, "send", 0, 0, 0},
        {2, 0, 1, STREAM_RECEIVE, TASK_RECEIVE, 1, -1, 0, 1.5, 1.75, 0, "receive", 0, 0, 0},
    };
    struct error err;
    struct chrome_options options = {.device_name = "H100", .world_size = 2};
    struct chrome *chrome = chrome_open(path_of("arrow.json"), &options, &err);
    (void)state;
    assert_non_null(chrome);
    struct timeline_sink sink = chrome_sink(chrome);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        assert_true(sink.task(sink.context, &tasks[i], &err));
    assert_true(chrome_close(chrome, true, &err));
    struct counts counts = check_trace(path_of("arrow.json"), 0);
    assert_int_equal(counts.starts, 2); /* to the send, and from it to the receive */
    assert_int_equal(counts.transfers, 1);
}

static void a_cause_long_ago_gets_no_arrow(void **state)
{
    struct error err;
    struct chrome_options options = {.device_name = "H100", .world_size = 2};
    struct chrome *chrome = chrome_open(path_of("long.json"), &options, &err);
    (void)state;
    assert_non_null(chrome);
    struct timeline_sink sink = chrome_sink(chrome);
    for (int64_t i = 0; i < 70000; i += 1) {
        struct timeline_task task = {.id = i,
                                     .cause = i == 69999 ? 3 : -1,
                                     .device = (int)(i % 2),
                                     .stage = -1,
                                     .layer = -1,
                                     .microbatch = -1,
                                     .begin = (double)i,
                                     .end = (double)i + 0.5};
        assert_true(sink.task(sink.context, &task, &err));
    }
    assert_true(chrome_close(chrome, true, &err));
    struct counts counts = check_trace(path_of("long.json"), 0);
    assert_int_equal(counts.tasks, 70000);
    assert_int_equal(counts.starts, 0);
    assert_int_equal(counts.ends, 0);
}

static void nothing_is_left_of_a_failed_run(void **state)
{
    struct error err;
    struct chrome_options options = {0};
    struct chrome *chrome = chrome_open(path_of("failed.json"), &options, &err);
    struct timeline_task wrong = {.device = -1};
    (void)state;
    assert_non_null(chrome);
    struct timeline_sink sink = chrome_sink(chrome);
    assert_false(sink.task(sink.context, &wrong, &err));
    assert_non_null(strstr(err.text, "device -1"));
    assert_false(chrome_close(chrome, false, &err));
    assert_int_not_equal(access(path_of("failed.json"), F_OK), 0);
}

/* Groups and the ends of messages are told as PyTorch's profiler does, and read back. */
static void groups_and_messages_are_told(void **state)
{
    const struct timeline_group group = {7, "gradients", "allreduce", (const int[]){0, 3}, 2};
    const struct timeline_task tasks[] = {
        {.device = 3,
         .stream = STREAM_COLLECTIVE,
         .kind = TASK_COLLECTIVE,
         .stage = -1,
         .layer = -1,
         .microbatch = -1,
         .cause = -1,
         .end = 1,
         .bytes = 4e6,
         .name = "gradients",
         .group = 7},
        {.id = 1,
         .device = 3,
         .stream = STREAM_SEND,
         .kind = TASK_SEND,
         .stage = -1,
         .layer = -1,
         .microbatch = -1,
         .cause = -1,
         .begin = 1,
         .end = 2,
         .bytes = 5e6,
         .name = "send",
         .message = 9,
         .peer = 1},
    };
    struct error err;
    struct replay replay;
    const struct chrome_options options = {.world_size = 4};
    (void)state;
    struct chrome *chrome = chrome_open(path_of("groups/"), &options, &err);
    assert_non_null(chrome);
    const struct timeline_sink sink = chrome_sink(chrome);
    assert_true(sink.group(sink.context, &group, &err));
    for (size_t i = 0; i < 2; i++)
        assert_true(sink.task(sink.context, &tasks[i], &err));
    assert_true(chrome_close(chrome, true, &err));
    assert_true(replay_load(&replay, path_of("groups/rank-3.json"), &err));
    assert_int_equal(replay.group_count, 1);
    assert_int_equal(replay.groups[0].rank_count, 2);
    assert_int_equal(replay.groups[0].ranks[1], 3);
    const struct replay_collective *told = replay_collective_of(&replay, &replay.activities[0]);
    assert_string_equal(replay.texts[told->name], "allreduce");
    assert_string_equal(replay.texts[told->description], "gradients");
    assert_int_equal(told->elements, 4000000); /* two ranks send 2 (2 - 1) / 2 of what they reduce */
    told = replay_collective_of(&replay, &replay.activities[1]);
    assert_string_equal(replay.texts[told->name], "send");
    assert_int_equal(told->source, 3);
    assert_int_equal(told->destination, 0);
    assert_int_equal(told->sequence, 9);
    replay_release(&replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_written_as_the_format_has_it),
        cmocka_unit_test(links_have_counters_beside_a_device),
        cmocka_unit_test(a_folder_has_a_file_for_each_device),
        cmocka_unit_test(replay_reads_what_is_written),
        cmocka_unit_test(groups_and_messages_are_told),
        cmocka_unit_test(a_receive_gets_its_arrow_from_the_send),
        cmocka_unit_test(a_cause_long_ago_gets_no_arrow),
        cmocka_unit_test(nothing_is_left_of_a_failed_run),
    };
    return cmocka_run_group_tests_name("chrome", tests, folder_make, folder_remove);
}
