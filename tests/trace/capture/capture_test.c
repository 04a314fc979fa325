/* `rehearse trace` on a program of known content (capture_acts.h): every event is compared with what it did. */
#include "support/capture_run.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void every_call_is_recorded_as_it_was_done(void **state)
{
    struct capture_run run;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "calls", 0);
    capture_read_events(&run);
    capture_compare(run.log);
    capture_remove(&run);
}

static void threads_are_told_apart(void **state)
{
    struct capture_run run;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "threads", 0);
    capture_read_events(&run);
    capture_compare(run.log);
    capture_remove(&run);
}

static void children_are_followed(void **state)
{
    struct capture_run run;
    char log[256];
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "children", 0);
    capture_read_events(&run);
    capture_compare(run.log);
    for (int child = 1; child <= 2; child++) {
        snprintf(log, sizeof log, "%s.%d", run.log, child);
        capture_compare(log);
    }
    capture_remove(&run);
}

static void io_uring_is_recorded(void **state)
{
    struct capture_run run;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "uring", 0);
    capture_read_events(&run);
    capture_compare(run.log);
    capture_remove(&run);
}

static void copies_are_recorded_of_both_files(void **state)
{
    struct capture_run run;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "copies", 0);
    capture_read_events(&run);
    capture_compare(run.log);
    for (int i = 0; i < seen_count; i++)
        if (strcmp(seen[i].call, "sendfile") == 0)
            assert_int_equal(seen_events[i].class, strstr(seen[i].path, "/from") ? TRACE_READ : TRACE_WRITE);
    capture_remove(&run);
}

static void memory_of_processes_is_read_without_a_file(void **state)
{
    struct capture_run run;
    struct error err;
    struct trace_event event;
    int64_t result[2] = {0}, size[2] = {0};
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "memory", 0);
    struct trace_reader *reader = trace_reader_new(run.store, &err);
    assert_non_null(reader);
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, &err);
    while (trace_next_event(cursor, &event)) {
        const char *call = trace_call_name(reader, event.call);
        if (strncmp(call, "process_vm_", 11) != 0)
            continue;
        assert_int_equal(event.file, 0);
        result[call[11] == 'w'] += event.result;
        size[call[11] == 'w'] += event.size;
    }
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
    assert_int_equal(size[0], 323);
    assert_int_equal(result[0], 323);
    assert_int_equal(size[1], 100);
    assert_int_equal(result[1], 100);
    capture_remove(&run);
}

static void io_submit_is_recorded(void **state)
{
    struct capture_run run;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "aio", 0);
    capture_read_events(&run);
    capture_compare(run.log);
    for (int i = 0; i < seen_count; i++)
        if (strncmp(seen[i].call, "io_submit:", 10) == 0)
            assert_true(seen_events[i].latency_ns > 0);
    capture_remove(&run);
}

/* The process that opened a file in the folder; how many rows it has. */
static const struct trace_process_info *opener_of(struct trace_reader *reader, const char *file, int *rows)
{
    struct error err;
    struct trace_event event;
    const struct trace_filter opens = {TRACE_OPEN, INT64_MIN, INT64_MAX, false};
    const struct trace_process_info *found = NULL;
    struct trace_cursor *cursor = trace_events(reader, &opens, &err);
    assert_non_null(cursor);
    while (trace_next_event(cursor, &event)) {
        const char *path = trace_file_info(reader, event.file)->path, *name = strrchr(path, '/');
        if (name && strcmp(name + 1, file) == 0)
            found = trace_process_info(reader, event.process);
    }
    assert_true(trace_cursor_close(cursor, &err));
    assert_non_null(found);
    *rows = 0;
    for (int64_t id = 1; id <= trace_process_count(reader); id++)
        *rows += trace_process_info(reader, id)->pid == found->pid &&
                 trace_process_info(reader, id)->tid == found->tid;
    return found;
}

/* A process has the name of what it executed, or gave itself, and never the tracer's. */
static void processes_have_their_names(void **state)
{
    struct capture_run run;
    struct error err;
    int rows;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "names", 0);
    struct trace_reader *reader = trace_reader_new(run.store, &err);
    assert_non_null(reader);
    assert_string_equal(opener_of(reader, "first", &rows)->name, "renamed-main");
    assert_int_equal(rows, 1);
    assert_string_equal(opener_of(reader, "thread", &rows)->name, "renamed-thread");
    assert_int_equal(rows, 1);
    assert_string_equal(opener_of(reader, "child", &rows)->name, "renamed-child");
    assert_int_equal(rows, 1);
    assert_string_equal(opener_of(reader, "shared", &rows)->name, "exe"); /* it executed this later */
    assert_int_equal(rows, 2);
    assert_non_null(strstr(opener_of(reader, "first", &rows)->command, " act names "));
    for (int64_t id = 1; id <= trace_process_count(reader); id++)
        assert_int_not_equal(trace_process_info(reader, id)->pid, getpid());
    trace_reader_free(reader);
    /* a trace of such names can be added to */
    struct trace_writer *writer = trace_writer_new(run.store, TRACE_STORE_APPEND, &err);
    if (!writer || !trace_writer_close(writer, &err))
        fail_msg("%s", err.text);
    capture_remove(&run);
}

