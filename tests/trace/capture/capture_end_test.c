/* How traces end, and what they hold when something is wrong. */
#include "support/capture_run.h"
#include "trace/capture/command.h"

#include <dirent.h>
#include <linux/bpf.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void the_exit_status_is_passed_on(void **state)
{
    struct capture_run run;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "seven", 7);
    assert_true(run.report.ended);
    capture_remove(&run);
}

/* A command waits for its own tracer, whatever else is started before it may go. */
static void commands_wait_for_nobody_else(void **state)
{
    char program[] = "true", argument[] = "";
    char *words[] = {program, argument, NULL};
    struct capture_command commands[3];
    struct error err;
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(capture_command_start(&commands[i], words, NULL, &err));
    for (int i = 0; i < 3; i++)
        assert_true(capture_command_go(&commands[i], program, &err));
    for (int i = 0; i < 3; i++) {
        capture_command_drop(&commands[i]);
        assert_true(commands[i].ended);
        assert_int_equal(capture_command_status(&commands[i]), 0);
    }
}

/* Nothing runs that nobody traces. */
static void a_command_ends_with_its_tracer(void **state)
{
    struct capture_run run;
    char program[] = "touch";
    char *words[] = {program, run.log, NULL};
    struct capture_command command;
    struct error err;
    int told[2], pid = 0;
    (void)state;
    capture_make(&run);
    assert_int_equal(pipe(told), 0);
    pid_t tracer = fork();
    if (tracer == 0) { /* is killed before it lets the command go */
        close(told[0]);
        if (capture_command_start(&command, words, NULL, &err))
            pid = (int)command.pid;
        ssize_t written = write(told[1], &pid, sizeof pid);
        _exit(written == sizeof pid ? 0 : 1);
    }
    close(told[1]);
    assert_int_equal(read(told[0], &pid, sizeof pid), sizeof pid);
    assert_true(pid > 0);
    char byte;
    assert_int_equal(read(told[0], &byte, 1), 0); /* both have ended: the command has this pipe as well */
    close(told[0]);
    assert_int_equal(waitpid(tracer, NULL, 0), tracer);
    assert_int_not_equal(access(run.log, F_OK), 0);
    capture_remove(&run);
}

static void a_command_that_is_not_there_is_named(void **state)
{
    struct capture_run run;
    struct error err;
    char program[] = "/there/is/no/such";
    char *words[] = {program, NULL};
    (void)state;
    capture_make(&run);
    struct trace_capture_options options = capture_options_of(&run, words);
    options.no_bpf = true;
    assert_false(trace_capture(&options, &run.report, &err));
    assert_non_null(strstr(err.text, "/there/is/no/such"));
    capture_remove(&run);
}

