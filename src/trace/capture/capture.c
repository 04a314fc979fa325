#include "trace/capture/capture.h"
#include "core/clock.h"
#include "core/unit.h"
#include "trace/capture/clients.h"
#include "trace/capture/command.h"
#include "trace/capture/kernel.h"
#include "trace/capture/rows.h"
#include "trace/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs the command in the child. A byte opens the gate, not its closing: another command that another
 * thread starts meanwhile may hold it open. Its closing means that the tracer has ended, and the command
 * does not run. */
static _Noreturn void run(char *const *words, const struct child_user *user, int gate, int failure)
{
    char byte;
    ssize_t got;
    do
        got = read(gate, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(127);
    int code = child_execute(words, user);
    ssize_t written = write(failure, &code, sizeof code);
    (void)written;
    _exit(127);
}

bool capture_command_start(struct capture_command *command, char *const *words, const struct child_user *user,
                           struct error *err)
{
    int gate[2], failure[2];
    *command = (struct capture_command){.gate = -1, .failure = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) != 0)
        return error_set(err, ERROR_FAILED, "cannot start '%s': %s", words[0], strerror(errno));
    if (pipe2(failure, O_CLOEXEC) != 0) {
        close(gate[0]);
        close(gate[1]);
        return error_set(err, ERROR_FAILED, "cannot start '%s': %s", words[0], strerror(errno));
    }
    pid_t pid = child_fork();
    if (pid == 0) {
        close(gate[1]);
        close(failure[0]);
        run(words, user, gate[0], failure[1]);
    }
    int code = errno;
    close(gate[0]);
    close(failure[1]);
    command->gate = gate[1];
    command->failure = failure[0];
    if (pid < 0) {
        capture_command_drop(command);
        return error_set(err, ERROR_FAILED, "cannot start '%s': %s", words[0], strerror(code));
    }
    command->pid = pid;
    return true;
}

bool capture_command_go(struct capture_command *command, const char *name, struct error *err)
{
    int code = 0;
    ssize_t got;
    send(command->gate, "", 1,
         MSG_NOSIGNAL); /* the process may have been killed; it is waited for all the same */
    close(command->gate);
    command->gate = -1;
    do
        got = read(command->failure, &code, sizeof code);
    while (got < 0 && errno == EINTR);
    close(command->failure);
    command->failure = -1;
    return got != (ssize_t)sizeof code || error_set(err, code == ENOENT ? ERROR_NOT_THERE : ERROR_NOT_RUN,
                                                    "cannot run '%s': %s", name, strerror(code));
}

/* Returns true if it has ended; does not wait. */
static bool capture_command_ended(struct capture_command *command)
{
    if (!command->ended && command->pid > 0 && waitpid(command->pid, &command->status, WNOHANG) != 0)
        command->ended = true;
    return command->ended;
}

void capture_command_drop(struct capture_command *command)
{
    if (command->pid > 0 && !command->ended && command->gate >= 0)
        kill(command->pid, SIGKILL);
    if (command->gate >= 0)
        close(command->gate);
    if (command->failure >= 0)
        close(command->failure);
    command->gate = command->failure = -1;
    if (command->pid > 0 && !command->ended && waitpid(command->pid, &command->status, 0) == command->pid)
        command->ended = true;
}

int capture_command_status(const struct capture_command *command)
{
    if (WIFEXITED(command->status))
        return WEXITSTATUS(command->status);
    return WIFSIGNALED(command->status) ? 128 + WTERMSIG(command->status) : 1;
}

#define MILLISECOND    INT64_C(1000000)
#define RECORDS_A_TURN 100000            /* of the ring, before the clock is looked at again */
#define REST           INT64_C(40000000) /* ns to wait if there is nothing to read: a stop is seen as soon */

struct capture {
    const struct trace_capture_options *options;
    struct trace_capture_report *report;
    struct trace_writer *writer;
    struct capture_kernel *kernel;
    struct capture_rows rows;
    struct sampler *sampler;
    struct capture_command command;
    struct capture_clients clients;
    int *pids; /* that are sampled */
    size_t pid_count;
    int64_t to_utc; /* added to CLOCK_MONOTONIC */
    int64_t begun, next_sample, next_second;
    double cpu; /* seconds that this program had taken when it began */
    int end;    /* becomes readable when the traced process ends; -1: none */
    struct loss {
        int64_t count, from, to;    /* so far, and between which times (CLOCK_MONOTONIC) */
    } lost[CAPTURE_LOST_KINDS + 1]; /* the last: events that came while their program was running */
    int64_t lost_looked;            /* when they were last looked at */
    bool rows_ready, forwarded;
};