/* strace and rehearse look at the same run: every call, its result, and its time. A call begins for strace, which stops
 * the process then, before it begins for rehearse, and the next one later, however long each had to wait for a processor. */
#define STRACE_CALLS                                                                                         \
    "trace=openat,open,creat,openat2,close,read,pread64,readv,preadv,preadv2,write,pwrite64,writev,pwritev," \
    "pwritev2,"                                                                                              \
    "fsync,fdatasync,sync_file_range,lseek,ftruncate,stat,lstat,newfstatat,statx,access,unlink,unlinkat,"    \
    "rename,"                                                                                                \
    "renameat2,link,mkdir,mkdirat,rmdir,truncate,symlink"

/* "PID SECONDS call(…) = RESULT…", of a call that ended; -1 for all errors. */
static bool parse_strace(const char *line, char *call, int64_t *start_ns, int64_t *result)
{
    int64_t seconds, micros;
    const char *end = NULL;
    for (const char *at = line; (at = strstr(at, ") ")) != NULL; at++)
        end = at;
    for (const char *at = end; at && *at && *at != '='; at++)
        end = at + 1;
    bool parsed = end && *end == '=' &&
                  sscanf(line, "%*d %" SCNd64 ".%6" SCNd64 " %23[a-z0-9_](", &seconds, &micros, call) == 3 &&
                  sscanf(end, "= %" SCNd64, result) == 1;
    *start_ns = parsed ? seconds * 1000000000 + micros * 1000 : 0;
    return parsed;
}

/* Of the process `pid` since it executed its program. */
static void read_events_of(const struct capture_run *run, int64_t pid)
{
    struct error err = {.text = ""};
    struct trace_event event;
    struct trace_reader *reader = trace_reader_new(run->store, &err);
    assert_non_null(reader);
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, &err);
    seen_count = 0;
    while (trace_next_event(cursor, &event)) {
        const char *call = trace_call_name(reader, event.call);
        const struct trace_process_info *process = trace_process_info(reader, event.process);
        char listed[40];
        snprintf(listed, sizeof listed, "%.30s,", call);
        bool wanted = strstr(STRACE_CALLS ",", listed) != NULL && strcmp(call, "link") != 0;
        if (process->pid != pid || strcmp(process->name, "strace") == 0 || !wanted)
            continue;
        seen_events[seen_count] = event;
        seen[seen_count].result = event.result;
        snprintf(seen[seen_count++].call, sizeof seen->call, "%s", call);
    }
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
}

#define CLOCKS_APART                                                                                         \
    10000000 /* ns that the clock of the wall may be set by meanwhile, while the other one is not */

static void strace_tells_the_same(void **state)
{
    struct capture_run run;
    struct error err = {.text = ""};
    char output[256], line[4096], call[24];
    int64_t result, start_ns;
    int k = 0;
    (void)state;
    capture_need_bpf();
    if (access("/usr/bin/strace", X_OK) != 0) {
        print_message("# skipped: no strace\n");
        skip();
    }
    capture_make(&run);
    snprintf(output, sizeof output, "%s/strace", run.top);
    char self[256] = "";
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    char *words[] = {"/usr/bin/strace",
                     "-f",
                     "-ttt",
                     "-o",
                     output,
                     "-e",
                     STRACE_CALLS,
                     "-E",
                     "ASAN_OPTIONS=detect_leaks=0",
                     self,
                     "act",
                     "calls",
                     run.data,
                     run.log,
                     NULL};
    const struct trace_capture_options options = capture_options_of(&run, words);
    if (!trace_capture(&options, &run.report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(run.report.status, 0);
    static struct act done[MAX_ACTS];
    assert_true(capture_read_log(run.log, done) > 0);
    read_events_of(&run, done[0].pid);
    FILE *file = fopen(output, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (!parse_strace(line, call, &start_ns, &result) || strcmp(call, "link") == 0)
            continue;
        assert_true(k < seen_count);
        assert_string_equal(seen[k].call, call);
        if (result == -1)
            assert_true(seen[k].result < 0);
        else
            assert_int_equal(seen[k].result, result);
        if (k > 0)
            assert_true(seen_events[k - 1].start_ns - CLOCKS_APART < start_ns);
        assert_true(seen_events[k].start_ns + CLOCKS_APART > start_ns);
        k++;
    }
    fclose(file);
    assert_true(k > 80);
    assert_int_equal(k, seen_count);
    capture_remove(&run);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "act") == 0)
        return acts_main(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_is_recorded_as_it_was_done),
        cmocka_unit_test(threads_are_told_apart),
        cmocka_unit_test(children_are_followed),
        cmocka_unit_test(io_uring_is_recorded),
        cmocka_unit_test(copies_are_recorded_of_both_files),
        cmocka_unit_test(memory_of_processes_is_read_without_a_file),
        cmocka_unit_test(io_submit_is_recorded),
        cmocka_unit_test(processes_have_their_names),
        cmocka_unit_test(strace_tells_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
