#include "trace/export.h"

#include "core/file.h"
#include "support/reference.h"
#include "trace/import.h"
#include "trace/traces.h"

static char *read_text(const char *path)
{
    struct error err;
    char *data;
    size_t length;
    if (!file_read(path, (size_t)64 << 20, &data, &length, &err))
        fail_msg("%s", err.text);
    return data;
}

static void check_same(const char *name, const char *folder_of, const char *expected)
{
    char a[1024], b[1024];
    snprintf(a, sizeof a, "%s/%s", folder_of, name);
    snprintf(b, sizeof b, "%s/%s", expected, name);
    char *left = read_text(a), *right = read_text(b);
    if (strcmp(left, right) != 0)
        fail_msg("%s differs from the reference", name);
    free(left);
    free(right);
}

static struct trace_reader *import_golden(const char *raw)
{
    struct error err;
    struct trace_import_report report = {0};
    struct trace_writer *writer = make_trace("golden.db", TRACE_STORE_WHOLE);
    if (!trace_import(raw, writer, &(struct trace_import_options){.zone = "-05:00"}, &report, &err))
        fail_msg("%s", err.text);
    trace_import_report_release(&report);
    finish_trace(writer);
    return open_trace(in_folder("golden.db"));
}

static void test_the_golden_folder_is_processed_as_the_study_does(void **state)
{
    (void)state;
    static const char *const files[] = {"read.out",
                                        "write.out",
                                        "openat.out",
                                        "bio.out",
                                        "cpu.out",
                                        "gpu.out",
                                        "timeline/cpu_all.csv",
                                        "timeline/gpu_avg.csv",
                                        "timeline/iostat.csv",
                                        "timeline/timeline.csv",
                                        "timeline/pid/all_combined/combined.log",
                                        "timeline/pid/all_combined/plotting_info.json"};
    struct error err;
    char *raw = reference_path("trace/raw"), *processed = reference_path("trace/processed");
    if (!raw || !processed) {
        free(raw);
        free(processed);
        skip();
    }
    struct trace_reader *reader = import_golden(raw);
    const struct trace_export_options options = {.workload = "dlio", .overlook = true};
    if (!trace_export_study(reader, in_folder("out"), &options, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        check_same(files[i], in_folder("out"), processed);
    trace_reader_free(reader);
    free(raw);
    free(processed);
}

/* A small trace with everything that is hard to write: quotes, commas, bytes that are no UTF-8, what is not known. */
static struct trace_reader *small_trace(void)
{
    struct error err;
    static const char path[] = "/data/\"a\", \xff";
    struct trace_writer *writer = make_trace("small.db", TRACE_STORE_WHOLE);
    int64_t process = trace_process(writer, 7, 8, "python3", 7);
    struct trace_event event = {.class = TRACE_READ,
                                .cached = 1,
                                .start_ns = 1795228940000001500,
                                .latency_ns = 2500,
                                .process = process,
                                .file = trace_file(writer, TRACE_NONE, TRACE_NONE, path, sizeof path - 1),
                                .call = trace_call(writer, "pread64", 7),
                                .fd = 3,
                                .offset = 4096,
                                .size = 8192,
                                .result = -5};
    struct trace_block block = {.op = TRACE_OP_WRITE,
                                .start_ns = 1795228940000000000,
                                .queue_ns = TRACE_NONE,
                                .service_ns = 500,
                                .sector = 8,
                                .bytes = 512,
                                .disk = trace_disk(writer, "vda", 3),
                                .process = process};
    struct trace_sample sample = {1795228941000000000, trace_series(writer, "cpu.usr", "all"), 12.5};
    assert_true(trace_add_event(writer, &event, &err) && trace_add_block(writer, &block, &err) &&
                trace_add_sample(writer, &sample, &err) &&
                trace_add_phase(writer,
                                &(struct trace_phase){"EVAL", 1795228940000000000, 1795228941000000000, "io"},
                                &err));
    finish_trace(writer);
    return open_trace(in_folder("small.db"));
}

static const struct trace_export_options everything = {.workload = NULL};

/* What an export says when it is imported again. */
static struct trace_reader *import_again(const char *name)
{
    struct error err;
    struct trace_import_report report = {0};
    struct trace_writer *writer = make_trace("again.db", TRACE_STORE_WHOLE);
    if (!trace_import(in_folder(name), writer, &(struct trace_import_options){.zone = "UTC"}, &report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(report.malformed, 0);
    trace_import_report_release(&report);
    finish_trace(writer);
    return open_trace(in_folder("again.db"));
}

static struct trace_event first_of(struct trace_reader *reader, enum trace_class class)
{
    struct error err;
    struct trace_event event;
    struct trace_filter filter = TRACE_ALL;
    filter.which = (int64_t) class;
    struct trace_cursor *cursor = trace_events(reader, &filter, &err);
    assert_true(trace_next_event(cursor, &event));
    assert_true(trace_cursor_close(cursor, &err));
    return event;
}

static void test_dftracer_reads_back(void **state)
{
    (void)state;
    struct error err;
    struct trace_reader *reader = small_trace();
    assert_true(trace_export_pfw(reader, in_folder("a.pfw"), &everything, &err));
    trace_reader_free(reader);
    reader = import_again("a.pfw");
    struct trace_event event = first_of(reader, TRACE_READ);
    assert_int_equal(event.start_ns, 1795228940000001000); /* whole microseconds */
    assert_int_equal(event.latency_ns, 2000);
    assert_int_equal(event.fd, 3);
    assert_int_equal(event.offset, 4096);
    assert_int_equal(event.size, 8192);
    assert_int_equal(event.result, -5);
    assert_string_equal(trace_call_name(reader, event.call), "pread64");
    assert_string_equal(trace_file_info(reader, event.file)->path, "/data/\"a\", \\xff");
    assert_int_equal(trace_process_info(reader, event.process)->tid, 8);
    trace_reader_free(reader);
}

static void test_chrome_reads_back(void **state)
{
    (void)state;
    struct error err;
    struct trace_reader *reader = small_trace();
    assert_true(trace_export_chrome(reader, in_folder("a.json"), &everything, &err));
    trace_reader_free(reader);
    reader = import_again("a.json");
    struct trace_event call = first_of(reader, TRACE_READ);
    int count;
    const struct trace_phase *phases = trace_phases(reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(phases[0].start_ns, 0); /* times count from the first */
    assert_int_equal(phases[0].end_ns, 1000000000);
    assert_string_equal(phases[0].name, "EVAL");
    assert_string_equal(phases[0].source, "io");
    assert_int_equal(call.start_ns, 1500);
    assert_int_equal(call.result, -5);
    assert_string_equal(trace_call_name(reader, call.call), "pread64");
    assert_string_equal(trace_series_info(reader, 1)->kind, "cpu.usr all");
    trace_reader_free(reader);
}

static void check_text(const char *name, const char *expected)
{
    char *text = read_text(in_folder(name));
    assert_string_equal(text, expected);
    free(text);
}

/* Two GPUs, of which the second is idle for a second: averages are over both. */
static void test_gpus_of_the_study(void **state)
{
    (void)state;
    struct error err;
    write_file("gpu.out",
               "#Date       Time        gpu        pid  type    sm   mem   enc   dec    fb   command\n"
               " 20261120   21:42:19      0         77   C      90    12     -     -   800   python3\n"
               " 20261120   21:42:19      1         78   C      80    10     -     -   600   python3\n"
               " 20261120   21:42:20      0         77   C      95    12     -     -   800   python3\n"
               " 20261120   21:42:20      1          -   -       -     -     -     -     -   -\n");
    struct trace_reader *reader = import_again("gpu.out");
    assert_true(trace_export_study(reader, in_folder("out"), &everything, &err));
    check_text("out/timeline/gpu_avg.csv", "timestamp,sm,mem,fb\n2026-11-20T21:42:19,85.0,11.0,700.0\n"
                                           "2026-11-20T21:42:20,47.5,6.0,400.0\n");
    check_text("out/gpu.out", "2026-11-20T21:42:19 0 77 C 90 12 0 0 800 python3\n"
                              "2026-11-20T21:42:19 1 78 C 80 10 0 0 600 python3\n"
                              "2026-11-20T21:42:20 0 77 C 95 12 0 0 800 python3\n");
    trace_reader_free(reader);
}

static void test_tables(void **state)
{
    (void)state;
    struct error err;
    struct trace_reader *reader = small_trace();
    assert_true(trace_export_csv(reader, in_folder("a.csv"), &everything, &err));
    check_text(
        "a.csv",
        "start_ns,latency_ns,class,call,pid,tid,process,path,fd,offset,size,result,cached\n"
        "1795228940000001500,2500,read,pread64,7,8,python3,\"/data/\"\"a\"\", \\xff\",3,4096,8192,-5,1\n");
    assert_true(trace_export_csv_blocks(reader, in_folder("b.csv"), &everything, &err));
    check_text("b.csv", "start_ns,queue_ns,service_ns,operation,disk,sector,bytes,pid,process,path\n"
                        "1795228940000000000,,500,write,vda,8,512,7,python3,\n");
    trace_reader_free(reader);
}

static void test_a_range(void **state)
{
    (void)state;
    struct error err;
    struct trace_reader *reader = small_trace();
    const struct trace_export_options early = {.from_ns = 1, .to_ns = 2};
    assert_true(trace_export_csv(reader, in_folder("a.csv"), &early, &err));
    check_text("a.csv", "start_ns,latency_ns,class,call,pid,tid,process,path,fd,offset,size,result,cached\n");
    trace_reader_free(reader);
}

static void test_a_full_disk_leaves_no_file(void **state)
{
    (void)state;
    struct error err;
    struct trace_reader *reader = small_trace();
    write_file("a.csv", "old\n");
    limit_file_size(16);
    assert_false(trace_export_csv(reader, in_folder("a.csv"), &everything, &err));
    limit_file_size(0);
    assert_non_null(strstr(err.text, "cannot write"));
    check_text("a.csv", "old\n");
    trace_reader_free(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_golden_folder_is_processed_as_the_study_does),
        TEST(test_dftracer_reads_back),
        TEST(test_chrome_reads_back),
        TEST(test_gpus_of_the_study),
        TEST(test_tables),
        TEST(test_a_range),
        TEST(test_a_full_disk_leaves_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