/* Reads both clocks at one moment: of several readings it takes the quickest. */
static void read_clocks(int64_t *monotonic, int64_t *realtime)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        int64_t before = clock_nanoseconds();
        int64_t utc = clock_read(CLOCK_REALTIME);
        int64_t took = clock_nanoseconds() - before;
        if (took >= best)
            continue;
        best = took;
        *monotonic = before + took / 2;
        *realtime = utc;
    }
}

/* Adds a pair of times. Only the first pair converts to UTC, so that a clock that is set meanwhile does
 * not tear the trace; later pairs are kept for information. */
static bool add_clock(struct capture *capture, struct error *err)
{
    int64_t monotonic = 0, realtime = 0;
    read_clocks(&monotonic, &realtime);
    if (capture->to_utc == 0)
        capture->to_utc = realtime - monotonic;
    return trace_add_clock(capture->writer, monotonic, realtime, err);
}

/* ---- metadata ---- */

static bool set_meta(struct capture *capture, struct error *err)
{
    const struct trace_capture_options *options = capture->options;
    struct trace_writer *writer = capture->writer;
    struct utsname host;
    struct text words = {0};
    char number[32];
    uname(&host);
    for (int i = 0; options->command && options->command[i]; i++)
        text_format(&words, "%s%s", i ? " " : "", options->command[i]);
    if (options->pid)
        text_format(&words, "--pid %d", options->pid);
    else if (options->cgroup)
        text_format(&words, options->command ? " (--cgroup %s)" : "--cgroup %s", options->cgroup);
    else if (options->system)
        text_add(&words, "--system");
    snprintf(number, sizeof number, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    bool set = !words.failed && trace_set_meta(writer, "source", "rehearse trace", err) &&
               trace_set_meta(writer, "command", words.data ? words.data : "", err) &&
               trace_set_meta(writer, "version", options->version ? options->version : "", err) &&
               trace_set_meta(writer, "libbpf", capture_kernel_version(), err) &&
               trace_set_meta(writer, "bpf", options->no_bpf ? "no" : "yes", err) &&
               trace_set_meta(writer, "host", host.nodename, err) &&
               trace_set_meta(writer, "kernel", host.release, err) &&
               trace_set_meta(writer, "machine", host.machine, err) &&
               trace_set_meta(writer, "processors", number, err);
    if (words.failed)
        error_memory(err);
    text_release(&words);
    return set;
}

/* ---- which processes ---- */

static void find_pids(struct capture *capture)
{
    const struct trace_capture_options *options = capture->options;
    int root = capture->command.pid ? (int)capture->command.pid : options->pid;
    free(capture->pids);
    capture->pids = NULL;
    capture->pid_count = 0;
    if (options->cgroup)
        capture->pid_count = sample_cgroup(options->cgroup, &capture->pids);
    else if (root)
        capture->pid_count = sample_descendants(root, &capture->pids);
}

/* Updates the sampled processes: the kernel reports new and ended ones; without it /proc is read once a
 * second. */
static void refresh_pids(struct capture *capture, bool second)
{
    const struct trace_capture_options *options = capture->options;
    if (!options->no_bpf && !options->cgroup && !options->system) {
        int *pids = NULL;
        capture->pid_count = capture_rows_alive(&capture->rows, &pids);
        free(capture->pids);
        capture->pids = pids;
    } else if (second)
        find_pids(capture);
    for (size_t i = 0; options->no_bpf && second && i < capture->pid_count; i++)
        capture_clients_look(&capture->clients, capture->pids[i], clock_nanoseconds());
}

/* ---- beginning ---- */

static bool begin_kernel(struct capture *capture, struct error *err)
{
    const struct trace_capture_options *options = capture->options;
    const struct capture_kernel_options kernel = {
        .scope = options->cgroup   ? CAPTURE_CGROUP
                 : options->system ? CAPTURE_SYSTEM
                                   : CAPTURE_TREE,
        .cgroup = options->cgroup,
        .buffer_bytes = options->buffer ? options->buffer : TRACE_CAPTURE_BUFFER,
        .off_cpu = options->off_cpu,
    };
    char space[64];
    ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    /* PROC_PID_INIT_INO: elsewhere the kernel's numbers of processes are not those seen here */
    if (kernel.scope == CAPTURE_TREE && length > 0 && strncmp(space, "pid:[4026531836]", 16) != 0)
        return error_set(err, ERROR_FAILED,
                         "a container has process numbers of its own: trace from the host, or use --cgroup");
    capture_rows_init(&capture->rows, capture->writer, &capture->clients, capture->to_utc);
    capture->rows_ready = true;
    if (capture->command.pid && kernel.scope != CAPTURE_CGROUP)
        capture_rows_command(&capture->rows, (int)capture->command.pid, options->command[0]);
    capture->kernel =
        capture_kernel_new(&kernel, capture_rows_add, &capture->rows, &capture->report->notes, err);
    if (!capture->kernel)
        return false;
    for (size_t i = 0; i < capture->pid_count; i++) {
        capture_rows_process(&capture->rows, capture->pids[i]);
        if (kernel.scope == CAPTURE_TREE && !capture_kernel_add(capture->kernel, capture->pids[i], err))
            return false;
    }
    return capture_kernel_attach(capture->kernel, err);
}

/* Returns a descriptor that becomes readable when the process ends (Linux 5.3). */
static int open_process(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Checks the folder, since without programs in the kernel nothing else would. */
static bool check_cgroup(const char *folder, struct error *err)
{
    struct text path = {0};
    text_format(&path, "%s/cgroup.procs", folder);
    bool found = !path.failed && access(path.data, R_OK) == 0;
    if (path.failed)
        error_memory(err);
    else if (!found)
        error_set(err, ERROR_INPUT, "%s: not the folder of a control group", folder);
    text_release(&path);
    return found;
}

/* Gives the trace of a user's command to the user; a trace of other processes stays root's. */
static bool give_away(struct capture *capture, struct error *err)
{
    const struct child_user *user = capture->options->user;
    return !user || capture->options->system || capture->options->cgroup ||
           trace_writer_give(capture->writer, user->user, user->group, err);
}

static bool begin(struct capture *capture, struct error *err)
{
    const struct trace_capture_options *options = capture->options;
    const char *why;
    if (options->pid && (capture->end = open_process(options->pid)) < 0)
        return error_set(err, ERROR_INPUT, "process %d: %s", options->pid, strerror(errno));
    if (options->cgroup && options->no_bpf && !check_cgroup(options->cgroup, err))
        return false;
    capture->writer = trace_writer_new(options->store,
                                       TRACE_STORE_KEEP | (options->replace ? TRACE_STORE_REPLACE : 0), err);
    if (!capture->writer || !give_away(capture, err) || !add_clock(capture, err) || !set_meta(capture, err))
        return false;
    capture->sampler = sampler_new(capture->writer, err);
    if (!capture->sampler)
        return false;
    capture->report->gpus = sampler_gpus(capture->sampler, &why);
    if (capture->report->gpus == 0)
        text_format(&capture->report->notes, "no GPU: %s\n", why);
    if (options->command) {
        if (options->no_bpf) /* processes that outlive the command stay below this process */
            prctl(PR_SET_CHILD_SUBREAPER, 1);
        if (!capture_command_start(&capture->command, options->command, options->user, err))
            return false;
        capture->end = open_process(capture->command.pid);
    }
    find_pids(capture);
    if (!options->no_bpf && !begin_kernel(capture, err))
        return false;
    capture->begun = capture->next_sample = capture->lost_looked = clock_nanoseconds();
    capture->next_second = capture->begun + CLOCK_SECOND;
    capture->report->load_seconds = clock_processor() - capture->cpu;
    if (options->begun)
        atomic_store(options->begun, true);
    if (options->command && !capture_command_go(&capture->command, options->command[0], err))
        return false;
    if (options->command && options->no_bpf && !options->cgroup)
        capture_clients_look(&capture->clients, (int)capture->command.pid, capture->begun);
    if (capture->rows_ready)
        capture_rows_started(&capture->rows, clock_nanoseconds());
    capture->report->began = true;
    return trace_writer_publish(capture->writer,
                                err); /* not before: a run that cannot begin replaces no trace */
}

/* ---- losses ---- */

static const char *lost_name(int kind)
{
    static const char *const others[] = {"block", "process", "state"};
    if (kind < TRACE_CLASSES)
        return trace_class_name((enum trace_class)kind);
    if (kind == CAPTURE_LOST_KINDS)
        return "interrupted";
    return kind >= CAPTURE_LOST_BLOCK && kind <= CAPTURE_LOST_STATE ? others[kind - CAPTURE_LOST_BLOCK]
                                                                    : "other";
}

/* Stores new losses with their time. It runs once a second, so that they are known even if the tracer is
 * killed. */
static bool look_for_lost(struct capture *capture, int64_t now, struct error *err)
{
    int64_t counts[CAPTURE_LOST_KINDS + 1], from = capture->lost_looked;
    if (!capture->kernel)
        return true;
    capture_kernel_lost(capture->kernel, counts, &counts[CAPTURE_LOST_KINDS]);
    capture->lost_looked = now;
    for (int i = 0; i <= CAPTURE_LOST_KINDS; i++) {
        struct loss *lost = &capture->lost[i];
        int64_t more = counts[i] - lost->count;
        if (more <= 0)
            continue;
        lost->from = lost->count > 0 ? lost->from : from;
        lost->to = now;
        lost->count = counts[i];
        if (!trace_add_lost(capture->writer, lost_name(i), more, from + capture->to_utc,
                            now + capture->to_utc, err))
            return false;
    }
    return true;
}

static void note_lost(struct capture *capture, const char *name, const struct loss *lost)
{
    char from[32], to[32];
    if (lost->count == 0)
        return;
    unit_format(from, sizeof from, (double)(lost->from - capture->begun) * 1e-9, UNIT_TIME, 4);
    unit_format(to, sizeof to, (double)(lost->to - capture->begun) * 1e-9, UNIT_TIME, 4);
    capture->report->lost += lost->count;
    text_format(&capture->report->notes, "lost: %" PRId64 " %s events, between %s and %s\n", lost->count,
                name, from, to);
}

/* ---- recording ---- */

static bool take_sample(struct capture *capture, int64_t now, struct error *err)
{
    const double interval = capture->options->interval > 0 ? capture->options->interval : 0.1;
    bool second = now >= capture->next_second;
    refresh_pids(capture, second);
    if (second) {
        capture->next_second += CLOCK_SECOND;
        if (!add_clock(capture, err) || !look_for_lost(capture, now, err) ||
            !trace_writer_commit(capture->writer, err))
            return false;
    }
    capture->next_sample += (int64_t)(interval * 1e9);
    if (capture->next_sample < now) /* too late for the next ones: leave them out */
        capture->next_sample = now + (int64_t)(interval * 1e9);
    return sampler_take(capture->sampler, now + capture->to_utc, capture->pids, capture->pid_count, err);
}

static int drain(struct capture *capture)
{
    return capture->kernel ? capture_kernel_read(capture->kernel, RECORDS_A_TURN) : 0;
}

static bool stopped(const struct capture *capture)
{
    return capture->options->stop && atomic_load(capture->options->stop);
}

/* Returns whether recording is over. A command that was asked to end is recorded until it has ended. */
static bool is_over(struct capture *capture, int64_t now, int64_t *end)
{
    if (capture->command.pid) {
        if (stopped(capture) && !capture->forwarded) {
            kill(capture->command.pid, SIGTERM);
            capture->forwarded = true;
        }
        if (*end == 0 && capture_command_ended(&capture->command))
            *end = now + (stopped(capture) ? 0 : (int64_t)(capture->options->after * 1e9));
        return *end != 0 && now >= *end;
    }
    struct pollfd ended = {.fd = capture->end, .events = POLLIN};
    return stopped(capture) || poll(&ended, 1, 0) == 1 ||
           (capture->options->ends_with_cgroup && capture->pid_count == 0);
}

/* Waits until the next sample, or the end of the traced process. A buffer of 64 MiB holds the events of
 * 100 ms at six million events a second; a smaller one is read more often. */
static void rest(const struct capture *capture)
{
    int64_t bytes = capture->options->buffer ? capture->options->buffer : TRACE_CAPTURE_BUFFER;
    int64_t max = bytes >= TRACE_CAPTURE_BUFFER ? REST : REST / 64 * (bytes >> 20);
    int64_t time = capture->next_sample - clock_nanoseconds();
    struct pollfd end = {.fd = capture->command.ended ? -1 : capture->end, .events = POLLIN};
    time = time < max ? time : max;
    time = time > MILLISECOND ? time : MILLISECOND;
    poll(&end, 1, (int)(time / MILLISECOND)); /* a signal ends it too */
}

static bool record(struct capture *capture, struct error *err)
{
    int64_t end = 0;
    for (;;) {
        int64_t now = clock_nanoseconds();
        bool over = is_over(capture, now, &end);
        if ((over || now >= capture->next_sample) && !take_sample(capture, now, err))
            return false;
        int read = over ? 0 : drain(capture);
        if (capture->rows_ready && capture->rows.failed) {
            *err = capture->rows.err;
            return false;
        }
        capture_clients_tell(&capture->clients, now);
        if (over)
            return true;
        if (read < RECORDS_A_TURN / 100)
            rest(capture);
    }
}

/* ---- ending ---- */

/* Waits for a command that goes on although it can no longer be recorded; a signal to the tracer ends it. */
static void wait_for_command(struct capture *capture)
{
    int64_t end = 0;
    while (capture->command.pid && !is_over(capture, clock_nanoseconds(), &end) && !capture->command.ended) {
        struct pollfd ended = {.fd = capture->end, .events = POLLIN};
        poll(&ended, 1, (int)(REST / MILLISECOND)); /* a signal ends it too */
    }
}

static bool end_kernel(struct capture *capture, struct error *err)
{
    capture_kernel_detach(capture->kernel);
    while (!capture->rows.failed && drain(capture) > 0) {}
    if (capture->rows.failed) {
        *err = capture->rows.err;
        return false;
    }
    if (!look_for_lost(capture, clock_nanoseconds(), err))
        return false;
    for (int i = 0; i <= CAPTURE_LOST_KINDS; i++)
        note_lost(capture, lost_name(i), &capture->lost[i]);
    return true;
}

/* Keeps in the trace and in the report which traced programs have left the work to others. */
static bool note_clients(struct capture *capture, struct error *err)
{
    struct text *lines = &capture->report->clients;
    capture_clients_list(&capture->clients, lines);
    if (lines->failed)
        return error_memory(err);
    return lines->length == 0 || trace_set_meta(capture->writer, "not_followed", lines->data, err);
}

bool trace_capture(const struct trace_capture_options *options, struct trace_capture_report *report,
                   struct error *err)
{
    struct capture capture = {.options = options,
                              .report = report,
                              .command = {.gate = -1, .failure = -1},
                              .clients = {.system = options->system},
                              .cpu = clock_processor(),
                              .end = -1};
    struct error late;
    *report = (struct trace_capture_report){.status = 0};
    bool done = begin(&capture, err) && record(&capture, err) &&
                (!capture.kernel || end_kernel(&capture, err)) && note_clients(&capture, err);
    capture_kernel_free(capture.kernel); /* before waiting, so that the command is not slowed down */
    report->seconds = capture.begun ? (double)(clock_nanoseconds() - capture.begun) / 1e9 : 0;
    if (capture.writer)
        report->rows = trace_writer_rows(capture.writer);
    sampler_free(capture.sampler);
    if (capture.rows_ready)
        capture_rows_release(&capture.rows);
    if (capture.writer && !done)
        trace_writer_cut(capture.writer);
    bool closed = report->began && trace_writer_close(capture.writer, done ? err : &late);
    if (report->began)
        wait_for_command(&capture);
    else
        trace_writer_drop(capture.writer); /* and keep an older trace of this name */
    capture_command_drop(&capture.command);
    report->status = capture_command_status(&capture.command);
    report->ended = capture.command.ended;
    report->cpu_seconds = clock_processor() - capture.cpu - report->load_seconds;
    free(capture.pids);
    if (capture.end >= 0)
        close(capture.end);
    return done && closed;
}

void trace_capture_report_release(struct trace_capture_report *report)
{
    text_release(&report->notes);
    text_release(&report->clients);
}
