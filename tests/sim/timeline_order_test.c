/* The timeline of an order: every pass once, no device does two things at once, causes come first, memory as timed. */
#include "sim/timeline_order.h"

#include "core/random.h"
#include "core/text.h"
#include "schedule/trial.h"
#include "sim/timeline.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_TASKS 20000

struct recording {
    struct timeline_task tasks[MAX_TASKS];
    double peaks[16], ends[16], kept[16];
    int64_t count;
};

static bool keep_task(void *context, const struct timeline_task *task, struct error *err)
{
    struct recording *recording = context;
    (void)err;
    assert_int_equal(task->id, recording->count);
    assert_true(recording->count < MAX_TASKS);
    recording->tasks[recording->count++] = *task;
    return true;
}

static bool keep_memory(void *context, const struct timeline_memory *memory, struct error *err)
{
    struct recording *recording = context;
    (void)err;
    assert_true(memory->time >= recording->ends[memory->device]);
    recording->ends[memory->device] = memory->time;
    recording->kept[memory->device] = memory->activations;
    recording->peaks[memory->device] = fmax(recording->peaks[memory->device], memory->activations);
    return true;
}

static struct recording *record(const char *name, const struct trial_options *options, struct trial *trial)
{
    struct error err;
    int chunks = options->chunks;
    struct recording *recording = calloc(1, sizeof *recording);
    assert_non_null(recording);
    const struct schedule *schedule = schedule_find(name, &chunks, &err);
    assert_non_null(schedule);
    if (!trial_by_name(schedule, options, trial, &err))
        fail_msg("%s: %s", name, err.text);
    const struct timeline_sink sink = {.context = recording, .task = keep_task, .memory = keep_memory};
    assert_true(timeline_of_order(&trial->order, &trial->options, &trial->timing, NULL, &sink, &err));
    return recording;
}

/* A task begins when its cause has ended. */
static void check_causes(const struct recording *recording)
{
    for (int64_t i = 0; i < recording->count; i++) {
        const struct timeline_task *task = &recording->tasks[i];
        assert_true(task->end >= task->begin);
        if (task->cause < 0) {
            assert_true(task->begin == 0.0);
            continue;
        }
        assert_true(task->cause < i);
        if (fabs(recording->tasks[task->cause].end - task->begin) > 1e-9)
            fail_msg("task %d begins at %g, its cause ends at %g", (int)i, task->begin,
                     recording->tasks[task->cause].end);
    }
}

/* Tasks are on the devices of their stages, and each send has a receive at the same time on the next device. */
static void check_places(const struct recording *recording, const struct trial *trial, bool sends)
{
    int64_t sent = 0;
    for (int64_t i = 0; i < recording->count; i++) {
        const struct timeline_task *task = &recording->tasks[i], *next = task + 1;
        assert_int_equal(task->device, trial->order.device_of[task->stage]);
        if (task->kind != TASK_SEND)
            continue;
        assert_int_equal(task->stream, STREAM_SEND);
        assert_int_equal(next->kind, TASK_RECEIVE);
        assert_int_equal(next->stream, STREAM_RECEIVE);
        assert_int_equal(abs(next->stage - task->stage), 1);
        assert_int_equal(next->microbatch, task->microbatch);
        assert_true(next->begin == task->begin && next->end == task->end && next->device != task->device);
        sent++;
    }
    assert_true(sends == (sent > 0));
}

static void check_devices(const struct recording *recording, const struct trial *trial, bool pairs)
{
    size_t passes = 0;
    for (int device = 0; device < trial->devices; device++) {
        double busy = 0.0, end = 0.0;
        for (int64_t i = 0; i < recording->count; i++) {
            const struct timeline_task *task = &recording->tasks[i];
            if (task->device != device || task->stream != STREAM_COMPUTE)
                continue;
            assert_true(pairs || task->begin >= end - 1e-9);
            end = task->end;
            busy += task->end - task->begin;
            passes++;
        }
        assert_true(pairs || fabs(busy - trial->timing.devices[device].busy) < 1e-9 * (1.0 + busy));
        assert_true(fabs(recording->peaks[device] - trial->timing.devices[device].peak) < 1e-9);
        assert_true(fabs(recording->kept[device]) < 1e-9);
    }
    assert_int_equal(passes, pass_order_count(&trial->order));
}