static void stopping_ends_the_command_and_keeps_the_trace(void **state)
{
    struct capture_run run;
    struct error err = {.text = ""};
    char program[] = "sleep", argument[] = "1000";
    char *words[] = {program, argument, NULL};
    const atomic_bool stop = true;
    (void)state;
    capture_make(&run);
    struct trace_capture_options options = capture_options_of(&run, words);
    options.no_bpf = true;
    options.stop = &stop;
    if (!trace_capture(&options, &run.report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(run.report.status, 128 + SIGTERM);
    struct trace_reader *reader = trace_reader_new(run.store, &err);
    assert_non_null(reader);
    assert_string_equal(trace_meta(reader, "command"), "sleep 1000");
    assert_false(trace_unfinished(reader)); /* it ended as it was asked to */
    trace_reader_free(reader);
    capture_remove(&run);
}

static bool is_unfinished(const struct capture_run *run)
{
    struct error err;
    struct trace_reader *reader = trace_reader_new(run->store, &err);
    if (!reader)
        fail_msg("%s", err.text);
    bool unfinished = trace_unfinished(reader);
    trace_reader_free(reader);
    return unfinished;
}

/* ---- more than there is room for ---- */

static void trace_plenty(struct capture_run *run, int64_t buffer, bool done, struct error *err)
{
    char program[] = "/proc/self/exe", act[] = "act", name[] = "plenty";
    char *words[] = {program, act, name, run->data, run->log, NULL};
    struct trace_capture_options options = capture_options_of(run, words);
    options.buffer = buffer;
    *err = (struct error){.text = ""};
    if (trace_capture(&options, &run->report, err) != done)
        fail_msg("%s", done ? err->text : "no error");
}

static int64_t reads_of(const struct capture_run *run, int64_t *lost)
{
    struct error err;
    struct trace_event event;
    int64_t reads = 0;
    const struct trace_filter filter = {TRACE_READ, INT64_MIN, INT64_MAX, true};
    struct trace_reader *reader = trace_reader_new(run->store, &err);
    if (!reader)
        fail_msg("%s", err.text);
    struct trace_cursor *cursor = trace_events(reader, &filter, &err);
    while (trace_next_event(cursor, &event))
        reads += strcmp(trace_call_name(reader, event.call), "pread64") == 0;
    assert_true(trace_cursor_close(cursor, &err));
    *lost = trace_lost(reader);
    trace_reader_free(reader);
    return reads;
}

static void nothing_is_lost_where_there_is_room(void **state)
{
    struct capture_run run;
    struct error err;
    int64_t lost;
    (void)state;
    capture_need_bpf();
    capture_make(&run);
    trace_plenty(&run, 0, true, &err);
    assert_in_range(reads_of(&run, &lost), ACTS_PLENTY, ACTS_PLENTY + 100); /* and those of the loader */
    assert_int_equal(lost, 0);
    assert_int_equal(run.report.lost, 0);
    capture_remove(&run);
}

/* Each was lost between two moments of the run. */
static void check_losses(const struct capture_run *run)
{
    struct error err;
    int count;
    int64_t first, last;
    struct trace_reader *reader = trace_reader_new(run->store, &err);
    assert_non_null(reader);
    const struct trace_loss *losses = trace_losses(reader, &count);
    assert_true(count > 0 && trace_span(reader, &first, &last, &err) && first != TRACE_NONE);
    for (int i = 0; i < count; i++) {
        assert_true(losses[i].count > 0 && losses[i].from_ns < losses[i].to_ns);
        assert_true(losses[i].from_ns < last && losses[i].to_ns > first);
        assert_true(losses[i].to_ns - losses[i].from_ns <= (int64_t)(run->report.seconds * 1e9));
    }
    assert_false(trace_unfinished(reader));
    trace_reader_free(reader);
}

static void what_finds_no_room_is_counted_and_shown(void **state)
{
    struct capture_run run;
    struct error err;
    int64_t lost;
    (void)state;
    capture_need_bpf();
    capture_make(&run);
    trace_plenty(&run, 4096, true, &err);
    int64_t reads = reads_of(&run, &lost);
    assert_true(lost > 0);
    assert_int_equal(lost, run.report.lost);
    assert_in_range(reads + lost, ACTS_PLENTY, ACTS_PLENTY + ACTS_PLENTY / 10); /* and of other classes */
    assert_non_null(strstr(run.report.notes.data, "lost: "));
    assert_non_null(strstr(run.report.notes.data, " read events, between "));
    check_losses(&run);
    capture_remove(&run);
}

static void a_full_disk_ends_the_trace_and_leaves_what_was_written(void **state)
{
    struct capture_run run;
    struct error err;
    int64_t lost;
    char small[200];
    (void)state;
    capture_need_bpf();
    capture_make(&run);
    snprintf(small, sizeof small, "%s/small", run.top);
    assert_int_equal(mkdir(small, 0755), 0);
    if (mount("none", small, "tmpfs", 0, "size=6m") != 0) {
        capture_remove(&run);
        print_message("# skipped: no small file system can be mounted here\n");
        skip();
    }
    snprintf(run.store, sizeof run.store, "%s/small/run.db", run.top);
    trace_plenty(&run, 0, false, &err);
    assert_non_null(strstr(err.text, "no space left on the disk"));
    assert_non_null(strstr(err.text, "is kept"));
    assert_true(run.report.ended); /* the command was not harmed */
    assert_int_equal(run.report.status, 0);
    assert_in_range(reads_of(&run, &lost), 50000, ACTS_PLENTY - 1);
    assert_true(is_unfinished(&run));
    assert_int_equal(umount(small), 0);
    capture_remove(&run);
}

/* ---- rights ---- */

static void without_rights_it_is_said_what_is_missing(void **state)
{
    struct capture_run run;
    char program[] = "true", text[512] = "";
    char *words[] = {program, NULL};
    int told[2];
    (void)state;
    capture_need_bpf();
    capture_make(&run);
    assert_int_equal(chmod(run.top, 0777), 0);
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct error err = {.text = "no error"};
        const struct trace_capture_options options = capture_options_of(&run, words);
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(77);
        trace_capture(&options, &run.report, &err);
        ssize_t length = (ssize_t)strlen(err.text);
        _exit(write(told[1], err.text, (size_t)length) == length ? (int)err.kind : 99);
    }
    close(told[1]);
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(read(told[0], text, sizeof text - 1) > 0);
    close(told[0]);
    assert_int_equal(WEXITSTATUS(status), ERROR_FAILED);
    assert_non_null(strstr(text, "it needs root, or CAP_BPF and CAP_PERFMON"));
    assert_non_null(strstr(text, "--no-bpf"));
    capture_remove(&run);
}

/* ---- a tracer that is killed ---- */

/* Numbers of the kernel's programs that a process holds. */
static int programs_of(pid_t pid, __u32 *ids, int max)
{
    char name[300], line[128];
    int count = 0;
    snprintf(name, sizeof name, "/proc/%d/fdinfo", pid);
    DIR *folder = opendir(name);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        snprintf(name, sizeof name, "/proc/%d/fdinfo/%.16s", pid, entry->d_name);
        FILE *file = fopen(name, "r");
        while (file && fgets(line, sizeof line, file))
            if (count < max && sscanf(line, "prog_id: %u", &ids[count]) == 1)
                count++;
        if (file)
            fclose(file);
    }
    if (folder)
        closedir(folder);
    return count;
}

