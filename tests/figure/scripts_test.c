/* What gnuplot is told to draw, of small inputs, against scripts that were read and kept in tests/figure/scripts/. In the place of
 * gnuplot stands a program that copies its script. REHEARSE_UPDATE=1 writes the scripts anew, for you to read before you
 * commit them. */
#include "trace/traces.h"

#include "core/file.h"
#include "core/file_output.h"
#include "devices/tables.h"
#include "figure/differences.h"
#include "figure/plan.h"
#include "figure/scatter.h"
#include "figure/steps/steps.h"
#include "figure/style.h"
#include "figure/sweep.h"
#include "figure/trace/distribution.h"
#include "figure/trace/throughput.h"
#include "figure/trace/timeline.h"
#include "trace/steps/stats.h"

#include <math.h>

#define SECOND INT64_C(1000000000)

static char *path_before;

static int setup(void **state)
{
    char path[4096];
    if (folder_setup(state) != 0)
        return -1;
    write_file("gnuplot", "#!/bin/sh\nexec cat\n");
    assert_int_equal(chmod(in_folder("gnuplot"), 0755), 0);
    path_before = strdup(getenv("PATH"));
    snprintf(path, sizeof path, "%s:%s", folder.path, path_before);
    return setenv("PATH", path, 1);
}

static int teardown(void **state)
{
    setenv("PATH", path_before, 1);
    free(path_before);
    return folder_teardown(state);
}

static const char *picture(void)
{
    return in_folder("picture.svg");
}

#define ROWS_KEPT 12
#define SUMS      6

static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return *at ? at + 1 : at;
}

/* Adds the rows of a data block from `at` on, which ends at `end`. Of many every so-manieth stays, and the sums of all columns,
 * each row times its number. */
static void add_rows(struct text *out, const char *at, const char *end)
{
    int rows = 0, every;
    double sums[SUMS] = {0};
    for (const char *row = at; row < end; row = next_line(row))
        rows++;
    every = (rows + ROWS_KEPT - 1) / ROWS_KEPT;
    for (int i = 0; at < end; i++, at = next_line(at)) {
        if (i % every == 0)
            text_add_bytes(out, at, (size_t)(next_line(at) - at));
        char *number = (char *)(uintptr_t)at, *after;
        for (int column = 0; column < SUMS && *number != '\n';
             column++, number = after + strspn(after, " ")) {
            double value = strtod(number, &after);
            sums[column] += isfinite(value) ? (i + 1) * value : 0.0;
            after += strcspn(after, " \n"); /* what is no number */
        }
    }
    if (every == 1)
        return;
    text_format(out, "# %d rows; sums", rows);
    for (int column = 0; column < SUMS; column++)
        text_format(out, " %.9g", sums[column]);
    text_add(out, "\n");
}

/* The script with fewer rows of data. */
static void shorten(const char *script, struct text *out)
{
    while (*script) {
        const char *line = script;
        script = next_line(script);
        text_add_bytes(out, line, (size_t)(script - line));
        if (!strstr(line, "<< EOD\n") || strstr(line, "<< EOD\n") > script)
            continue;
        const char *end = script;
        while (*end && strncmp(end, "EOD\n", 4) != 0)
            end = next_line(end);
        add_rows(out, script, end);
        script = end;
    }
}

