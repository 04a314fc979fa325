/* The study's timeline/pid: who is a worker, who loads data for whom, and what each of them did. */
#include "trace/export/export.h"

#include "core/file.h"
#include "trace/traces.h"

/* 2026-11-21T00:00:00 */
#define START INT64_C(1795219200000000000)

/* Each process reads once, a nanosecond long, at START + its pid. */
static void add_reader(struct trace_writer *writer, int64_t pid, int64_t parent)
{
    struct error err;
    int64_t process = trace_process(writer, pid, TRACE_NONE, "python", 6);
    struct trace_event event = {.class = TRACE_READ,
                                .cached = -1,
                                .start_ns = START + pid,
                                .latency_ns = 1,
                                .process = process,
                                .file = trace_file(writer, TRACE_NONE, TRACE_NONE, "/data/a", 7),
                                .call = trace_call(writer, "read", 4),
                                .fd = TRACE_NONE,
                                .offset = 0,
                                .size = 8,
                                .result = 8};
    assert_true(trace_process_set(writer, process, parent, TRACE_NONE, TRACE_NONE, NULL, &err));
    assert_true(trace_add_event(writer, &event, &err));
}

/* A request to a disk, by a process of the kernel. */
static void add_write_back(struct trace_writer *writer, const char *disk, int64_t time_ns, int64_t cause)
{
    struct error err;
    struct trace_block block = {.op = TRACE_OP_WRITE,
                                .start_ns = time_ns,
                                .queue_ns = TRACE_NONE,
                                .service_ns = 5,
                                .sector = 8,
                                .bytes = 512,
                                .disk = trace_disk(writer, disk, strlen(disk)),
                                .process = trace_process(writer, 9, TRACE_NONE, "kworker/u4:1", 12),
                                .cause = cause};
    assert_true(trace_add_block(writer, &block, &err));
}

static void add_gpu(struct trace_writer *writer, const char *source)
{
    struct error err;
    struct trace_sample sample = {START, trace_series(writer, "gpu.sm", source), 50};
    assert_true(trace_add_sample(writer, &sample, &err));
}

static void export_it(struct trace_writer *writer, const struct trace_export_options *options)
{
    struct error err;
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("run.db"));
    if (!trace_export_study(reader, in_folder("out"), options, &err))
        fail_msg("%s", err.text);
    trace_reader_free(reader);
}

/* The nanoseconds at which the rows of a file start, which are pids, and what each is: "101:READ 103:READ ". */
static void check_rows(const char *name, const char *expected)
{
    char path[128], found[512] = "", what[16];
    snprintf(path, sizeof path, "out/timeline/pid/%s.log", name);
    FILE *file = fopen(in_folder(path), "r");
    if (!file)
        fail_msg("there is no %s", path);
    int start, end;
    while (fscanf(file, "2026-11-21T00:00:00.%d,2026-11-21T00:00:00.%d,%15s\n", &start, &end, what) == 3) {
        size_t length = strlen(found);
        snprintf(found + length, sizeof found - length, "%d:%s ", start, what);
    }
    assert_true(feof(file));
    fclose(file);
    assert_string_equal(found, expected);
}

static void check_titles(const char *division, const char *expected)
{
    char path[128], *data;
    size_t length;
    struct error err;
    snprintf(path, sizeof path, "out/timeline/pid/%s/plotting_info.json", division);
    if (!file_read(in_folder(path), 4096, &data, &length, &err))
        fail_msg("%s", err.text);
    assert_string_equal(data, expected);
    free(data);
}

static bool is_there(const char *division)
{
    char path[128];
    struct stat state;
    snprintf(path, sizeof path, "out/timeline/pid/%s", division);
    return stat(in_folder(path), &state) == 0;
}

/* Two processes on GPUs, four that only read, of which 110's parent is the second worker. */
static struct trace_writer *workers_and_loaders(void)
{
    struct trace_writer *writer = make_trace("run.db", TRACE_STORE_WHOLE);
    static const int64_t pids[] = {110, 101, 99, 120, 130, 102};
    for (int i = 0; i < 6; i++)
        add_reader(writer, pids[i], pids[i] == 110 ? 102 : TRACE_NONE);
    add_gpu(writer, "0 101 python");
    add_gpu(writer, "1 102 python");
    return writer;
}

static void test_loaders_belong_to_their_parents_or_take_turns(void **state)
{
    (void)state;
    export_it(workers_and_loaders(), &(struct trace_export_options){0});
    check_rows("all_combined/combined", "99:READ 101:READ 102:READ 110:READ 120:READ 130:READ ");
    check_rows("each_parent/parent_0", "99:READ 101:READ 120:READ ");
    check_rows("each_parent/parent_1", "102:READ 110:READ 130:READ ");
    check_rows("parents_combined_loaders_combined/parents_0", "101:READ 102:READ ");
    check_rows("parents_combined_loaders_combined/loaders_0", "99:READ 110:READ 120:READ 130:READ ");
    check_rows("each_parent_and_their_loaders/parent_1", "102:READ ");
    check_rows("each_parent_and_their_loaders/loader_0", "99:READ 120:READ ");
    check_rows("each_parent_and_their_loaders/loader_1", "110:READ 130:READ ");
    check_titles("each_parent_and_their_loaders",
                 "{\n    \"parent_0.log\": \"Worker 0\",\n    \"parent_1.log\": \"Worker 1\",\n"
                 "    \"loader_0.log\": \"Loader 0\",\n    \"loader_1.log\": \"Loader 1\"\n}");
    check_titles("parents_combined_loaders_combined",
                 "{\n    \"parents_0.log\": \"All Workers\",\n    \"loaders_0.log\": \"All Dataloaders\"\n}");
}

