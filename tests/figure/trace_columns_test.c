/* Columns of time against brute force, and parts of a trace. */
#include "trace/traces.h"

#include "figure/trace/calls.h"
#include "figure/trace/columns.h"
#include "figure/trace/phases.h"
#include "figure/trace/series.h"
#include "figure/trace/window.h"

#include <math.h>

static uint64_t seed = 88172645463325252;

static int64_t random_below(int64_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)limit);
}

/* ---- columns ---- */

#define MOMENTS 400 /* nanoseconds of a little run */

struct little {
    struct trace_span_of spans[60];
    int count;
};

static int by_start(const void *a, const void *b)
{
    const struct trace_span_of *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static struct little make_little(void)
{
    struct little run = {.count = (int)random_below(60)};
    for (int i = 0; i < run.count; i++) {
        int64_t start = random_below(MOMENTS), max = random_below(2) ? 5 : MOMENTS;
        run.spans[i] = (struct trace_span_of){start, start + random_below(max), random_below(1000) - 1};
    }
    qsort(run.spans, (size_t)run.count, sizeof *run.spans, by_start);
    return run;
}

/* Nanosecond by nanosecond. */
static void check_column(const struct little *run, const struct trace_columns *columns,
                         const struct trace_lane *lane, int column)
{
    int64_t from = columns->from_ns + column * columns->width_ns, to = from + columns->width_ns;
    if (to > columns->to_ns)
        to = columns->to_ns;
    int64_t calls = 0, busy = 0;
    double bytes = 0;
    for (int i = 0; i < run->count; i++) {
        const struct trace_span_of *span = &run->spans[i];
        bool moment = span->start_ns == span->end_ns && span->start_ns >= from && span->start_ns < to;
        calls += span->start_ns >= from && span->start_ns < to;
        bytes += moment && span->bytes > 0 ? (double)span->bytes : 0;
    }
    for (int64_t at = from; at < to; at++) {
        bool any = false;
        for (int i = 0; i < run->count; i++) {
            const struct trace_span_of *span = &run->spans[i];
            bool in = at >= span->start_ns && at < span->end_ns;
            any |= in;
            if (in && span->bytes > 0)
                bytes += (double)span->bytes / (double)(span->end_ns - span->start_ns);
        }
        busy += any;
    }
    assert_int_equal(lane->columns[column].calls, calls);
    assert_int_equal(lane->columns[column].busy_ns, busy);
    assert_true(fabs(lane->columns[column].bytes - bytes) <= 1e-9 * (1 + bytes));
}

static void columns_are_what_every_nanosecond_says(void **state)
{
    (void)state;
    struct error err;
    for (int round = 0; round < 500; round++) {
        struct little run = make_little();
        int64_t from = random_below(MOMENTS / 2), to = from + 1 + random_below(MOMENTS);
        struct trace_columns columns = trace_columns_of(from, to, 1 + (int)random_below(50));
        struct trace_lane lane;
        assert_true(trace_lane_init(&lane, &columns, &err));
        for (int i = 0; i < run.count; i++)
            trace_lane_add(&lane, &columns, &run.spans[i]);
        for (int column = 0; column < columns.count; column++)
            check_column(&run, &columns, &lane, column);
        trace_lane_release(&lane);
    }
}

/* Times of today, in nanoseconds, and calls that take less than the last digit of such a time as a double. */
static void short_calls_of_today_move_what_they_move(void **state)
{
    (void)state;
    struct error err;
    const int64_t today = INT64_C(1763818157123456789);
    for (int64_t latency = 1; latency < 600; latency += 7) {
        struct trace_columns columns = trace_columns_of(today, today + 10000, 7);
        struct trace_lane lane;
        double bytes = 0;
        assert_true(trace_lane_init(&lane, &columns, &err));
        for (int64_t start = today; start < today + 9000; start += 1000)
            trace_lane_add(&lane, &columns, &(struct trace_span_of){start, start + latency, 4096});
        for (int column = 0; column < columns.count; column++)
            bytes += lane.columns[column].bytes;
        assert_true(fabs(bytes - 9 * 4096) < 1e-6);
        trace_lane_release(&lane);
    }
}

static void columns_cover_what_they_are_asked_for(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        int64_t from = random_below(INT64_MAX / 4),
                length = 1 + random_below(round % 2 ? 100 : INT64_MAX / 4);
        int max = 1 + (int)random_below(1000);
        struct trace_columns columns = trace_columns_of(from, from + length, max);
        assert_true(columns.count >= 1 && columns.count <= max);
        assert_true(columns.width_ns >= 1);
        assert_true((columns.count - 1) * columns.width_ns < length);
        assert_true(columns.width_ns >= length - (columns.count - 1) * columns.width_ns);
    }
}

