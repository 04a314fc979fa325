/* Parts of the room, each on its own: paths, spans, names, limits, roles and losses. */
#include "trace/capture/files.h"
#include "trace/export/file.h"
#include "trace/export/tracks.h"
#include "trace/import/import.h"
#include "trace/import/json.h"
#include "trace/phase/internal.h"
#include "trace/roles.h"
#include "trace/sample_parts.h"
#include "trace/traces.h"

#include <math.h>
#include <sys/wait.h>

/* ---- capture ---- */

static void check_path(const char *given, const char *names, size_t names_bytes, const char *expected)
{
    char path[CAPTURE_MAX_PATH];
    memset(path, 'x', sizeof path);
    capture_path(given, strlen(given) + 1, names, names_bytes, path);
    assert_string_equal(path, expected);
}

static void paths_begin_at_the_root(void **state)
{
    (void)state;
    check_path("a/b", "dir\0home", 9, "/home/dir/a/b");
    check_path("./x//y/.", "dir\0home", 9, "/home/dir/x/y");
    check_path("/a/./b", "", 0, "/a/b");
    check_path("../up", "dir", 4, "/dir/../up");
    check_path("", "", 0, "/");
    check_path(".", "", 0, "/");
    check_path(".h", "", 0, "/.h");
}

static void a_name_without_room_is_left_out(void **state)
{
    (void)state;
    static char name[CAPTURE_MAX_PATH + 1], path[CAPTURE_MAX_PATH];
    memset(name, 'n', CAPTURE_MAX_PATH - 2);
    capture_path(name, CAPTURE_MAX_PATH - 1, "", 0, path);
    assert_int_equal(strlen(path), CAPTURE_MAX_PATH - 1);
    name[CAPTURE_MAX_PATH - 2] = 'n';
    capture_path(name, CAPTURE_MAX_PATH, "", 0, path);
    assert_string_equal(path, "/");
}

static void devices_of_the_kernel_become_those_of_stat(void **state)
{
    (void)state;
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_int_equal(capture_device(1u << 20 | 3), info.st_rdev);
}

/* ---- export ---- */

static void times_are_written_with_their_digits(void **state)
{
    (void)state;
    static const struct {
        int64_t time_ns;
        int digits;
        const char *text;
    } cases[] = {
        {INT64_C(1795219200123456789), 9, "2026-11-21T00:00:00.123456789"},
        {INT64_C(1795219200123456789), 3, "2026-11-21T00:00:00.123"},
        {INT64_C(1795219200000000007), 6, "2026-11-21T00:00:00.000000"},
        {INT64_C(1795219200999999999), 0, "2026-11-21T00:00:00"},
        {-1, 9, "1969-12-31T23:59:59.999999999"},
        {-1000000000, 0, "1969-12-31T23:59:59"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64] = "";
        FILE *file = fmemopen(text, sizeof text, "w");
        export_time(file, cases[i].time_ns, cases[i].digits);
        fclose(file);
        assert_string_equal(text, cases[i].text);
    }
}

static void strings_are_escaped(void **state)
{
    (void)state;
    char text[64] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    export_string(file, "a\"b\\c\x01 \xc3\xa9\xff.");
    fclose(file);
    assert_string_equal(text, "\"a\\\"b\\\\c\\u0001 \xc3\xa9\\\\xff.\"");
}

static bool nests(struct export_tracks *tracks, int64_t pid, int64_t tid, int64_t start, int64_t end)
{
    struct error err;
    bool result;
    assert_true(export_nests(tracks, pid, tid, start, end, &result, &err));
    return result;
}