/* The first line in which the script differs from the one that was kept. */
static void expect_script(const char *name)
{
    char kept[512], *script, *expected;
    size_t length, expected_length, line = 1;
    struct text shorter = {0};
    struct error err;
    snprintf(kept, sizeof kept, "%s/tests/figure/scripts/%s.gnuplot", getenv("REHEARSE_SOURCE_ROOT"), name);
    assert_true(file_read(picture(), 1 << 20, &script, &length, &err));
    remove(picture());
    shorten(script, &shorter);
    free(script);
    if (getenv("REHEARSE_UPDATE"))
        assert_true(file_write(kept, shorter.data, shorter.length, &err));
    if (!file_read(kept, 1 << 20, &expected, &expected_length, &err))
        fail_msg("%s", err.text);
    const char *a = shorter.data, *b = expected;
    while (*a && strcspn(a, "\n") == strcspn(b, "\n") && strncmp(a, b, strcspn(a, "\n")) == 0) {
        a = next_line(a);
        b = next_line(b);
        line++;
    }
    if (*a || *b)
        fail_msg("%s:%zu:\n%.*s\ninstead of\n%.*s", kept, line, (int)strcspn(a, "\n"), a,
                 (int)strcspn(b, "\n"), b);
    text_release(&shorter);
    free(expected);
}

static void expect_drawn(bool drawn, const struct error *err, const char *name)
{
    if (!drawn)
        fail_msg("%s: %s", name, err->text);
    expect_script(name);
}

/* ---- plans ---- */

static const struct figure_plan_options screen = {.style = &figure_screen};

static void set_stage(struct plan_stage *stage, int first, int last, int type, int tensor, double forward,
                      double backward)
{
    stage->first_layer = first;
    stage->last_layer = last;
    stage->type = type;
    stage->tensor = tensor;
    stage->seconds.forward = forward;
    stage->seconds.backward = backward;
}

/* Stages of 3, 7.5 and 4 ms on devices of two names. */
static void make_plan(struct plan *plan)
{
    struct error err;
    plan_init(plan);
    assert_true(plan_add_types(plan, 3, &err) && plan_add_pipelines(plan, 1, &err));
    plan->types[0].name = plan->types[2].name = "fast";
    plan->types[1].name = "slow";
    assert_true(plan_add_stages(plan, &plan->pipelines[0], 3, &err));
    set_stage(&plan->pipelines[0].stages[0], 0, 2, 0, 2, 0.001, 0.002);
    set_stage(&plan->pipelines[0].stages[1], 3, 3, 1, 1, 0.0025, 0.005);
    set_stage(&plan->pipelines[0].stages[2], 4, 8, 2, 4, 0.003, 0.001);
    plan->iteration_time = 0.5;
    plan->lower_bound = 0.4;
}

static void plans_are_bars_of_stages(void **state)
{
    (void)state;
    struct plan plan;
    struct error err;
    make_plan(&plan);
    expect_drawn(figure_plan(picture(), &plan, &screen, &err), &err, "plan");
    plan.proven_optimal = true;
    plan.model = "a model";
    plan.pipelines[0].copies = 3;
    expect_drawn(figure_plan(picture(), &plan, &screen, &err), &err, "plan-copies");
    plan.proven_optimal = false;
    plan.lower_bound = 0;
    plan.pipelines[0].copies = 1;
    plan.pipelines[0].stage_count = 1;
    expect_drawn(figure_plan(picture(), &plan, &screen, &err), &err, "plan-unknown");
    plan_release(&plan);
}

/* The parts of a plan of 36 s and of another one of 40 s. */
static void alternatives_are_bars_of_parts(void **state)
{
    (void)state;
    struct plan plan;
    struct error err;
    struct plan_alternative other = {.tensor = 2,
                                     .context = 1,
                                     .expert = 1,
                                     .pipeline = 4,
                                     .data = 1,
                                     .chunks = 3,
                                     .microbatch = 4,
                                     .part_count = 3,
                                     .parts = {{"compute", 20}, {"bubble", 5}, {"tensor", 15}}};
    make_plan(&plan);
    plan.iteration_time = 36;
    plan.microbatch = 2;
    plan_add_part(&plan, "compute", 21);
    plan_add_part(&plan, "bubble", 10);
    plan_add_part(&plan, "tensor", 5);
    plan.alternatives = &other;
    plan.alternative_count = 1;
    expect_drawn(figure_plan(picture(), &plan, &screen, &err), &err, "plan-alternatives");
    plan_release(&plan);
}