static void lanes_add_up(void **state)
{
    (void)state;
    struct error err;
    struct trace_columns columns = trace_columns_of(0, 40, 4);
    struct trace_lane a, b;
    assert_true(trace_lane_init(&a, &columns, &err) && trace_lane_init(&b, &columns, &err));
    trace_lane_add(&a, &columns, &(struct trace_span_of){0, 15, 30});
    trace_lane_add(&b, &columns, &(struct trace_span_of){2, 14, 12});
    trace_lane_merge(&a, &columns, &b);
    assert_int_equal(a.columns[0].calls, 2);
    assert_int_equal(a.columns[0].busy_ns, 10); /* not more than there is */
    assert_int_equal(a.columns[1].busy_ns, 9);
    assert_true(a.columns[0].bytes == 28 && a.columns[1].bytes == 14);
    assert_int_equal(a.total, 2);
    trace_lane_release(&a);
    trace_lane_release(&b);
}

/* ---- what the store holds ---- */

struct sums {
    int64_t calls, bytes;
    struct trace_lane lane;
    const struct trace_columns *columns;
    int64_t before_ns;
};

static void take(void *context, const struct figure_call *call)
{
    struct sums *sums = context;
    trace_lane_add(&sums->lane, sums->columns,
                   &(struct trace_span_of){call->start_ns, call->end_ns, call->bytes});
    assert_true(call->start_ns >= sums->before_ns);
    sums->before_ns = call->start_ns;
}

static void columns_sum_to_what_the_store_holds(void **state)
{
    (void)state;
    struct error err;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    int64_t calls = 0, bytes = 0;
    for (int i = 0; i < 5000; i++) {
        struct trace_event event = {.class = i % 3 ? TRACE_READ : TRACE_OPEN,
                                    .cached = -1,
                                    .start_ns = random_below(1000000),
                                    .latency_ns = i % 7 ? random_below(5000) : TRACE_NONE,
                                    .fd = TRACE_NONE,
                                    .offset = TRACE_NONE,
                                    .size = 4096,
                                    .result = i % 11 ? random_below(4096) : -5};
        assert_true(trace_add_event(writer, &event, &err));
        calls += event.class == TRACE_READ;
        bytes += event.class == TRACE_READ && event.result > 0 ? event.result : 0;
    }
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    struct trace_columns columns = trace_columns_of(0, 1010000, 333);
    struct sums sums = {.columns = &columns, .before_ns = INT64_MIN};
    const bool streams[FIGURE_STREAMS] = {[TRACE_READ] = true};
    assert_true(trace_lane_init(&sums.lane, &columns, &err));
    assert_true(figure_read_calls(reader, INT64_MAX, streams, take, &sums, &err));
    double found_bytes = 0;
    int64_t found_calls = 0;
    for (int i = 0; i < columns.count; i++) {
        found_calls += sums.lane.columns[i].calls;
        found_bytes += sums.lane.columns[i].bytes;
        assert_true(sums.lane.columns[i].busy_ns <= columns.width_ns);
    }
    assert_int_equal(found_calls, calls);
    assert_int_equal(sums.lane.total, calls);
    assert_true(fabs(found_bytes - (double)bytes) < 1e-3);
    trace_lane_release(&sums.lane);
    trace_reader_free(reader);
}

static void curves_are_means_of_columns_and_sums_of_disks(void **state)
{
    (void)state;
    struct error err;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    for (int64_t i = 0; i < 10; i++) {
        add_value(writer, "disk.rMB/s", "vda", i * 10, (double)i);
        add_value(writer, "disk.rMB/s", "vdb", i * 10, 100);
        add_value(writer, "disk.wMB/s", "vda", i * 10, 7);
    }
    add_value(writer, "disk.rMB/s", "vda", 25, INFINITY); /* is no value */
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    struct trace_columns columns = trace_columns_of(20, 60, 2);
    struct trace_curve curve;
    assert_true(trace_curve_read(reader, &columns, "disk.rMB/s", NULL, true, &curve, &err));
    assert_int_equal(curve.count, 4); /* one before, two columns, one after */
    const double values[] = {101, 102.5, 104.5, 106}, times[] = {-10e-9, 5e-9, 25e-9, 40e-9};
    for (int i = 0; i < 4; i++) {
        assert_true(curve.values[i] == values[i]);
        assert_true(fabs(curve.seconds[i] - times[i]) < 1e-15);
    }
    trace_curve_release(&curve);
    assert_true(trace_curve_read(reader, &columns, "disk.rMB/s", NULL, false, &curve, &err));
    assert_true(curve.values[1] == 51.25 && curve.max == 53);
    trace_curve_release(&curve);
    assert_true(trace_curve_read(reader, &columns, "cpu.usr", "all", false, &curve, &err));
    assert_int_equal(curve.count, 0);
    trace_curve_release(&curve);
    trace_reader_free(reader);
}