static void spans_of_a_line_nest_or_lie_apart(void **state)
{
    (void)state;
    struct export_tracks tracks = {0};
    assert_true(nests(&tracks, 1, 1, 0, 100));
    assert_true(nests(&tracks, 1, 1, 10, 100));
    assert_false(nests(&tracks, 1, 1, 20, 101));
    assert_true(nests(&tracks, 1, 2, 20, 101));
    assert_true(nests(&tracks, 2, 1, 20, 101));
    assert_true(nests(&tracks, 1, 1, 30, 40));
    assert_true(nests(&tracks, 1, 1, 40, 50));
    assert_false(nests(&tracks, 1, 1, 49, 51));
    assert_true(nests(&tracks, 1, 1, 100, 200));
    export_tracks_release(&tracks);
    assert_null(tracks.tracks);
}

/* ---- files and limits ---- */

static void alike_files_have_one_name(void **state)
{
    (void)state;
    static const struct {
        const char *path, *name; /* NULL: no file of a run */
    } cases[] = {
        {"/data/prof_9.npz", "/data/prof_#.npz"},
        {"/data/img_07_of_32.npz", "/data/img_#_of_32.npz"},
        {"/data/part-00007-of-00128", "/data/part-#-of-00128"},
        {"/data/abc.tar.gz", "/data/.gz"},
        {"/data/abc", "/data/"},
        {"/d12/of5", "/d#/of#"},
        {"x7", "x#"},
        {"/usr/data/1", NULL},
        {"/data/a.py", NULL},
        {"/data/lib.so.1", NULL},
        {"/x/site-packages/y1", NULL},
        {"/a1 -> b", NULL},
        {"", NULL},
        {"pipe:[1]", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[64];
        assert_int_equal(phase_group_name(cases[i].path, name, sizeof name), cases[i].name != NULL);
        if (cases[i].name)
            assert_string_equal(name, cases[i].name);
    }
    char small[6];
    assert_true(phase_group_name("/data/x1", small, sizeof small));
    assert_string_equal(small, "/data");
    assert_false(phase_group_name("/data/x1", small, 1));
}

static void numbers_have_limits(void **state)
{
    (void)state;
    struct trace_event event = {.class = TRACE_READ,
                                .start_ns = TRACE_MAX_TIME,
                                .latency_ns = TRACE_MAX_LENGTH,
                                .result = TRACE_MAX_BYTES >> 10};
    assert_true(trace_event_fits(&event));
    event.result++;
    assert_false(trace_event_fits(&event));
    event.class = TRACE_STAT; /* its result is no number of bytes */
    assert_true(trace_event_fits(&event));
    event.start_ns++;
    assert_false(trace_event_fits(&event));
    event.start_ns = TRACE_MIN_TIME;
    event.latency_ns = TRACE_NONE;
    assert_true(trace_event_fits(&event));
    event.start_ns--;
    assert_false(trace_event_fits(&event));
    event.start_ns = 0;
    event.latency_ns = TRACE_MAX_LENGTH + 1;
    assert_false(trace_event_fits(&event));
    event.latency_ns = -TRACE_MAX_LENGTH - 1;
    assert_false(trace_event_fits(&event));
    struct trace_block block = {
        .queue_ns = -TRACE_MAX_LENGTH, .service_ns = TRACE_NONE, .bytes = TRACE_MAX_BYTES >> 10};
    assert_true(trace_block_fits(&block));
    block.bytes++;
    assert_false(trace_block_fits(&block));
    block.bytes = 0;
    block.service_ns = TRACE_MAX_LENGTH + 1;
    assert_false(trace_block_fits(&block));
    struct trace_sample sample = {.value = -TRACE_MAX_VALUE};
    assert_true(trace_sample_fits(&sample));
    sample.value = 1.01 * TRACE_MAX_VALUE;
    assert_false(trace_sample_fits(&sample));
    sample.value = NAN;
    assert_false(trace_sample_fits(&sample));
    struct trace_phase phase = {"", TRACE_MIN_TIME, TRACE_MAX_TIME, ""};
    assert_true(trace_phase_fits(&phase));
    phase.end_ns++;
    assert_false(trace_phase_fits(&phase));
    assert_true(trace_pid_fits(TRACE_NONE) && trace_pid_fits(TRACE_MAX_PID) &&
                trace_pid_fits(-TRACE_MAX_PID));
    assert_false(trace_pid_fits(TRACE_MAX_PID + 1) || trace_pid_fits(-TRACE_MAX_PID - 1));
}

static void bytes_are_those_that_a_call_moved(void **state)
{
    (void)state;
    struct trace_event event = {.class = TRACE_READ, .size = 100, .result = 7};
    assert_int_equal(trace_bytes_moved(&event), 7);
    event.class = TRACE_WRITE;
    assert_int_equal(trace_bytes_moved(&event), 7);
    event.class = TRACE_FAULT;
    assert_int_equal(trace_bytes_moved(&event), 100);
    event.class = TRACE_STAT;
    assert_int_equal(trace_bytes_moved(&event), 0);
    event.class = TRACE_READ;
    event.result = -5;
    assert_int_equal(trace_bytes_moved(&event), 0);
}

static void calls_have_their_class(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        enum trace_class class;
    } cases[] = {{"read", TRACE_READ},         {"preadv2", TRACE_READ},  {"fwrite", TRACE_WRITE},
                 {"openat2", TRACE_OPEN},      {"syncfs", TRACE_SYNC},   {"faccessat2", TRACE_STAT},
                 {"symlinkat", TRACE_CREATE},  {"lseek64", TRACE_SEEK},  {"ftruncate", TRACE_TRUNCATE},
                 {"close_range", TRACE_CLOSE}, {"mmap", TRACE_MMAP},     {"rmdir", TRACE_RMDIR},
                 {"mkdirat", TRACE_MKDIR},     {"unlink", TRACE_UNLINK}, {"renameat2", TRACE_RENAME},
                 {"rea", TRACE_OTHER},         {"reads", TRACE_OTHER},   {"", TRACE_OTHER},
                 {"ioctl", TRACE_OTHER},       {"64", TRACE_OTHER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(trace_class_of_call(cases[i].call, strlen(cases[i].call)), cases[i].class);
    assert_int_equal(trace_class_of_call("read(3", 4), TRACE_READ);
    assert_string_equal(trace_op_name(TRACE_OP_DISCARD), "discard");
}

static void a_shortfall_says_what_is_missing(void **state)
{
    (void)state;
    struct text text = {0};
    trace_shortfall_add(&text, (struct trace_shortfall){.lost = 0, .cut_ns = TRACE_NONE});
    assert_int_equal(text.length, 0);
    trace_shortfall_add(&text, (struct trace_shortfall){.lost = 7, .cut_ns = TRACE_NONE});
    text_add(&text, "|");
    trace_shortfall_add(&text, (struct trace_shortfall){.lost = 0, .cut_ns = 2500000000});
    text_add(&text, "|");
    trace_shortfall_add(&text, (struct trace_shortfall){.lost = 1, .cut_ns = 0});
    assert_string_equal(text.data,
                        "7 events were lost|cut off after 2.500 s|cut off after 0 s, 1 events were lost");
    assert_true(isnan(trace_cut_seconds((struct trace_shortfall){.cut_ns = TRACE_NONE})));
    assert_true(trace_cut_seconds((struct trace_shortfall){.cut_ns = 2500000000}) == 2.5);
    text_release(&text);
}

static void only_a_trace_that_was_cut_is_short(void **state)
{
    (void)state;
    struct error err;
    for (int cut = 0; cut < 2; cut++) {
        struct trace_writer *writer = make_trace("cut.db", TRACE_STORE_WHOLE);
        assert_true(trace_add_event(writer, &(struct trace_event){.start_ns = 100, .latency_ns = 10}, &err));
        assert_true(trace_add_event(writer, &(struct trace_event){.start_ns = 200, .latency_ns = 50}, &err));
        if (cut)
            trace_writer_cut(writer);
        finish_trace(writer);
        struct trace_reader *reader = open_trace(in_folder("cut.db"));
        struct trace_shortfall shortfall = trace_shortfall_of(reader);
        assert_int_equal(trace_unfinished(reader), cut);
        assert_int_equal(shortfall.lost, 0);
        assert_int_equal(shortfall.cut_ns, cut ? 150 : TRACE_NONE);
        trace_reader_free(reader);
    }
}

/* ---- spans and selections ---- */

static void spans_of_calls_leave_out_samples(void **state)
{
    (void)state;
    struct error err;
    int64_t first, last;
    struct trace_writer *writer = make_trace("spans.db", TRACE_STORE_WHOLE);
    int64_t file = trace_file(writer, TRACE_NONE, TRACE_NONE, "/data/a", 7);
    const struct trace_event event = {.start_ns = 500, .latency_ns = 20, .file = file};
    const struct trace_block block = {.start_ns = 400, .queue_ns = 30, .service_ns = 100};
    const struct trace_phase phase = {"INIT", 450, 535, "io"};
    assert_true(trace_add_event(writer, &event, &err) && trace_add_block(writer, &block, &err));
    assert_true(trace_add_phase(writer, &phase, &err));
    assert_true(
        trace_add_sample(writer, &(struct trace_sample){10, trace_series(writer, "a", "b"), 1}, &err));
    assert_true(
        trace_add_sample(writer, &(struct trace_sample){900, trace_series(writer, "a", "b"), 1}, &err));
    assert_int_equal(trace_writer_rows(writer), 2);
    assert_int_equal(trace_writer_added(writer), 5);
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("spans.db"));
    assert_true(trace_span_of_calls(reader, &first, &last, &err));
    assert_true(first == 400 && last == 535);
    assert_true(trace_span(reader, &first, &last, &err));
    assert_true(first == 10 && last == 900);
    assert_false(trace_span_when_short(reader, &first, &last)); /* it is whole */
    trace_reader_free(reader);
}

static void a_reader_can_be_of_some_files(void **state)
{
    (void)state;
    struct error err;
    struct trace_event found;
    struct trace_writer *writer = make_trace("some.db", TRACE_STORE_WHOLE);
    static const char *const paths[] = {"/data/a", "/log", "pipe:[1]"};
    for (int i = 0; i < 3; i++) {
        const struct trace_event event = {
            .start_ns = i, .file = trace_file(writer, TRACE_NONE, TRACE_NONE, paths[i], strlen(paths[i]))};
        assert_true(trace_add_event(writer, &event, &err));
    }
    finish_trace(writer);
    const struct trace_selection of_data = {.path = "/data/*"}, of_none = {.path = "/none"};
    struct trace_reader *reader = trace_reader_of(in_folder("some.db"), &of_data, &err);
    assert_non_null(reader);
    assert_true(trace_is_selected(reader, 1));
    assert_false(trace_is_selected(reader, 2) || trace_is_selected(reader, 3) ||
                 trace_is_selected(reader, 0));
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, &err);
    assert_true(trace_next_event(cursor, &found) && found.file == 1);
    assert_false(trace_next_event(cursor, &found));
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
    reader = trace_reader_of(in_folder("some.db"), &TRACE_SELECT_FILES, &err);
    assert_true(trace_is_selected(reader, 2) && !trace_is_selected(reader, 3) &&
                trace_is_selected(reader, 0));
    trace_reader_free(reader);
    assert_null(trace_reader_of(in_folder("some.db"), &of_none, &err));
    assert_non_null(strstr(err.text, "no file path matches '/none'"));
    assert_false(trace_next_event(NULL, &found)); /* opening has failed */
    assert_false(trace_cursor_close(NULL, &err));
}