static void sweeps_are_lines(void **state)
{
    (void)state;
    const double x[] = {1, 2, 4}, first[] = {1, 1.9, NAN}, second[] = {0.5, 1, 1.75};
    const struct figure_line lines[] = {{"first", first}, {"second", second}};
    struct figure_sweep sweep = {"a title", "an x", "a y", 3, 2, x, lines, false};
    struct error err;
    expect_drawn(figure_sweep(picture(), &sweep, &err), &err, "sweep");
    sweep.scaling = true;
    expect_drawn(figure_sweep(picture(), &sweep, &err), &err, "sweep-scaling");
}

static void runs_are_points_by_generation(void **state)
{
    (void)state;
    struct run runs[6] = {{.scored = true, .seconds = 1, .predicted.seconds = 1.1},
                          {.scored = true, .seconds = 2, .predicted.seconds = 1.9},
                          {.scored = true, .seconds = 3, .predicted.seconds = 3.5},
                          {.scored = false, .seconds = 4, .predicted.seconds = 4},
                          {.scored = true, .reason = "unknown", .seconds = 5},
                          {.scored = true, .seconds = 6, .predicted.seconds = 6}};
    static const char *const devices[] = {"h100", "a100-80gb", "h100", "v100-32gb", "h100", "a100-40gb"};
    for (int i = 0; i < 6; i++)
        runs[i].job.device = tables_device(NULL, devices[i]);
    struct validation validation = {.count = 6, .runs = runs};
    struct error err;
    expect_drawn(figure_scatter(&validation, picture(), &err), &err, "scatter");
    validation.runs += 3;
    validation.count = 2;
    assert_false(figure_scatter(&validation, picture(), &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
}

/* ---- steps ---- */

static void add_step(struct text *log, int i, double speed)
{
    static const struct {
        const char *name;
        int ms;
    } parts[] = {{"load_batch_mem", 20},     {"load_batch_inner", 15}, {"load_batch_gpu", 3},
                 {"model_forward_pass", 30}, {"loss_tensor_calc", 4},  {"model_backward_pass", 60},
                 {"model_optim_step", 6},    {"cum_loss_fn_calc", 5},  {"all_compute", 110},
                 {"sample_load", 7},         {"sample_preproc", 9},    {"step_end", 135}};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        text_format(log, ":::MLLOG {\"key\": \"%s\", \"value\": {\"start\": 5, \"duration\": %lld}}\n",
                    parts[p].name, (long long)((parts[p].ms + (i * 7 + (int)p) % 5) * speed * 1e6));
}

struct logged {
    const char *path;
    double speed;
};

static void read_steps(struct steps *steps, const struct logged *runs, size_t count)
{
    struct error err;
    const struct steps_options options = {.skip_epochs = -1};
    for (size_t run = 0; run < count; run++) {
        struct text log = {0};
        text_add(&log, ":::MLLOG {\"key\": \"epoch_start\", \"metadata\": {\"epoch_num\": 2}}\n");
        for (int i = 0; i < 13; i++)
            add_step(&log, i, runs[run].speed);
        if (!steps_read_text(steps, runs[run].path, log.data, log.length, &options, &err))
            fail_msg("%s", err.text);
        text_release(&log);
    }
    if (!steps_finish(steps, &err))
        fail_msg("%s", err.text);
}

static void steps_are_drawn_in_eight_ways(void **state)
{
    (void)state;
    static const struct logged runs[] = {{"UNET3D_1g_1b/unet3d.log", 1.0},
                                         {"UNET3D_1g_2b/unet3d.log", 1.75},
                                         {"UNET3D_2g_1b/unet3d.log", 1.125},
                                         {"UNET3D_2g_8b/unet3d.log", 6.5}};
    struct steps steps = {0};
    struct steps_model model;
    struct error err;
    read_steps(&steps, runs, 4);
    assert_true(steps_model(&steps, &model, &err));
    for (int kind = 0; figure_steps_kinds[kind]; kind++) {
        char name[64];
        snprintf(name, sizeof name, "steps-%s", figure_steps_kinds[kind]);
        expect_drawn(
            figure_steps(picture(), (enum figure_steps_kind)kind, NULL, &figure_screen, &steps, &model, &err),
            &err, name);
    }
    expect_drawn(figure_steps(picture(), FIGURE_STEPS_STEP, NULL, &figure_paper, &steps, &model, &err), &err,
                 "steps-paper");
    expect_drawn(
        figure_steps(picture(), FIGURE_STEPS_VIOLIN, "sample_load", &figure_paper, &steps, &model, &err),
        &err, "steps-violin-paper");
    assert_false(
        figure_steps(picture(), FIGURE_STEPS_VIOLIN, "nothing", &figure_screen, &steps, &model, &err));
    steps_model_release(&model);
    steps_release(&steps);
}

/* Batches and seconds that reach far are drawn on logarithmic axes. */
static void steps_that_reach_far_are_drawn_by_factors(void **state)
{
    (void)state;
    static const struct logged runs[] = {{"UNET3D_1g_1b/unet3d.log", 0.1},
                                         {"UNET3D_1g_4b/unet3d.log", 5},
                                         {"UNET3D_1g_64b/unet3d.log", 40},
                                         {"UNET3D_16g_4096b/unet3d.log", 900}};
    static const enum figure_steps_kind kinds[] = {FIGURE_STEPS_STEP, FIGURE_STEPS_THROUGHPUT,
                                                   FIGURE_STEPS_LATENCY, FIGURE_STEPS_VIOLIN,
                                                   FIGURE_STEPS_HISTOGRAM};
    struct steps steps = {0};
    struct steps_model model;
    struct error err;
    read_steps(&steps, runs, 4);
    assert_true(steps_model(&steps, &model, &err));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char name[64];
        const char *event =
            kinds[i] == FIGURE_STEPS_VIOLIN || kinds[i] == FIGURE_STEPS_HISTOGRAM ? "step_end" : NULL;
        snprintf(name, sizeof name, "steps-wide-%s", figure_steps_kinds[kinds[i]]);
        expect_drawn(figure_steps(picture(), kinds[i], event, &figure_screen, &steps, &model, &err), &err,
                     name);
    }
    steps_model_release(&model);
    steps_release(&steps);
}

/* Logs that have one event only have nothing for most pictures. */
static void pictures_of_nothing_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        bool drawn[8]; /* breakdown, step, full, throughput, latency, violin, histogram, fit */
    } cases[] = {{"load_batch_mem", {true, true, true, true, true, true, false, false}},
                 {"all_compute", {true, true, true, true, false, true, true, false}},
                 {"sample_preproc", {false, false, false, false, true, false, false, false}},
                 {"unknown", {false, false, false, false, false, false, false, false}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct steps steps = {0};
        struct steps_model model;
        struct text log = {0};
        struct error err;
        const struct steps_options options = {.skip_epochs = -1};
        text_add(&log, ":::MLLOG {\"key\": \"epoch_start\", \"metadata\": {\"epoch_num\": 2}}\n");
        for (int k = 0; k < 9; k++)
            text_format(&log, ":::MLLOG {\"key\": \"%s\", \"value\": {\"start\": 5, \"duration\": %d}}\n",
                        cases[i].event, 1000000 * (k + 5));
        assert_true(steps_read_text(&steps, "UNET3D_1g_1b/unet3d.log", log.data, log.length, &options, &err));
        assert_true(steps_finish(&steps, &err));
        assert_true(steps_model(&steps, &model, &err));
        for (int kind = 0; figure_steps_kinds[kind]; kind++) {
            bool drawn = figure_steps(picture(), (enum figure_steps_kind)kind, NULL, &figure_screen, &steps,
                                      &model, &err);
            if (drawn != cases[i].drawn[kind])
                fail_msg("%s of %s: %s", figure_steps_kinds[kind], cases[i].event,
                         drawn ? "drawn" : err.text);
            if (!drawn)
                assert_int_equal(err.kind, ERROR_INFEASIBLE);
        }
        steps_model_release(&model);
        steps_release(&steps);
        text_release(&log);
    }
    remove(picture());
}