/* ---- parts of a trace ---- */

#define SECOND INT64_C(1000000000)

/* A run from 100 s to 700 s. */
static struct trace_reader *make_run(void)
{
    struct trace_writer *writer = make_trace("run.db", TRACE_STORE_WHOLE);
    add_phase(writer, "INIT", 100, 130);
    add_phase(writer, "TRAINING", 130, 400);
    add_phase(writer, "EVAL", 400, 420);
    add_phase(writer, "TRAINING", 420, 600);
    add_phase(writer, "EVAL", 600, 630);
    add_phase(writer, "CHECKPOINT", 630, 700);
    add_value(writer, "cpu.usr", "all", 1 * SECOND, 1); /* before the run: does not count */
    finish_trace(writer);
    return open_trace(in_folder("run.db"));
}

static void check_zoom(struct trace_reader *reader, struct trace_zoom zoom, int64_t from, int64_t to)
{
    struct error err;
    struct trace_window window;
    if (!trace_window_find(reader, "run.db", &zoom, &window, &err))
        fail_msg("%s", err.text);
    assert_int_equal(window.zero_ns, 100 * SECOND);
    assert_int_equal(window.from_ns, from * SECOND);
    assert_int_equal(window.to_ns, to * SECOND + (to == 700)); /* with the last moment of the run */
    assert_true(trace_window_seconds(&window, from * SECOND) == (double)(from - 100));
}

static void zooms_are_the_studys(void **state)
{
    (void)state;
    struct trace_reader *reader = make_run();
    check_zoom(reader, (struct trace_zoom){.from = NAN, .to = NAN}, 100, 700);
    check_zoom(reader, (struct trace_zoom){.phase = "INIT", .margin = 5}, 100, 135);
    check_zoom(reader, (struct trace_zoom){.first = 300}, 100, 400);
    check_zoom(reader, (struct trace_zoom){.phase = "TRAINING", .margin = 5}, 125, 405);
    check_zoom(reader, (struct trace_zoom){.phase = "EVAL", .margin = 5}, 395, 425);
    check_zoom(reader, (struct trace_zoom){.phase = "checkpoint", .margin = 5}, 625, 700);
    check_zoom(reader, (struct trace_zoom){.phase = "EVAL:2", .margin = 0}, 600, 630);
    check_zoom(reader, (struct trace_zoom){.last = 120}, 580, 700);
    check_zoom(reader, (struct trace_zoom){.last = 5}, 695, 700);
    check_zoom(reader, (struct trace_zoom){.last = 1e9}, 100, 700);
    check_zoom(reader, (struct trace_zoom){.from = 20, .to = 40}, 120, 140);
    check_zoom(reader, (struct trace_zoom){.from = 20, .to = NAN}, 120, 700);
    check_zoom(reader, (struct trace_zoom){.from = NAN, .to = 40}, 100, 140);
    check_zoom(reader, (struct trace_zoom){.phase = "EVAL", .margin = 1e300}, 100, 700);
    trace_reader_free(reader);
}

static void the_last_moment_is_drawn(void **state)
{
    (void)state;
    struct error err;
    struct trace_window window;
    struct trace_writer *writer = make_trace("run.db", TRACE_STORE_WHOLE);
    for (int64_t time = 5; time <= 15; time += 10)
        assert_true(trace_add_event(
            writer, &(struct trace_event){.class = TRACE_READ, .start_ns = time, .latency_ns = TRACE_NONE},
            &err));
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("run.db"));
    assert_true(
        trace_window_find(reader, "run.db", &(struct trace_zoom){.from = NAN, .to = NAN}, &window, &err));
    struct trace_columns columns = trace_columns_of(window.from_ns, window.to_ns, 4);
    struct sums sums = {.columns = &columns, .before_ns = INT64_MIN};
    assert_true(trace_lane_init(&sums.lane, &columns, &err));
    assert_true(figure_read_calls(reader, window.to_ns, NULL, take, &sums, &err));
    assert_int_equal(sums.lane.total, 2);
    assert_int_equal(sums.lane.columns[0].calls, 1);
    assert_int_equal(sums.lane.columns[columns.count - 1].calls, 1);
    trace_lane_release(&sums.lane);
    trace_reader_free(reader);
}

