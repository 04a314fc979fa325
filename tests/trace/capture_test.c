/* `rehearse trace` on a program of known content (capture_acts.h): every event is compared with what it did. */
#include "trace/capture_acts.h"

#include "trace/capture.h"
#include "trace/capture_kernel.h"
#include "trace/store.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct run {
    char top[160], data[200], log[200], store[200];
    struct trace_capture_report report;
};

static void make_folders(struct run *run)
{
    const char *place = getenv("TMPDIR");
    *run = (struct run){.report = {.status = 0}};
    snprintf(run->top, sizeof run->top, "%.100s/rehearse-capture-XXXXXX", place ? place : "/var/tmp");
    assert_non_null(mkdtemp(run->top));
    snprintf(run->data, sizeof run->data, "%s/data", run->top);
    snprintf(run->log, sizeof run->log, "%s/log", run->top);
    snprintf(run->store, sizeof run->store, "%s/run.db", run->top);
    assert_int_equal(mkdir(run->data, 0755), 0);
}

static void remove_folders(struct run *run)
{
    char command[sizeof run->top + 16];
    trace_capture_report_release(&run->report);
    snprintf(command, sizeof command, "rm -rf '%.159s'", run->top);
    assert_int_equal(system(command), 0);
}

/* Is BPF allowed here? Skips the test, with the reason, where it is not. */
static void need_bpf(void)
{
    struct text missing = {0};
    struct error err;
    const struct capture_kernel_options options = {.scope = CAPTURE_TREE, .buffer_bytes = 4096};
    struct capture_kernel *kernel = capture_kernel_new(&options, NULL, NULL, &missing, &err);
    text_release(&missing);
    if (!kernel) {
        print_message("# skipped: %s\n", err.text);
        skip();
    }
    capture_kernel_free(kernel);
}

static struct trace_capture_options options_of(const struct run *run, char *const *words)
{
    return (struct trace_capture_options){.store = run->store, .command = words, .version = "test"};
}

static void trace_acts(struct run *run, const char *what, int status)
{
    struct error err = {.text = ""};
    char program[] = "/proc/self/exe", act[] = "act", name[16];
    char *words[] = {program, act, name, run->data, run->log, NULL};
    snprintf(name, sizeof name, "%s", what);
    make_folders(run);
    const struct trace_capture_options options = options_of(run, words);
    if (!trace_capture(&options, &run->report, &err))
        fail_msg("%s", err.text);
    if (run->report.status == 77) {
        remove_folders(run);
        print_message("# skipped: this build or kernel has no '%s'\n", what);
        skip();
    }
    assert_int_equal(run->report.status, status);
    assert_int_equal(run->report.lost, 0);
}

/* ---- the events that were recorded of files below the folder, as acts ---- */

static struct act seen[ACTS_MOST];
static struct trace_event seen_events[ACTS_MOST];
static int seen_count;

static void read_events(const struct run *run)
{
    struct error err = {.text = ""};
    struct trace_event event;
    struct trace_reader *reader = trace_reader_new(run->store, &err);
    if (!reader)
        fail_msg("%s", err.text);
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, &err);
    assert_non_null(cursor);
    seen_count = 0;
    while (trace_next_event(cursor, &event)) {
        const char *at = trace_file_info(reader, event.file)->path;
        if (strncmp(at, run->data, strlen(run->data)) != 0 || at[strlen(run->data)] != '/')
            continue;
        assert_true(seen_count < ACTS_MOST);
        seen_events[seen_count] = event;
        struct act *act = &seen[seen_count++];
        const struct trace_process_info *process = trace_process_info(reader, event.process);
        snprintf(act->call, sizeof act->call, "%s", trace_call_name(reader, event.call));
        snprintf(act->path, sizeof act->path, "%s", at);
        act->pid = process->pid;
        act->tid = process->tid;
        act->fd = event.fd;
        act->offset = event.offset;
        act->size = event.size;
        act->result = event.result;
    }
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
}

static int read_log(const char *log, struct act *into)
{
    FILE *file = fopen(log, "r");
    assert_non_null(file);
    size_t count = fread(into, sizeof *into, ACTS_MOST, file);
    fclose(file);
    return (int)count;
}

static void print_act(const char *title, const struct act *act)
{
    print_error("%s: %s %s pid %" PRId64 " tid %" PRId64 " fd %" PRId64 " offset %" PRId64 " size %" PRId64
                " result %" PRId64 "\n",
                title, act->call, act->path, act->pid, act->tid, act->fd, act->offset, act->size,
                act->result);
}

static bool is_equal(const struct act *a, const struct act *b)
{
    return strcmp(a->call, b->call) == 0 && strcmp(a->path, b->path) == 0 && a->pid == b->pid &&
           a->tid == b->tid && a->fd == b->fd && a->offset == b->offset && a->size == b->size &&
           a->result == b->result;
}