/* ---- traces ---- */

static const int64_t zero = INT64_C(1700000000) * SECOND;

static int64_t add_process(struct trace_writer *writer, int64_t pid, int64_t parent, const char *name)
{
    struct error err;
    int64_t id = trace_process(writer, pid, TRACE_NONE, name, strlen(name));
    assert_true(trace_process_set(writer, id, parent, TRACE_NONE, TRACE_NONE, NULL, &err));
    return id;
}

static void add_event(struct trace_writer *writer, enum trace_class class, int64_t ms, int64_t us,
                      int64_t process, int64_t bytes)
{
    struct error err;
    const struct trace_event event = {.class = class,
                                      .cached = -1,
                                      .start_ns = zero + ms * 1000000,
                                      .latency_ns = us * 1000,
                                      .process = process,
                                      .fd = TRACE_NONE,
                                      .offset = TRACE_NONE,
                                      .size = bytes,
                                      .result = bytes};
    assert_true(trace_add_event(writer, &event, &err));
}

static void add_sample(struct trace_writer *writer, const char *kind, const char *source, int64_t ms,
                       double value)
{
    struct error err;
    const struct trace_sample sample = {zero + ms * 1000000, trace_series(writer, kind, source), value};
    assert_true(trace_add_sample(writer, &sample, &err));
}