/* ---- samples ---- */

static void counters_are_compared_with_those_before(void **state)
{
    (void)state;
    struct sampler sampler = {.now = 1000000000};
    struct sample_list list = {0};
    uint64_t values[SAMPLE_COUNTERS] = {10, 20};
    double grown[SAMPLE_COUNTERS] = {0};
    assert_true(sample_difference(&sampler, &list, "a", values, grown) == 0);
    assert_true(sample_difference(&sampler, &list, "b", values, grown) == 0);
    sample_forget(&list);
    assert_int_equal(list.count, 2);
    sampler.now += 500000000;
    values[0] = 17;
    values[1] = 5; /* was reset */
    assert_true(sample_difference(&sampler, &list, "b", values, grown) == 0.5);
    assert_true(grown[0] == 7 && grown[1] == 0);
    sample_forget(&list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].name, "b");
    assert_true(sample_difference(&sampler, &list, "b", values, grown) == 0); /* no time has passed */
    free(list.items);
}

static void descendants_are_found_in_proc(void **state)
{
    (void)state;
    int *pids, ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) != 0);
    }
    close(ends[0]);
    size_t count = sample_descendants(getpid(), &pids);
    assert_int_equal(count, 2);
    assert_true(pids[0] == getpid() && pids[1] == child);
    free(pids);
    assert_int_equal(sample_descendants(child, &pids), 1);
    free(pids);
    close(ends[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* ---- roles ---- */

static void roles_are_made_anew(void **state)
{
    (void)state;
    struct error err;
    struct trace_writer *writer = make_trace("roles.db", TRACE_STORE_WHOLE);
    static const char *const sources[] = {"0 11 python", "1:12", "0 14 python", "x"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        assert_true(trace_add_sample(
            writer, &(struct trace_sample){1, trace_series(writer, "gpu.sm", sources[i]), 1}, &err));
    int64_t parents[][2] = {{20, 19}, {19, 12}, {21, 11}, {22, 22}};
    for (size_t i = 0; i < 4; i++) {
        int64_t process = trace_process(writer, parents[i][0], parents[i][0], "p", 1);
        assert_true(trace_process_set(writer, process, parents[i][1], TRACE_NONE, TRACE_NONE, NULL, &err));
    }
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("roles.db"));
    struct roles roles;
    memset(&roles, 0x55, sizeof roles);
    const struct roles_rules rules = {.reader = reader};
    /* 14 is the second on its GPU; 20 descends from 12, 21 from 11, 22 from nobody */
    const int64_t pids[] = {22, 21, 20, 14, 12, 11};
    assert_true(roles_find(&roles, &rules, pids, 6, &err));
    assert_int_equal(roles.count, 5);
    assert_int_equal(roles.workers, 2);
    assert_int_equal(roles.loaders, 3);
    assert_null(roles_of(&roles, 14));
    assert_null(roles_of(&roles, 99));
    assert_true(!roles_of(&roles, 11)->loads && roles_of(&roles, 11)->worker == 0);
    assert_true(!roles_of(&roles, 12)->loads && roles_of(&roles, 12)->worker == 1);
    assert_true(roles_of(&roles, 20)->loads && roles_of(&roles, 20)->worker == 1);
    assert_true(roles_of(&roles, 21)->loads && roles_of(&roles, 21)->worker == 0);
    assert_true(roles_of(&roles, 22)->loads && roles_of(&roles, 22)->worker == 0); /* the third turn */
    roles_release(&roles);
    assert_null(roles_of(&roles, 11));
    trace_reader_free(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(paths_begin_at_the_root),
        TEST(a_name_without_room_is_left_out),
        TEST(devices_of_the_kernel_become_those_of_stat),
        TEST(times_are_written_with_their_digits),
        TEST(strings_are_escaped),
        TEST(spans_of_a_line_nest_or_lie_apart),
        TEST(alike_files_have_one_name),
        TEST(numbers_have_limits),
        TEST(bytes_are_those_that_a_call_moved),
        TEST(calls_have_their_class),
        TEST(a_shortfall_says_what_is_missing),
        TEST(only_a_trace_that_was_cut_is_short),
        TEST(spans_of_calls_leave_out_samples),
        TEST(a_reader_can_be_of_some_files),
        TEST(counters_are_compared_with_those_before),
        TEST(descendants_are_found_in_proc),
        TEST(roles_are_made_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