/* Every act of a thread is there, in its order, and the thread did nothing else to these files. */
static void compare_thread(const struct act *done, int done_count, int64_t tid)
{
    int k = 0;
    for (int i = 0; i < done_count; i++) {
        if (done[i].tid != tid)
            continue;
        while (k < seen_count &&
               (seen[k].tid != tid || strncmp(seen[k].call, "fault", 5) == 0 ||
                strcmp(seen[k].call, "fadvise64") == 0 || strcmp(seen[k].call, "fallocate") == 0))
            k++;
        if (k == seen_count || !is_equal(&done[i], &seen[k])) {
            print_act("done", &done[i]);
            if (k < seen_count)
                print_act("seen", &seen[k]);
            fail_msg("act %d of %d was not recorded as it was done", i, done_count);
        }
        k++;
    }
    for (; k < seen_count; k++)
        if (seen[k].tid == tid && strncmp(seen[k].call, "fault", 5) != 0) {
            print_act("seen", &seen[k]);
            fail_msg("this was not done");
        }
}

static void compare_log(const char *log)
{
    static struct act done[ACTS_MOST];
    int count = read_log(log, done);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        bool first = true;
        for (int k = 0; first && k < i; k++)
            first = done[k].tid != done[i].tid;
        if (first)
            compare_thread(done, count, done[i].tid);
    }
}

/* ---- tests ---- */

static void every_call_is_recorded_as_it_was_done(void **state)
{
    struct run run;
    (void)state;
    need_bpf();
    trace_acts(&run, "calls", 0);
    read_events(&run);
    compare_log(run.log);
    remove_folders(&run);
}

static void threads_are_told_apart(void **state)
{
    struct run run;
    (void)state;
    need_bpf();
    trace_acts(&run, "threads", 0);
    read_events(&run);
    compare_log(run.log);
    remove_folders(&run);
}

static void children_are_followed(void **state)
{
    struct run run;
    char log[256];
    (void)state;
    need_bpf();
    trace_acts(&run, "children", 0);
    read_events(&run);
    compare_log(run.log);
    for (int child = 1; child <= 2; child++) {
        snprintf(log, sizeof log, "%s.%d", run.log, child);
        compare_log(log);
    }
    remove_folders(&run);
}

static void io_uring_is_recorded(void **state)
{
    struct run run;
    (void)state;
    need_bpf();
    trace_acts(&run, "uring", 0);
    read_events(&run);
    compare_log(run.log);
    remove_folders(&run);
}

/* Of each page that was touched there is a fault that asked for it, and it had to be read. */
static void page_faults_on_files_are_recorded(void **state)
{
    struct run run;
    int faults[64] = {0}, missed = 0;
    (void)state;
    need_bpf();
    trace_acts(&run, "faults", 0);
    read_events(&run);
    compare_log(run.log);
    for (int i = 0; i < seen_count; i++) {
        if (strncmp(seen[i].call, "fault", 5) != 0)
            continue;
        assert_true(seen[i].offset >= 0 && seen[i].offset % 4096 == 0);
        missed += seen_events[i].cached == 0;
        for (int64_t at = seen[i].offset; at < seen[i].offset + seen[i].size; at += 4096)
            faults[at / 4096 % 64]++;
    }
    for (int i = 0; i < 64; i++)
        assert_true(faults[i] >= 1);
    assert_true(missed > 0);
    remove_folders(&run);
}

static void hits_of_the_page_cache_are_told(void **state)
{
    static const int cached[] = {0, 1, 0, 0}; /* new, again, another part, past the cache */
    struct run run;
    int reads = 0;
    (void)state;
    need_bpf();
    trace_acts(&run, "cached", 0);
    read_events(&run);
    for (int i = 0; i < seen_count; i++)
        if (strcmp(seen[i].call, "pread64") == 0) {
            if (seen[i].result < 0) { /* a file system without O_DIRECT */
                assert_int_equal(reads, 3);
                continue;
            }
            assert_in_range(reads, 0, 3);
            assert_int_equal(seen_events[i].cached, cached[reads]);
            reads++;
        }
    assert_true(reads >= 3);
    remove_folders(&run);
}

/* What it writes and reads reaches the disk as requests of the same bytes, for the process that asked. */
static void disk_requests_have_a_cause(void **state)
{
    struct run run;
    struct error err;
    struct trace_block block;
    int64_t written = 0, got = 0;
    (void)state;
    need_bpf();
    trace_acts(&run, "cached", 0);
    static struct act done[ACTS_MOST];
    assert_true(read_log(run.log, done) > 0);
    struct trace_reader *reader = trace_reader_new(run.store, &err);
    assert_non_null(reader);
    struct trace_cursor *cursor = trace_blocks(reader, &TRACE_ALL, &err);
    while (trace_next_block(cursor, &block)) {
        assert_true(block.queue_ns >= 0 && block.service_ns > 0);
        if (trace_process_info(reader, block.cause)->pid != done[0].pid)
            continue;
        written += block.op == TRACE_OP_WRITE ? block.bytes : 0;
        got += block.op == TRACE_OP_READ ? block.bytes : 0;
    }
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
    if (written + got == 0) {
        remove_folders(&run);
        print_message("# skipped: the folder is not on a disk\n");
        skip();
    }
    assert_true(written >= 1048576);
    assert_true(got >= 65536 + 4096 + 65536);
    remove_folders(&run);
}