/* A trainer with two loaders: ten seconds of reads, a write and a sync at the end, requests to a disk. `slow`: times as
 * long for each call; 0: calls take no time, and there is one loader. */
static const char *make_run(const char *name, int64_t slow)
{
    struct error err;
    struct trace_writer *writer = make_trace(name, TRACE_STORE_WHOLE);
    int64_t trainer = add_process(writer, 100, 1, "python"), loaders[2];
    for (int i = 0; i < 2; i++)
        loaders[i] = i > 0 && slow == 0 ? loaders[0] : add_process(writer, 101 + i, 100, "loader");
    int64_t disk = trace_disk(writer, "vda", 3);
    for (int i = 0; i < 40; i++) {
        add_event(writer, TRACE_READ, 250 * i, (20 + i * i) * slow, loaders[i % 2], 4096 << (i % 6));
        const struct trace_block block = {.op = i % 4 ? TRACE_OP_READ : TRACE_OP_WRITE,
                                          .start_ns = zero + (250 * i + 1) * INT64_C(1000000),
                                          .queue_ns = 1000 * i,
                                          .service_ns = (100 + 10 * i) * 1000 * slow,
                                          .sector = 8 * i,
                                          .bytes = 4096 << (i % 3),
                                          .disk = disk,
                                          .process = loaders[i % 2]};
        assert_true(trace_add_block(writer, &block, &err));
    }
    add_event(writer, TRACE_WRITE, 9000, 500000 * slow, trainer, 8 << 20);
    add_event(writer, TRACE_SYNC, 9600, 250000 * slow, trainer, TRACE_NONE);
    for (int i = 0; i <= 10; i++) {
        add_sample(writer, "cpu.usr", "all", 1000 * i, 10 + 5 * i);
        add_sample(writer, "cpu.sys", "all", 1000 * i, 2 * i);
        add_sample(writer, "cpu.iowait", "all", 1000 * i, i % 3);
        add_sample(writer, "gpu.sm", "0", 1000 * i, i % 2 ? 90 : 30);
        add_sample(writer, "gpu.mem", "0", 1000 * i, 20 + i);
        add_sample(writer, "gpu.sm", "0 100", 1000 * i, 25); /* the trainer's */
        add_sample(writer, "disk.rMB/s", "vda", 1000 * i, 100 * i);
        add_sample(writer, "disk.wMB/s", "vda", 1000 * i, i);
        add_sample(writer, "disk.util", "vda", 1000 * i, 10 * i);
    }
    static const char *const phases[] = {"INIT", "TRAINING", "EVAL", "CHECKPOINT"};
    static const int64_t ends[] = {0, 1000, 8000, 9000, 10000};
    for (int i = 0; i < 4; i++)
        assert_true(trace_add_phase(
            writer,
            &(struct trace_phase){phases[i], zero + ends[i] * 1000000, zero + ends[i + 1] * 1000000, "test"},
            &err));
    finish_trace(writer);
    return in_folder(name);
}

