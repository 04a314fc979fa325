#include "trace/summary.h"

#include "trace/traces.h"

#include <math.h>

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void add(struct trace_writer *writer, enum trace_class class, int64_t process, int64_t file,
                int64_t latency, int64_t result)
{
    struct error err;
    struct trace_event event = {.class = class,
                                .cached = class == TRACE_READ ? result > 0 : -1,
                                .start_ns = 1000,
                                .latency_ns = latency,
                                .process = process,
                                .file = file,
                                .result = result};
    assert_true(trace_add_event(writer, &event, &err));
}

static struct trace_summary summarise(struct trace_reader **reader)
{
    struct error err;
    struct trace_summary summary;
    *reader = open_trace(in_folder("a.db"));
    if (!trace_summary_read(*reader, &summary, &err))
        fail_msg("%s", err.text);
    return summary;
}

/* Latencies over nine decades: the quantile is that of the sorted list, to half a bucket. */
static void test_quantiles_are_those_of_the_sorted_list(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static int64_t values[COUNT];
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    uint64_t random = 1;
    for (int i = 0; i < COUNT; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        values[i] = (int64_t)exp((double)(random >> 40) / (double)(1 << 24) * 20.7);
        add(writer, TRACE_READ, 0, 0, values[i], 1);
    }
    add(writer, TRACE_READ, 0, 0, TRACE_NONE, 1); /* not known: does not count */
    finish_trace(writer);
    qsort(values, COUNT, sizeof *values, by_size);
    struct trace_reader *reader;
    struct trace_summary summary = summarise(&reader);
    const struct trace_summary_times *times = &summary.classes[TRACE_READ].latency;
    assert_int_equal(times->count, COUNT);
    assert_true(times->min == (double)values[0] * 1e-9);
    assert_true(times->max == (double)values[COUNT - 1] * 1e-9);
    const double found[] = {times->median, times->p90, times->p99}, shares[] = {0.5, 0.9, 0.99};
    for (int i = 0; i < 3; i++) {
        double exact = (double)values[(int)ceil(shares[i] * COUNT) - 1] * 1e-9;
        if (fabs(found[i] / exact - 1) > 0.004)
            fail_msg("%g: %g instead of %g", shares[i], found[i], exact);
    }
    trace_summary_release(&summary);
    trace_reader_free(reader);
}

static void test_what_is_counted(void **state)
{
    (void)state;
    struct error err;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    int64_t first = trace_process(writer, 7, 7, "a", 1), thread = trace_process(writer, 7, 8, "b", 1),
            other = trace_process(writer, 9, 9, "c", 1);
    int64_t small = trace_file(writer, 1, 1, "/small", 6), large = trace_file(writer, 1, 2, "/large", 6);
    trace_file(writer, 1, 3, "/never", 6);
    add(writer, TRACE_READ, first, small, 10, 100);
    add(writer, TRACE_READ, thread, large, 20, 1000);
    add(writer, TRACE_READ, other, small, 30, -5);
    add(writer, TRACE_WRITE, other, small, 40, 50);
    struct trace_block block = {
        .op = TRACE_OP_WRITE, .start_ns = 5, .queue_ns = TRACE_NONE, .service_ns = 7, .bytes = 512};
    assert_true(trace_add_block(writer, &block, &err));
    int64_t series[] = {trace_series(writer, "cpu.usr", "0"), trace_series(writer, "cpu.usr", "1")};
    for (int i = 0; i < 2; i++)
        assert_true(
            trace_add_sample(writer, &(struct trace_sample){10 + i, series[i], 10.0 * (i + 1)}, &err));
    finish_trace(writer);
    struct trace_reader *reader;
    struct trace_summary summary = summarise(&reader);
    const struct trace_summary_class *reads = &summary.classes[TRACE_READ];
    assert_int_equal(reads->calls, 3);
    assert_int_equal(reads->failed, 1);
    assert_int_equal(reads->bytes, 1100);
    assert_int_equal(summary.hits, 2);
    assert_int_equal(summary.misses, 1);
    assert_int_equal(summary.processes, 2);
    assert_int_equal(summary.top_processes[0].pid, 7);
    assert_int_equal(summary.top_processes[0].threads, 2);
    assert_int_equal(summary.top_processes[0].bytes_read, 1100);
    assert_int_equal(summary.file_count, 2); /* of three, one of which nothing was done with */
    assert_int_equal(summary.top_files[0].file, large);
    assert_int_equal(summary.top_files[1].bytes_written, 50);
    assert_int_equal(summary.disk_count, 1);
    assert_int_equal(summary.disks[0].requests[TRACE_OP_WRITE].bytes, 512);
    assert_int_equal(summary.series_count, 1);
    assert_int_equal(summary.series[0].sources, 2);
    assert_true(summary.series[0].mean == 15 && summary.series[0].max == 20);
    assert_int_equal(summary.first_ns, 5);
    trace_summary_release(&summary);
    trace_reader_free(reader);
}