struct traced {
    struct run run;
    bool done;
    struct error err;
};

static void *trace_in_thread(void *context)
{
    struct traced *traced = context;
    char program[] = "/proc/self/exe", act[] = "act", name[] = "many";
    char *words[] = {program, act, name, traced->run.data, traced->run.log, NULL};
    const struct trace_capture_options options = options_of(&traced->run, words);
    traced->done = trace_capture(&options, &traced->run.report, &traced->err);
    return NULL;
}

static void two_traces_at_once_are_kept_apart(void **state)
{
    struct traced traced[2];
    pthread_t threads[2];
    (void)state;
    need_bpf();
    for (int i = 0; i < 2; i++) {
        make_folders(&traced[i].run);
        pthread_create(&threads[i], NULL, trace_in_thread, &traced[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        assert_true(traced[i].done);
        assert_int_equal(traced[i].run.report.lost, 0);
        read_events(&traced[i].run);
        compare_log(traced[i].run.log);
        struct run other = traced[i].run;
        memcpy(other.data, traced[1 - i].run.data, sizeof other.data);
        read_events(&other);
        assert_int_equal(seen_count, 0);
    }
    for (int i = 0; i < 2; i++)
        remove_folders(&traced[i].run);
}

static void a_running_process_is_traced_from_then_on(void **state)
{
    struct run run;
    struct error err = {.text = ""};
    int gate[2];
    char file[256];
    (void)state;
    need_bpf();
    make_folders(&run);
    assert_int_equal(pipe(gate), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(gate[0], STDIN_FILENO);
        close(gate[1]);
        execl("/proc/self/exe", "capture_test", "act", "waiting", run.data, run.log, NULL);
        _exit(127);
    }
    snprintf(file, sizeof file, "%s/before", run.data);
    while (access(file, F_OK) != 0)
        usleep(1000);
    pid_t pusher = fork(); /* lets it go on once the trace has begun, which its store shows */
    if (pusher == 0) {
        usleep(1500000);
        _exit(write(gate[1], "x", 1) == 1 ? 0 : 1);
    }
    close(gate[0]);
    close(gate[1]);
    pid_t reaper = fork();
    if (reaper == 0)
        _exit(0);
    waitpid(reaper, NULL, 0);
    signal(SIGCHLD, SIG_IGN); /* so that it is gone when it has ended, and the trace with it */
    const struct trace_capture_options options = {.store = run.store, .pid = pid, .version = "test"};
    bool done = trace_capture(&options, &run.report, &err);
    signal(SIGCHLD, SIG_DFL);
    if (!done)
        fail_msg("%s", err.text);
    read_events(&run);
    compare_log(run.log);
    remove_folders(&run);
}

static void the_exit_status_is_passed_on(void **state)
{
    struct run run;
    (void)state;
    need_bpf();
    trace_acts(&run, "seven", 7);
    assert_true(run.report.ended);
    remove_folders(&run);
}

static void a_command_that_is_not_there_is_named(void **state)
{
    struct run run;
    struct error err;
    char program[] = "/there/is/no/such";
    char *words[] = {program, NULL};
    (void)state;
    make_folders(&run);
    struct trace_capture_options options = options_of(&run, words);
    options.no_bpf = true;
    assert_false(trace_capture(&options, &run.report, &err));
    assert_non_null(strstr(err.text, "/there/is/no/such"));
    remove_folders(&run);
}

static void stopping_ends_the_command_and_keeps_the_trace(void **state)
{
    struct run run;
    struct error err = {.text = ""};
    char program[] = "sleep", argument[] = "1000";
    char *words[] = {program, argument, NULL};
    const atomic_bool stop = true;
    (void)state;
    make_folders(&run);
    struct trace_capture_options options = options_of(&run, words);
    options.no_bpf = true;
    options.stop = &stop;
    if (!trace_capture(&options, &run.report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(run.report.status, 128 + SIGTERM);
    struct trace_reader *reader = trace_reader_new(run.store, &err);
    assert_non_null(reader);
    assert_string_equal(trace_meta(reader, "command"), "sleep 1000");
    trace_reader_free(reader);
    remove_folders(&run);
}

/* strace and rehearse look at the same run: every call, its result, and its time to within what strace adds. */
#define STRACE_CALLS                                                                                         \
    "trace=openat,open,creat,openat2,close,read,pread64,readv,preadv,preadv2,write,pwrite64,writev,pwritev," \
    "pwritev2,"                                                                                              \
    "fsync,fdatasync,sync_file_range,lseek,ftruncate,stat,lstat,newfstatat,statx,access,unlink,unlinkat,"    \
    "rename,"                                                                                                \
    "renameat2,link,mkdir,mkdirat,rmdir,truncate,symlink"

/* "PID SECONDS call(…) = RESULT…", of a call that ended; -1 for all errors. */
static bool parse_strace(const char *line, char *call, double *start, int64_t *result)
{
    const char *end = NULL;
    for (const char *at = line; (at = strstr(at, ") ")) != NULL; at++)
        end = at;
    for (const char *at = end; at && *at && *at != '='; at++)
        end = at + 1;
    return end && *end == '=' && sscanf(line, "%*d %lf %23[a-z0-9_](", start, call) == 2 &&
           sscanf(end, "= %" SCNd64, result) == 1;
}

/* Of the process `pid` since it executed its program. */
static void read_events_of(const struct run *run, int64_t pid)
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

static void strace_tells_the_same(void **state)
{
    struct run run;
    struct error err = {.text = ""};
    char output[256], line[4096], call[24];
    int64_t result;
    double start;
    int k = 0;
    (void)state;
    need_bpf();
    if (access("/usr/bin/strace", X_OK) != 0) {
        print_message("# skipped: no strace\n");
        skip();
    }
    make_folders(&run);
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
    const struct trace_capture_options options = options_of(&run, words);
    if (!trace_capture(&options, &run.report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(run.report.status, 0);
    static struct act done[ACTS_MOST];
    assert_true(read_log(run.log, done) > 0);
    read_events_of(&run, done[0].pid);
    FILE *file = fopen(output, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (!parse_strace(line, call, &start, &result) || strcmp(call, "link") == 0)
            continue;
        assert_true(k < seen_count);
        assert_string_equal(seen[k].call, call);
        if (result == -1)
            assert_true(seen[k].result < 0);
        else
            assert_int_equal(seen[k].result, result);
        assert_true(fabs((double)seen_events[k].start_ns / 1e9 - start) < 0.1);
        k++;
    }
    fclose(file);
    assert_true(k > 80);
    assert_int_equal(k, seen_count);
    remove_folders(&run);
}

static double last_of(const struct run *run, const char *kind, const char *source)
{
    struct error err;
    struct trace_sample sample;
    double last = -1;
    struct trace_reader *reader = trace_reader_new(run->store, &err);
    assert_non_null(reader);
    struct trace_cursor *cursor = trace_samples(reader, &TRACE_ALL, &err);
    while (trace_next_sample(cursor, &sample)) {
        const struct trace_series_info *series = trace_series_info(reader, sample.series);
        if (strcmp(series->kind, kind) == 0 && (!source || strcmp(series->source, source) == 0))
            last = sample.value;
    }
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
    return last;
}

static void the_machine_is_sampled_without_bpf(void **state)
{
    struct run run;
    struct error err = {.text = ""};
    char program[] = "sh", flag[] = "-c",
         text[] = "end=$(( $(date +%s) + 2 )); while [ $(date +%s) -lt $end ]; do :; done";
    char *words[] = {program, flag, text, NULL};
    (void)state;
    make_folders(&run);
    struct trace_capture_options options = options_of(&run, words);
    options.no_bpf = true;
    if (!trace_capture(&options, &run.report, &err))
        fail_msg("%s", err.text);
    assert_in_range((int)last_of(&run, "cpu.usr", "all"), 0, 100);
    assert_in_range((int)last_of(&run, "cpu.busy", "0"), 0, 100);
    assert_true(last_of(&run, "mem.available", "all") > 0);
    assert_true(last_of(&run, "net.rMB/s", "lo") >= 0);
    assert_true(last_of(&run, "process.rss", NULL) > 0);
    assert_true(last_of(&run, "process.cpu", NULL) >= 0);
    remove_folders(&run);
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
        cmocka_unit_test(page_faults_on_files_are_recorded),
        cmocka_unit_test(hits_of_the_page_cache_are_told),
        cmocka_unit_test(disk_requests_have_a_cause),
        cmocka_unit_test(two_traces_at_once_are_kept_apart),
        cmocka_unit_test(a_running_process_is_traced_from_then_on),
        cmocka_unit_test(strace_tells_the_same),
        cmocka_unit_test(the_exit_status_is_passed_on),
        cmocka_unit_test(a_command_that_is_not_there_is_named),
        cmocka_unit_test(stopping_ends_the_command_and_keeps_the_trace),
        cmocka_unit_test(the_machine_is_sampled_without_bpf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