static void timelines_have_a_row_for_each_group(void **state)
{
    (void)state;
    struct error err;
    make_run("run.db", 1);
    for (int grouping = 0; trace_grouping_names[grouping]; grouping++) {
        char name[64];
        struct figure_timeline options = {.style = grouping % 2 ? &figure_paper : &figure_screen,
                                          .title = grouping == 2 ? "a title" : NULL,
                                          .zoom = {.from = 2.5, .to = NAN},
                                          .grouping = (enum trace_grouping)grouping,
                                          .rows = {true, true, true, true, true}};
        options.zoom = (struct trace_zoom){.from = NAN, .to = NAN};
        if (grouping > 2) {
            options.zoom.phase = "EVAL";
            options.zoom.margin = 0.5;
        }
        snprintf(name, sizeof name, "timeline-%s", trace_grouping_names[grouping]);
        expect_drawn(figure_timeline(picture(), in_folder("run.db"), &options, &err), &err, name);
    }
}

/* A lone loader, calls that take no time, and the first or last seconds of it. */
static void short_calls_and_parts_are_drawn(void **state)
{
    (void)state;
    struct error err;
    make_run("short.db", 0);
    for (int part = 0; part < 4; part++) {
        char name[64];
        struct figure_timeline options = {.style = &figure_paper,
                                          .zoom = {.from = NAN, .to = NAN},
                                          .grouping = part % 2 ? TRACE_ROLES : TRACE_FAMILIES,
                                          .rows = {[TIMELINE_TRACES] = true, [TIMELINE_PHASES] = true}};
        if (part == 0)
            options.zoom.first = 2.0;
        if (part == 1)
            options.zoom.last = 2.0;
        if (part == 2)
            options.zoom.from = 7.5;
        if (part == 3)
            options.zoom.to = 1.25;
        snprintf(name, sizeof name, "timeline-part-%d", part);
        expect_drawn(figure_timeline(picture(), in_folder("short.db"), &options, &err), &err, name);
    }
}

static void all_streams(bool *streams)
{
    for (int i = 0; i < FIGURE_STREAMS; i++)
        streams[i] = true;
}

static void throughput_is_bytes_and_operations_over_time(void **state)
{
    (void)state;
    struct error err;
    make_run("run.db", 1);
    make_run("slow.db", 3);
    char paths[2][512];
    snprintf(paths[0], sizeof paths[0], "%s", in_folder("run.db"));
    snprintf(paths[1], sizeof paths[1], "%s", in_folder("slow.db"));
    const char *const traces[] = {paths[0], paths[1]};
    struct figure_throughput options = {
        .style = &figure_screen, .zoom = {.from = NAN, .to = NAN}, .every = 1.0};
    all_streams(options.streams);
    expect_drawn(figure_throughput(picture(), traces, 1, &options, &err), &err, "throughput");
    options.streams[TRACE_SYNC] = options.streams[TRACE_WRITE] = false;
    options.style = &figure_paper;
    options.every = 2.0;
    expect_drawn(figure_throughput(picture(), traces, 2, &options, &err), &err, "throughput-two");
    options.every = 0.0;
    options.title = "a title";
    options.style = &figure_screen;
    options.zoom.last = 1.0;
    expect_drawn(figure_throughput(picture(), traces, 1, &options, &err), &err, "throughput-zoom");
}