static void check_no_zoom(struct trace_reader *reader, struct trace_zoom zoom, const char *message,
                          enum error_kind kind)
{
    struct error err;
    struct trace_window window;
    assert_false(trace_window_find(reader, "run.db", &zoom, &window, &err));
    assert_string_equal(err.text, message);
    assert_int_equal(err.kind, kind);
}

static void parts_that_are_not_there_are_named(void **state)
{
    (void)state;
    struct trace_reader *reader = make_run();
    check_no_zoom(reader, (struct trace_zoom){.phase = "EVALUATION"},
                  "run.db: no phase 'EVALUATION': the trace has INIT, TRAINING, EVAL, CHECKPOINT",
                  ERROR_INPUT);
    check_no_zoom(reader, (struct trace_zoom){.phase = "EVAL:3"},
                  "run.db: no phase 'EVAL:3': the trace has 2 of that name", ERROR_INPUT);
    check_no_zoom(reader, (struct trace_zoom){.phase = "EVAL:x"},
                  "--phase: expected NAME or NAME:N with a number from 1, found 'EVAL:x'", ERROR_USAGE);
    check_no_zoom(reader, (struct trace_zoom){.from = 601, .to = NAN},
                  "run.db: nothing to draw in this window: the run takes 600.0 s", ERROR_INPUT);
    trace_reader_free(reader);
}

static void an_empty_trace_has_no_part(void **state)
{
    (void)state;
    finish_trace(make_trace("run.db", TRACE_STORE_WHOLE));
    struct trace_reader *reader = open_trace(in_folder("run.db"));
    check_no_zoom(reader, (struct trace_zoom){.from = NAN, .to = NAN}, "run.db: the trace is empty",
                  ERROR_INPUT);
    trace_reader_free(reader);
}

static void a_clock_that_jumped_is_named(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("run.db", TRACE_STORE_WHOLE);
    add_phase(writer, "INIT", 0, 1);
    add_phase(writer, "EVAL", 1700000000, 1700000001);
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("run.db"));
    check_no_zoom(
        reader, (struct trace_zoom){.from = NAN, .to = NAN},
        "run.db: its times, from 0 to 1700000001000000000 ns, are not those of one run; did a clock jump?",
        ERROR_INPUT);
    trace_reader_free(reader);
}

static void only_so_many_phases_are_drawn(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("run.db", TRACE_STORE_WHOLE);
    for (int i = 0; i < 4001; i++)
        add_phase(writer, "EPOCH", i, i + 1);
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("run.db"));
    struct trace_window window;
    struct figure_bars bars;
    struct error err;
    assert_true(
        trace_window_find(reader, "run.db", &(struct trace_zoom){.from = 100, .to = 200}, &window, &err));
    assert_true(figure_bars_list(&bars, reader, &window, &err));
    assert_int_equal(bars.count, 102); /* the neighbours touch the window */
    assert_true(bars.items[0].to == 100 && bars.items[101].from == 200);
    figure_bars_release(&bars);
    assert_true(
        trace_window_find(reader, "run.db", &(struct trace_zoom){.from = NAN, .to = NAN}, &window, &err));
    assert_true(figure_bars_list(&bars, reader, &window, &err));
    assert_int_equal(bars.count, 4000);
    figure_bars_release(&bars);
    trace_reader_free(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(columns_are_what_every_nanosecond_says),
        TEST(short_calls_of_today_move_what_they_move),
        TEST(columns_cover_what_they_are_asked_for),
        TEST(lanes_add_up),
        TEST(columns_sum_to_what_the_store_holds),
        TEST(curves_are_means_of_columns_and_sums_of_disks),
        TEST(zooms_are_the_studys),
        TEST(the_last_moment_is_drawn),
        TEST(parts_that_are_not_there_are_named),
        TEST(an_empty_trace_has_no_part),
        TEST(a_clock_that_jumped_is_named),
        TEST(only_so_many_phases_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
