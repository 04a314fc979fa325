/* Timelines, as gnuplot is told to draw them. */
#include "figure/scripts.h"

#include "figure/gantt.h"

static const struct gantt_options plain = {.style = &figure_screen,
                                           .title = "a run",
                                           .devices = 2,
                                           .depth = 2,
                                           .memory_title = "activations",
                                           .memory_unit = FIGURE_COUNT};

static void add(struct gantt *gantt, int device, enum timeline_kind kind, int stage, int64_t microbatch,
                double begin, double end)
{
    struct error err;
    const struct timeline_sink sink = gantt_sink(gantt);
    const struct timeline_task task = {.device = device,
                                       .stream = kind == TASK_SEND         ? STREAM_SEND
                                                 : kind == TASK_COLLECTIVE ? STREAM_COLLECTIVE
                                                                           : STREAM_COMPUTE,
                                       .kind = kind,
                                       .stage = stage,
                                       .microbatch = microbatch,
                                       .begin = begin,
                                       .end = end,
                                       .name = ""};
    assert_true(sink.task(sink.context, &task, &err));
}

static void keep(struct gantt *gantt, int device, double time, double activations)
{
    struct error err;
    const struct timeline_sink sink = gantt_sink(gantt);
    const struct timeline_memory memory = {
        .device = device, .time = time, .parameters = 0.5, .activations = activations - 0.5};
    assert_true(sink.memory(sink.context, &memory, &err));
}

static void draw(struct gantt *gantt, const char *name)
{
    struct error err;
    expect_drawn(gantt_draw(gantt, picture(), &err), &err, name);
    gantt_free(gantt);
}

/* Numbers stand in bars that are wide enough, chunks have two tones, and the passes of a pair share the row. */
static void passes_are_bars_with_numbers(void **state)
{
    (void)state;
    struct error err;
    struct gantt *gantt = gantt_new(&plain, &err);
    assert_non_null(gantt);
    add(gantt, 0, TASK_FORWARD, 0, 0, 0, 1);
    add(gantt, 0, TASK_FORWARD, 2, 12, 1, 1.01);
    add(gantt, 1, TASK_FORWARD, 1, 0, 1, 2);
    add(gantt, 1, TASK_INPUT, 3, 0, 2, 3);
    add(gantt, 1, TASK_WEIGHT, 3, 0, 3, 4);
    add(gantt, 0, TASK_BACKWARD, 2, 1, 2, 4);
    add(gantt, 0, TASK_FORWARD, 0, 2, 2, 4);
    draw(gantt, "gantt");
}

/* Transfers lie below, and the memory of the fullest device comes first. */
static void transfers_and_memory_are_below(void **state)
{
    (void)state;
    struct error err;
    struct gantt_options options = plain;
    options.style = &figure_paper;
    options.memory_unit = FIGURE_BYTES;
    options.devices = 3;
    struct gantt *gantt = gantt_new(&options, &err);
    assert_non_null(gantt);
    add(gantt, 0, TASK_FORWARD, 0, 0, 0, 1);
    add(gantt, 0, TASK_SEND, 0, 0, 1, 1.5);
    add(gantt, 1, TASK_COLLECTIVE, -1, -1, 1, 2);
    add(gantt, 2, TASK_OPTIMIZER, -1, -1, 2, 3);
    keep(gantt, 0, 0, 1e9);
    keep(gantt, 1, 0.5, 2e9);
    keep(gantt, 1, 0.5001, 3e9);
    keep(gantt, 1, 0.5002, 1e9);
    keep(gantt, 2, 1, 5e8);
    draw(gantt, "gantt-memory");
}

/* Of 1,000 devices 64 have a row; bars thinner than a pixel are joined, in the colour of the longest. */
static void many_devices_and_passes_are_drawn_together(void **state)
{
    (void)state;
    struct error err;
    struct gantt_options options = plain;
    options.devices = 1000;
    struct gantt *gantt = gantt_new(&options, &err);
    assert_non_null(gantt);
    for (int device = 0; device < 1000; device++)
        for (int i = 0; i < 30; i++) {
            add(gantt, device, TASK_FORWARD, 0, i, i, i + 0.7);
            add(gantt, device, TASK_WEIGHT, 0, i, i + 0.7, i + 0.701);
        }
    draw(gantt, "gantt-many");
}

/* Runs have one time axis, and the colours of all stand in the legend of the first. */
static void several_runs_lie_below_each_other(void **state)
{
    (void)state;
    struct error err;
    struct gantt *gantts[2];
    struct gantt_options options = plain;
    for (int i = 0; i < 2; i++) {
        options.panel_title = i == 0 ? "one" : "two";
        gantts[i] = gantt_new(&options, &err);
        assert_non_null(gantts[i]);
        add(gantts[i], 0, i == 0 ? TASK_FORWARD : TASK_WEIGHT, 0, 0, 0, i == 0 ? 1 : 4);
    }
    expect_drawn(gantt_draw_all(gantts, 2, picture(), &err), &err, "gantt-several");
    gantt_free(gantts[0]);
    gantt_free(gantts[1]);
    assert_false(gantt_draw_all(gantts, 0, picture(), &err));
}

static void a_run_without_tasks_is_refused(void **state)
{
    (void)state;
    struct error err;
    struct gantt *gantt = gantt_new(&plain, &err);
    assert_non_null(gantt);
    assert_false(gantt_draw(gantt, picture(), &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    gantt_free(gantt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_are_bars_with_numbers),
        cmocka_unit_test(transfers_and_memory_are_below),
        cmocka_unit_test(many_devices_and_passes_are_drawn_together),
        cmocka_unit_test(several_runs_lie_below_each_other),
        cmocka_unit_test(a_run_without_tasks_is_refused),
    };
    return cmocka_run_group_tests_name("gantt_scripts", tests, setup, teardown);
}
