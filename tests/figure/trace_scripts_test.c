/* Pictures of traces, as gnuplot is told to draw them. */
#include "figure/scripts.h"

#include "figure/differences.h"
#include "figure/trace/distribution.h"
#include "figure/trace/throughput.h"
#include "figure/trace/timeline.h"

/* ---- traces ---- */

#define SECOND INT64_C(1000000000)

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

/* The second is three times as slow as the first. */
static const char *const *make_two_runs(void)
{
    static char paths[2][512];
    static const char *const traces[] = {paths[0], paths[1]};
    snprintf(paths[0], sizeof paths[0], "%s", make_run("run.db", 1));
    snprintf(paths[1], sizeof paths[1], "%s", make_run("slow.db", 3));
    return traces;
}

static void throughput_is_bytes_and_operations_over_time(void **state)
{
    (void)state;
    struct error err;
    const char *const *traces = make_two_runs();
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
    const char *const *traces = make_two_runs();
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

static void a_trace_or_phase_that_is_missing_is_named(void **state)
{
    (void)state;
    struct error err;
    const char *traces[2] = {make_run("run.db", 1), in_folder("missing.db")};
    const struct figure_timeline timeline = {.style = &figure_screen, .zoom = {.from = NAN, .to = NAN}};
    const struct figure_distribution distribution = {.style = &figure_screen,
                                                     .zoom = {.from = NAN, .to = NAN}};
    const struct figure_throughput throughput = {.style = &figure_screen, .zoom = {.from = NAN, .to = NAN}};
    assert_false(figure_timeline(picture(), traces[1], &timeline, &err));
    assert_non_null(strstr(err.text, "missing.db"));
    const struct figure_timeline part = {
        .style = &figure_screen, .zoom = {.phase = "NONE"}, .rows = {[TIMELINE_TRACES] = true}};
    assert_false(figure_timeline(picture(), traces[0], &part, &err));
    assert_non_null(strstr(err.text, "no phase 'NONE'"));
    assert_false(figure_distribution(picture(), traces, 2, &distribution, &err));
    assert_non_null(strstr(err.text, "missing.db"));
    assert_false(figure_throughput(picture(), traces, 2, &throughput, &err));
    assert_non_null(strstr(err.text, "missing.db"));
}

static void more_traces_than_colours_are_refused(void **state)
{
    (void)state;
    struct error err;
    const char *traces[FIGURE_MAX_TRACES + 1];
    struct figure_distribution distribution = {.style = &figure_screen, .zoom = {.from = NAN, .to = NAN}};
    struct figure_throughput throughput = {.style = &figure_screen, .zoom = {.from = NAN, .to = NAN}};
    traces[0] = make_run("run.db", 1);
    for (int i = 0; i < FIGURE_MAX_TRACES; i++)
        traces[i + 1] = traces[0];
    distribution.kinds[DISTRIBUTION_SIZE] = distribution.streams[TRACE_READ] = true;
    throughput.streams[TRACE_READ] = true;
    assert_false(figure_distribution(picture(), traces, FIGURE_MAX_TRACES + 1, &distribution, &err));
    assert_string_equal(err.text, "9 traces: at most 8 can be drawn");
    assert_false(figure_throughput(picture(), traces, FIGURE_MAX_TRACES + 1, &throughput, &err));
    assert_string_equal(err.text, "9 traces: at most 8 can be drawn");
    assert_false(figure_distribution("picture.gif", traces, 1, &distribution, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
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
        cmocka_unit_test_setup_teardown(timelines_have_a_row_for_each_group, setup, teardown),
        cmocka_unit_test_setup_teardown(short_calls_and_parts_are_drawn, setup, teardown),
        cmocka_unit_test_setup_teardown(throughput_is_bytes_and_operations_over_time, setup, teardown),
        cmocka_unit_test_setup_teardown(distributions_are_histograms_and_shares, setup, teardown),
        cmocka_unit_test_setup_teardown(a_trace_or_phase_that_is_missing_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(more_traces_than_colours_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(differences_are_bars_and_what_was_compared, setup, teardown),
    };
    return cmocka_run_group_tests_name("trace_scripts", tests, NULL, NULL);
}