static bool is_loaded(__u32 id)
{
    union bpf_attr attributes = {.prog_id = id};
    int program = (int)syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attributes, sizeof attributes);
    if (program >= 0)
        close(program);
    return program >= 0;
}

/* The command says its number, and goes on. */
static void a_tracer_that_is_killed_leaves_nothing_behind(void **state)
{
    struct capture_run run;
    __u32 ids[64];
    char program[] = "sh", flag[] = "-c", text[] = "echo $$; exec sleep 1000 >/dev/null";
    char *words[] = {program, flag, text, NULL};
    int told[2];
    (void)state;
    capture_need_bpf();
    capture_make(&run);
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    atomic_bool *begun = mmap(NULL, sizeof *begun, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(begun, MAP_FAILED);
    pid_t pid = fork();
    if (pid == 0) {
        struct error err;
        struct trace_capture_options options = capture_options_of(&run, words);
        options.begun = begun;
        dup2(told[1], STDOUT_FILENO);
        _exit(trace_capture(&options, &run.report, &err) ? 0 : 1);
    }
    int command = 0;
    close(told[1]);
    FILE *said = fdopen(told[0], "r");
    assert_non_null(said);
    assert_int_equal(fscanf(said, "%d", &command), 1);
    fclose(said);
    while (access(run.store, F_OK) != 0 && waitpid(pid, NULL, WNOHANG) == 0)
        usleep(10000); /* the trace gets its name once the command has begun */
    assert_true(atomic_load(begun));
    int count = programs_of(pid, ids, 64), left = count;
    assert_true(count >= 10);
    for (int i = 0; i < count; i++)
        assert_true(is_loaded(ids[i]));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    while (left > 0) { /* the kernel takes its time */
        left = 0;
        for (int i = 0; i < count; i++)
            left += is_loaded(ids[i]);
        sched_yield();
    }
    assert_int_equal(kill(command, 0), 0); /* it goes on, untraced */
    kill(command, SIGKILL);
    assert_true(is_unfinished(&run));
    munmap(begun, sizeof *begun);
    capture_remove(&run);
}

/* ---- without BPF ---- */

/* The largest sample: the last one of a process may be taken when its memory is gone. */
static double most_of(const struct capture_run *run, const char *kind, const char *source)
{
    struct error err;
    struct trace_sample sample;
    double most = -1;
    struct trace_reader *reader = trace_reader_new(run->store, &err);
    assert_non_null(reader);
    struct trace_cursor *cursor = trace_samples(reader, &TRACE_ALL, &err);
    while (trace_next_sample(cursor, &sample)) {
        const struct trace_series_info *series = trace_series_info(reader, sample.series);
        if (strcmp(series->kind, kind) == 0 && (!source || strcmp(series->source, source) == 0))
            most = fmax(most, sample.value);
    }
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
    return most;
}

/* The command goes on until the store has its name and was committed twice: between that all was sampled, itself as well. */
static void the_machine_is_sampled_without_bpf(void **state)
{
    struct capture_run run;
    struct error err = {.text = ""};
    char program[] = "sh", flag[] = "-c",
         text[] =
             "changed() { stat -c %y \"$0\" 2>/dev/null; }\n"
             "for i in 1 2 3; do before=$(changed); while [ \"$(changed)\" = \"$before\" ]; do :; done; done";
    (void)state;
    capture_make(&run);
    char *words[] = {program, flag, text, run.store, NULL};
    struct trace_capture_options options = capture_options_of(&run, words);
    options.no_bpf = true;
    if (!trace_capture(&options, &run.report, &err))
        fail_msg("%s", err.text);
    assert_in_range((int)most_of(&run, "cpu.usr", "all"), 0, 100);
    assert_in_range((int)most_of(&run, "cpu.busy", "0"), 0, 100);
    assert_true(most_of(&run, "mem.available", "all") > 0);
    assert_true(most_of(&run, "net.rMB/s", "lo") >= 0);
    assert_true(most_of(&run, "process.rss", NULL) > 0);
    assert_true(most_of(&run, "process.cpu", NULL) >= 0);
    capture_remove(&run);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "act") == 0)
        return acts_main(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exit_status_is_passed_on),
        cmocka_unit_test(commands_wait_for_nobody_else),
        cmocka_unit_test(a_command_ends_with_its_tracer),
        cmocka_unit_test(a_command_that_is_not_there_is_named),
        cmocka_unit_test(stopping_ends_the_command_and_keeps_the_trace),
        cmocka_unit_test(nothing_is_lost_where_there_is_room),
        cmocka_unit_test(what_finds_no_room_is_counted_and_shown),
        cmocka_unit_test(a_full_disk_ends_the_trace_and_leaves_what_was_written),
        cmocka_unit_test(without_rights_it_is_said_what_is_missing),
        cmocka_unit_test(a_tracer_that_is_killed_leaves_nothing_behind),
        cmocka_unit_test(the_machine_is_sampled_without_bpf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