/* The study's scripts know no parents. */
static void test_as_in_the_study_loaders_take_turns(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("run.db", TRACE_STORE_WHOLE);
    for (int64_t pid = 101; pid <= 104; pid++)
        add_reader(writer, pid, pid > 102 ? 102 : TRACE_NONE);
    add_gpu(writer, "0 101 python");
    add_gpu(writer, "1 102 python");
    export_it(writer, &(struct trace_export_options){.overlook = true});
    check_rows("each_parent_and_their_loaders/loader_0", "103:READ ");
    check_rows("each_parent_and_their_loaders/loader_1", "104:READ ");
}

static void test_the_second_process_on_a_gpu_is_not_of_the_run(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("run.db", TRACE_STORE_WHOLE);
    add_reader(writer, 101, TRACE_NONE);
    add_reader(writer, 102, TRACE_NONE);
    add_gpu(writer, "0 101 python");
    add_gpu(writer, "1 101 python");
    add_gpu(writer, "1 102 python");
    export_it(writer, &(struct trace_export_options){0});
    check_rows("all_combined/combined", "101:READ ");
    check_rows("each_parent/parent_0", "101:READ ");
    assert_false(is_there("each_parent_and_their_loaders"));
}

static void test_without_gpus_all_that_read_are_workers(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("run.db", TRACE_STORE_WHOLE);
    add_reader(writer, 101, TRACE_NONE);
    add_reader(writer, 102, TRACE_NONE);
    export_it(writer, &(struct trace_export_options){0});
    check_rows("each_parent/parent_0", "101:READ ");
    check_rows("each_parent/parent_1", "102:READ ");
    assert_false(is_there("parents_combined_loaders_combined"));
}

static void test_workloads_have_their_own_roles(void **state)
{
    (void)state;
    export_it(workers_and_loaders(), &(struct trace_export_options){.workload = "bert"});
    check_rows("all_combined/combined", "101:READ 102:READ ");
    assert_false(is_there("parents_combined_loaders_combined"));
    folder_teardown(NULL);
    folder_setup(NULL);
    export_it(workers_and_loaders(), &(struct trace_export_options){.workload = "dlio"});
    check_rows("all_combined/combined", "99:READ 101:READ 102:READ 110:READ 120:READ 130:READ ");
    assert_false(is_there("each_parent"));
}

static void test_write_back_is_its_cause_s(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("run.db", TRACE_STORE_WHOLE);
    add_reader(writer, 101, TRACE_NONE);
    add_reader(writer, 102, TRACE_NONE);
    add_write_back(writer, "vda", START + 500, trace_process(writer, 102, TRACE_NONE, "python", 6));
    add_write_back(writer, "vda", START + 600, 0);
    add_write_back(writer, "sdb", START + 700, 0);
    export_it(writer, &(struct trace_export_options){0});
    check_rows("each_parent/parent_0", "101:READ 700:BIOW ");
    check_rows("each_parent/parent_1", "102:READ 500:BIOW ");
}

/* Rows that end when INIT begins are kept, those that end before are not. */
static void test_the_export_begins_with_init(void **state)
{
    (void)state;
    struct error err;
    struct trace_writer *writer = make_trace("run.db", TRACE_STORE_WHOLE);
    const struct trace_phase init = {"INIT", START + 105, START + 200, "dlio"};
    add_reader(writer, 103, TRACE_NONE); /* ends at 104 */
    add_reader(writer, 104, TRACE_NONE);
    int64_t cause = trace_process(writer, 104, TRACE_NONE, "python", 6);
    add_write_back(writer, "vda", START + 99, cause); /* takes 5 */
    add_write_back(writer, "vda", START + 100, cause);
    assert_true(trace_add_phase(writer, &init, &err));
    export_it(writer, &(struct trace_export_options){0});
    check_rows("all_combined/combined", "100:BIOW 104:READ ");
}

static void test_an_empty_trace_has_no_workers(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("run.db", TRACE_STORE_WHOLE);
    add_write_back(writer, "sdb", START + 700, 0);
    export_it(writer, &(struct trace_export_options){0});
    check_rows("all_combined/combined", "700:BIOW ");
    check_titles("each_parent", "{\n}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_loaders_belong_to_their_parents_or_take_turns),
        TEST(test_as_in_the_study_loaders_take_turns),
        TEST(test_the_second_process_on_a_gpu_is_not_of_the_run),
        TEST(test_without_gpus_all_that_read_are_workers),
        TEST(test_workloads_have_their_own_roles),
        TEST(test_write_back_is_its_cause_s),
        TEST(test_the_export_begins_with_init),
        TEST(test_an_empty_trace_has_no_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