static void timelines_of_all_kinds_of_orders_hold(void **state)
{
    (void)state;
    static const char *const names[] = {"gpipe", "1f1b", "interleaved", "zb-h1", "dualpipev", "dualpipe"};
    uint64_t random = 3;
    for (int round = 0; round < 60; round++) {
        int which = round % 6;
        double times[4];
        for (int i = 0; i < 4; i++)
            times[i] = (double)(random_next(&random) % 9 + (i < 3));
        const struct trial_options options = {.devices = 2 + 2 * (int)(random_next(&random) % 3),
                                              .microbatches = 12 + 2 * (int)(random_next(&random) % 3),
                                              .forward = {&times[0], 1},
                                              .input = {&times[1], 1},
                                              .weight = {&times[2], 1},
                                              .send = {&times[3], 1}};
        struct trial trial;
        struct recording *recording = record(names[which], &options, &trial);
        check_causes(recording);
        check_places(recording, &trial, times[3] > 0.0);
        check_devices(recording, &trial, which >= 4);
        trial_release(&trial);
        free(recording);
    }
}

static void tasks_are_written_as_a_table(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    struct error err;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    const struct timeline_sink sink = timeline_csv(out);
    const struct timeline_task first = {.cause = -1,
                                        .stream = STREAM_COLLECTIVE,
                                        .kind = TASK_COLLECTIVE,
                                        .stage = -1,
                                        .layer = 3,
                                        .microbatch = -1,
                                        .begin = 0.1,
                                        .end = 1.0 / 3.0,
                                        .bytes = 1e9,
                                        .name = "a \"b\", c"};
    const struct timeline_task second = {.id = 1,
                                         .cause = 0,
                                         .device = 2,
                                         .stream = 27,
                                         .kind = TASK_OTHER,
                                         .stage = 4,
                                         .layer = -1,
                                         .microbatch = 5};
    assert_true(sink.task(sink.context, &first, &err) && sink.task(sink.context, &second, &err));
    assert_int_equal(fclose(out), 0);
    assert_string_equal(
        text, "id,cause,device,stream,kind,stage,layer,microbatch,begin,end,bytes,name\n"
              "0,,0,collective,collective,,3,,0.1,0.3333333333333333,1000000000,\"a \"\"b\"\", c\"\n"
              "1,0,2,27,other,4,,5,0,0,0,\"\"\n");
    free(text);
}

static int seen, failing;

static bool count_task(void *context, const struct timeline_task *task, struct error *err)
{
    (void)task;
    seen++;
    return context != &failing || error_set(err, ERROR_FAILED, "no more");
}

static void every_sink_gets_every_task(void **state)
{
    (void)state;
    struct timeline_sinks sinks = {.count = 0};
    struct error err;
    const struct timeline_sink counts = {.task = count_task}, nothing = {.context = NULL},
                               fails = {.context = &failing, .task = count_task};
    const struct timeline_task task = {.name = ""};
    const struct timeline_memory memory = {.device = 0};
    timeline_add_sink(&sinks, counts);
    timeline_add_sink(&sinks, nothing);
    timeline_add_sink(&sinks, counts);
    const struct timeline_sink all = timeline_to_all(&sinks);
    assert_true(all.task(all.context, &task, &err) && all.memory(all.context, &memory, &err));
    assert_int_equal(seen, 2);
    timeline_add_sink(&sinks, fails);
    timeline_add_sink(&sinks, counts);
    assert_false(all.task(all.context, &task, &err));
    assert_int_equal(seen, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timelines_of_all_kinds_of_orders_hold),
        cmocka_unit_test(tasks_are_written_as_a_table),
        cmocka_unit_test(every_sink_gets_every_task),
    };
    return cmocka_run_group_tests_name("timeline_order", tests, NULL, NULL);
}
