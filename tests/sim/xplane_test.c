/* Profiles of XLA: planes of GPUs, TPUs and hosts, written here field by field. */
#include "sim/replay/classes.h"
#include "sim/replay/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add_varint(struct text *out, uint64_t value)
{
    do {
        char byte = (char)((value & 127) | (value > 127 ? 128 : 0));
        text_add_bytes(out, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

static void add_number(struct text *out, uint32_t field, int64_t value)
{
    add_varint(out, (uint64_t)field << 3);
    add_varint(out, (uint64_t)value);
}

static void add_part(struct text *out, uint32_t field, const char *bytes, size_t length)
{
    add_varint(out, (uint64_t)field << 3 | 2);
    add_varint(out, length);
    text_add_bytes(out, bytes, length);
}

static void add_name(struct text *out, uint32_t field, const char *text)
{
    add_part(out, field, text, strlen(text));
}

/* Moves a message into another one. */
static void add_message(struct text *out, uint32_t field, struct text *message)
{
    add_part(out, field, message->data ? message->data : "", message->length);
    text_release(message);
}

/* An entry of a plane's lists of events (4) and stats (5). */
static void add_metadata(struct text *plane, uint32_t field, int64_t id, const char *name,
                         const char *display, const char *category)
{
    struct text entry = {0}, message = {0}, stat = {0};
    add_number(&message, 1, id);
    add_name(&message, 2, name);
    if (display)
        add_name(&message, 4, display);
    if (category) {
        add_number(&stat, 1, 9);
        add_name(&stat, 5, category);
        add_message(&message, 5, &stat);
    }
    add_number(&entry, 1, id);
    add_message(&entry, 2, &message);
    add_message(plane, field, &entry);
}

/* An event with up to one stat; `stat` 0: none. */
static void add_event(struct text *line, int64_t metadata, int64_t offset_ps, int64_t duration_ps,
                      int64_t stat, int64_t value)
{
    struct text event = {0}, inner = {0};
    add_number(&event, 1, metadata);
    add_number(&event, 2, offset_ps);
    add_number(&event, 3, duration_ps);
    if (stat > 0) {
        add_number(&inner, 1, stat);
        add_number(&inner, 3, value);
        add_message(&event, 4, &inner);
    }
    add_message(line, 4, &event);
}

static void begin_line(struct text *line, int64_t id, const char *name, int64_t origin_ns)
{
    add_number(line, 1, id);
    add_name(line, 2, name);
    add_number(line, 3, origin_ns);
}

static void add_stats(struct text *plane)
{
    add_metadata(plane, 5, 7, "correlation_id", NULL, NULL);
    add_metadata(plane, 5, 8, "memcpy_details", NULL, NULL);
    add_metadata(plane, 5, 9, "hlo_category", NULL, NULL);
    add_metadata(plane, 5, 10, "hlo_op", NULL, NULL);
    add_metadata(plane, 5, 11, "step_num", NULL, NULL);
}

static void assert_step(const struct replay *replay, int64_t number, int64_t begin, int64_t duration)
{
    struct ranks_step *steps;
    struct error err;
    size_t count;
    assert_true(ranks_steps(replay, &steps, &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(steps[0].number, number);
    assert_int_equal(steps[0].begin, begin);
    assert_int_equal(steps[0].end, begin + duration);
    free(steps);
}

/* Two kernels and a copy on two streams, launched by a host; lines that are derived from them count for nothing. */
static void write_gpu(struct text *space)
{
    struct text plane = {0}, line = {0};
    add_name(&plane, 2, "/device:GPU:1");
    begin_line(&line, 13, "Stream #13(Compute)", 1000);
    add_event(&line, 1, 500000, 2000400, 7, 11);
    add_event(&line, 2, 2500400, 1000000, 7, 12);
    add_message(&plane, 3, &line);
    begin_line(&line, 14, "Stream #14(MemcpyH2D)", 1000);
    add_event(&line, 3, 0, 900000, 8, 0);
    add_message(&plane, 3, &line);
    begin_line(&line, 2, "XLA Ops", 1000);
    add_event(&line, 1, 500000, 2000400, 0, 0);
    add_message(&plane, 3, &line);
    add_metadata(&plane, 4, 1, "loop_add_fusion", NULL, NULL);
    add_metadata(&plane, 4, 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", NULL, NULL);
    add_metadata(&plane, 4, 3, "MemcpyH2D", NULL, NULL);
    add_stats(&plane);
    add_message(space, 1, &plane);
    add_name(&plane, 2, "/host:CPU");
    begin_line(&line, 77, "python", 1000);
    add_event(&line, 4, 100000, 50000, 7, 11);
    add_event(&line, 4, 200000, 50000, 7, 12);
    add_event(&line, 5, 300000, 50000, 0, 0);
    add_event(&line, 6, 50000, 4000000, 11, 12);
    add_message(&plane, 3, &line);
    add_metadata(&plane, 4, 4, "cuLaunchKernel", NULL, NULL);
    add_metadata(&plane, 4, 5, "PjitFunction(step)", NULL, NULL);
    add_metadata(&plane, 4, 6, "train", NULL, NULL);
    add_stats(&plane);
    add_message(space, 1, &plane);
}

static void read_space(struct replay *replay, struct text *space)
{
    struct error err;
    if (!replay_parse(replay, "t.xplane.pb", space->data, space->length, &err))
        fail_msg("%s", err.text);
    text_release(space);
}

static void streams_of_gpus_and_their_launches_are_read(void **state)
{
    struct text space = {0};
    struct replay replay;
    (void)state;
    write_gpu(&space);
    read_space(&replay, &space);
    assert_int_equal(replay.count, 3);
    assert_int_equal(replay.call_count, 2);
    assert_int_equal(replay.events, 8);
    assert_step(&replay, 12, 50, 4000);
    assert_int_equal(replay.origin, 1000);
    assert_int_equal(replay.stream_count, 2);
    assert_int_equal(replay.streams[0].device, 1);
    assert_int_equal(replay.streams[0].number, 13);
    const struct replay_activity *copy = &replay.activities[0], *first = copy + 1, *second = copy + 2;
    assert_int_equal(copy->class, REPLAY_MEMORY);
    assert_string_equal(replay.texts[first->name], "loop_add_fusion");
    assert_int_equal(first->start, 500);
    assert_int_equal(second->class, REPLAY_COMMUNICATION);
    assert_int_equal(second->start, first->start + first->duration);
    assert_int_equal(replay.calls[second->call].begin, 200);
    replay_release(&replay);
}

/* A loop spans its operations, which count; a sparse core has streams of its own. */
static void operations_of_tpus_are_read(void **state)
{
    struct text space = {0}, plane = {0}, line = {0};
    struct replay replay;
    (void)state;
    add_name(&plane, 2, "/device:TPU:3");
    begin_line(&line, 1, "XLA Modules", 0);
    add_event(&line, 1, 0, 9000000, 0, 0);
    add_message(&plane, 3, &line);
    begin_line(&line, 2, "XLA Ops", 0);
    add_event(&line, 2, 0, 9000000, 0, 0);
    add_event(&line, 3, 1000000, 2000000, 0, 0);
    add_event(&line, 4, 3000000, 2000000, 0, 0);
    add_message(&plane, 3, &line);
    begin_line(&line, 9, "Steps", 0);
    add_event(&line, 6, 500000, 8000000, 0, 0);
    add_message(&plane, 3, &line);
    begin_line(&line, 3, "Async XLA Ops", 0);
    add_event(&line, 5, 1000000, 4000000, 0, 0);
    add_message(&plane, 3, &line);
    add_metadata(&plane, 4, 1, "jit_step(1)", NULL, NULL);
    add_metadata(&plane, 4, 2, "%while.1 = (f32[8]) while(...)", "while.1", NULL);
    add_metadata(&plane, 4, 3, "%fusion.2 = f32[8,8] fusion(...)", "fusion.2", "convolution fusion");
    add_metadata(&plane, 4, 4, "%all-reduce.4 = f32[8] all-reduce(...)", "all-reduce.4", "all-reduce");
    add_metadata(&plane, 4, 5, "%copy-start = f32[8] copy-start(...)", "copy-start", NULL);
    add_metadata(&plane, 4, 6, "41", NULL, NULL);
    add_stats(&plane);
    add_message(&space, 1, &plane);
    add_name(&plane, 2, "/device:TPU:3 SparseCore 1");
    begin_line(&line, 2, "XLA Ops", 0);
    add_event(&line, 1, 0, 1000000, 0, 0);
    add_message(&plane, 3, &line);
    add_metadata(&plane, 4, 1, "%gather.1 = f32[8] gather(...)", "gather.1", NULL);
    add_message(&space, 1, &plane);
    read_space(&replay, &space);
    assert_int_equal(replay.count, 4);
    assert_int_equal(replay.stream_count, 3);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(replay.streams[replay.activities[i].stream].device, 3);
    assert_int_equal(replay.streams[replay.activities[0].stream].number, 2002);
    assert_int_equal(replay.rules[replay.activities[1].name]->class, CLASS_MATMUL);
    assert_int_equal(replay.rules[replay.activities[2].name]->class, CLASS_COPY);
    assert_string_equal(replay.texts[replay.activities[3].name], "all-reduce.4 (all-reduce)");
    assert_int_equal(replay.activities[3].class, REPLAY_COMMUNICATION);
    assert_step(&replay, 41, 500, 8000);
    replay_release(&replay);
}

static void operations_of_a_host_alone_are_activities(void **state)
{
    struct text space = {0}, plane = {0}, line = {0};
    struct replay replay;
    (void)state;
    add_name(&plane, 2, "/host:CPU");
    begin_line(&line, -5, "tf_XLAPjRtCpuClient/1", 10);
    add_event(&line, 1, 0, 2000, 10, 0);
    add_event(&line, 2, 2000, 2000, 0, 0);
    add_message(&plane, 3, &line);
    add_metadata(&plane, 4, 1, "dot.3", NULL, NULL);
    add_metadata(&plane, 4, 2, "ThreadpoolListener::StartRegion", NULL, NULL);
    add_stats(&plane);
    add_message(&space, 1, &plane);
    read_space(&replay, &space);
    assert_int_equal(replay.count, 1);
    assert_int_equal(replay.streams[0].device, -1);
    assert_int_equal(replay.streams[0].number, -5);
    replay_release(&replay);
}

/* Cut off anywhere, it is refused, or read without what is missing. */
static void damaged_profiles_are_refused(void **state)
{
    struct text space = {0};
    struct replay replay;
    struct error err;
    (void)state;
    write_gpu(&space);
    for (size_t length = 0; length < space.length; length++)
        if (replay_parse(&replay, "t.xplane.pb", space.data, length, &err))
            replay_release(&replay);
        else
            assert_non_null(strstr(err.text, "t.xplane.pb: "));
    assert_false(replay_parse(&replay, "t.xplane.pb", "{\"traceEvents\": []}", 19, &err));
    assert_non_null(strstr(err.text, "not an XSpace"));
    text_release(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_of_gpus_and_their_launches_are_read),
        cmocka_unit_test(operations_of_tpus_are_read),
        cmocka_unit_test(operations_of_a_host_alone_are_activities),
        cmocka_unit_test(damaged_profiles_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