/* A wait at a pipe is no read of data, and a process has the name of what it executed last. */
static void test_what_is_no_file_is_apart(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    int64_t forked = trace_process(writer, 7, 7, "sh", 2), thread = trace_process(writer, 7, 8, "pool", 4),
            process = trace_process(writer, 7, 7, "python3", 7);
    int64_t pipe = trace_file(writer, 1, 1, "pipe:[1]", 8), file = trace_file(writer, 1, 2, "/data", 5);
    struct error err;
    int64_t script = trace_process(writer, 7, 7, "script", 6);
    assert_true(trace_process_set(writer, forked, TRACE_NONE, 10, 20, NULL, &err) &&
                trace_process_set(writer, process, TRACE_NONE, 20, 30, NULL, &err) &&
                trace_process_set(writer, script, TRACE_NONE, 30, 40, NULL, &err) &&
                trace_process_set(writer, process, TRACE_NONE, 40, TRACE_NONE, NULL, &err)); /* once more */
    add(writer, TRACE_READ, forked, pipe, 1000000, 9000);
    add(writer, TRACE_READ, thread, pipe, 1000000, 9000);
    add(writer, TRACE_WRITE, process, pipe, 10, 50);
    add(writer, TRACE_READ, process, file, 20, 100);
    add(writer, TRACE_CLOSE, process, pipe, 30, 0);
    finish_trace(writer);
    struct trace_reader *reader;
    struct trace_summary summary = summarise(&reader);
    assert_int_equal(summary.classes[TRACE_READ].calls, 1);
    assert_int_equal(summary.classes[TRACE_READ].bytes, 100);
    assert_true(summary.classes[TRACE_READ].latency.total < 1e-6);
    assert_int_equal(summary.classes[TRACE_WRITE].calls, 0);
    assert_int_equal(summary.classes[TRACE_CLOSE].calls, 1);
    assert_int_equal(summary.others[0][TRACE_KIND_PIPE].calls, 2);
    assert_int_equal(summary.others[0][TRACE_KIND_PIPE].bytes, 18000);
    assert_true(summary.others[0][TRACE_KIND_PIPE].latency.total > 1.9e-3);
    assert_int_equal(summary.others[1][TRACE_KIND_PIPE].calls, 1);
    assert_int_equal(summary.processes, 1);
    assert_string_equal(trace_process_info(reader, summary.top_processes[0].id)->name, "python3");
    assert_int_equal(summary.top_processes[0].threads, 4);
    assert_int_equal(summary.top_processes[0].bytes_read, 100);
    assert_int_equal(summary.top_processes[0].bytes_other, 18050);
    assert_int_equal(summary.files, 1);
    assert_int_equal(summary.top_files[0].file, file);
    trace_summary_release(&summary);
    trace_reader_free(reader);
}

/* By bytes of files, then of others, then by calls, then by number. */
static void test_the_order_of_processes_and_files(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    int64_t processes[6], files[5];
    for (int i = 0; i < 6; i++)
        processes[i] = trace_process(writer, 10 + i, 10 + i, "p", 1);
    for (int i = 0; i < 5; i++) {
        char path[16];
        int length = snprintf(path, sizeof path, i == 4 ? "pipe:[%d]" : "/data/%d", i);
        files[i] = trace_file(writer, TRACE_NONE, TRACE_NONE, path, (size_t)length);
    }
    add(writer, TRACE_READ, processes[0], files[0], 1, 10);
    add(writer, TRACE_WRITE, processes[1], files[1], 1, 20);
    add(writer, TRACE_READ, processes[2], files[4], 1, 500);
    add(writer, TRACE_STAT, processes[4], files[3], 1, 0);
    add(writer, TRACE_STAT, processes[4], files[2], 1, 0);
    add(writer, TRACE_STAT, processes[5], files[2], 1, 0);
    add(writer, TRACE_STAT, processes[3], 0, 1, 0);
    finish_trace(writer);
    struct trace_reader *reader;
    struct trace_summary summary = summarise(&reader);
    static const int64_t pids[] = {11, 10, 12, 14, 13, 15};
    assert_int_equal(summary.process_count, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(summary.top_processes[i].pid, pids[i]);
    static const int order[] = {1, 0, 2, 3, 4};
    assert_int_equal(summary.file_count, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(summary.top_files[i].file, files[order[i]]);
    assert_int_equal(summary.files, 4);
    assert_int_equal(summary.no_files, 1);
    trace_summary_release(&summary);
    trace_reader_free(reader);
}

static void test_an_empty_trace(void **state)
{
    (void)state;
    struct trace_reader *reader;
    finish_trace(make_trace("a.db", TRACE_STORE_WHOLE));
    struct trace_summary summary = summarise(&reader);
    assert_true(summary.first_ns == TRACE_NONE);
    assert_int_equal(summary.process_count + summary.file_count + summary.disk_count + summary.series_count,
                     0);
    trace_summary_release(&summary);
    trace_reader_free(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_quantiles_are_those_of_the_sorted_list),
        TEST(test_what_is_counted),
        TEST(test_what_is_no_file_is_apart),
        TEST(test_the_order_of_processes_and_files),
        TEST(test_an_empty_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