static void distributions_are_histograms_and_shares(void **state)
{
    (void)state;
    struct error err;
    make_run("run.db", 1);
    make_run("slow.db", 3);
    char paths[2][512];
    snprintf(paths[0], sizeof paths[0], "%s", in_folder("run.db"));
    snprintf(paths[1], sizeof paths[1], "%s", in_folder("slow.db"));
    const char *const traces[] = {paths[0], paths[1]};
    struct figure_distribution options = {.style = &figure_screen, .zoom = {.from = NAN, .to = NAN}};
    all_streams(options.streams);
    for (int kind = 0; kind < DISTRIBUTION_KINDS; kind++) {
        char name[64];
        memset(options.kinds, 0, sizeof options.kinds);
        options.kinds[kind] = true;
        options.style = kind == 1 ? &figure_paper : &figure_screen;
        snprintf(name, sizeof name, "distribution-%s", distribution_names[kind]);
        expect_drawn(figure_distribution(picture(), traces, kind == 0 ? 1 : 2, &options, &err), &err, name);
    }
    make_run("slow.db", 0); /* where no call takes time */
    memset(options.kinds, 0, sizeof options.kinds);
    options.kinds[DISTRIBUTION_LATENCY] = true;
    expect_drawn(figure_distribution(picture(), traces, 2, &options, &err), &err, "distribution-zero");
    memset(options.streams, 0, sizeof options.streams);
    options.streams[TRACE_RENAME] = true; /* of which there is none */
    assert_false(figure_distribution(picture(), traces, 2, &options, &err));
}

static void differences_are_bars_and_what_was_compared(void **state)
{
    (void)state;
    struct error err;
    make_run("run.db", 1);
    make_run("slow.db", 3);
    struct similarity_options options = {.values = SIMILARITY_VALUES, .replicates = 20, .seed = 1};
    memcpy(options.weights, similarity_kind_weights, sizeof options.weights);
    struct similarity_trace a = {0}, b = {0};
    struct similarity result = {0};
    assert_true(similarity_trace_read(&a, in_folder("run.db"), &options, &err));
    assert_true(similarity_trace_read(&b, in_folder("slow.db"), &options, &err));
    assert_true(similarity_compare(&a, &b, &options, &result, &err));
    expect_drawn(figure_differences(picture(), &a, &b, &result, &figure_screen, &err), &err, "differences");
    expect_drawn(figure_differences(picture(), &a, &b, &result, &figure_paper, &err), &err,
                 "differences-paper");
    similarity_release(&result);
    similarity_trace_release(&a);
    similarity_trace_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plans_are_bars_of_stages, setup, teardown),
        cmocka_unit_test_setup_teardown(alternatives_are_bars_of_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(sweeps_are_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(runs_are_points_by_generation, setup, teardown),
        cmocka_unit_test_setup_teardown(steps_are_drawn_in_eight_ways, setup, teardown),
        cmocka_unit_test_setup_teardown(steps_that_reach_far_are_drawn_by_factors, setup, teardown),
        cmocka_unit_test_setup_teardown(pictures_of_nothing_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(timelines_have_a_row_for_each_group, setup, teardown),
        cmocka_unit_test_setup_teardown(short_calls_and_parts_are_drawn, setup, teardown),
        cmocka_unit_test_setup_teardown(throughput_is_bytes_and_operations_over_time, setup, teardown),
        cmocka_unit_test_setup_teardown(distributions_are_histograms_and_shares, setup, teardown),
        cmocka_unit_test_setup_teardown(differences_are_bars_and_what_was_compared, setup, teardown),
    };
    return cmocka_run_group_tests_name("scripts", tests, NULL, NULL);
}
