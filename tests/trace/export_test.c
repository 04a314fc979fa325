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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_golden_folder_is_processed_as_the_study_does, folder_setup,
                                        folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
