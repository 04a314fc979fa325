#include "cli/command.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "core/child.h"
#include "core/json.h"
#include "trace/capture/capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct trace_options {
    struct rh_list command;
    const char *store, *cgroup, *user;
    int64_t pid;
    double buffer, interval, after;
    bool system, no_bpf, sched, force, json, after_dashes;
};

static const struct option_spec table[] = {
    OPTION(trace_options, store, OPTION_FILE, "output", .letter = 'o', .argument = "FILE",
           .initial = "run.db", .help = "the trace, an SQLite file"),
    OPTION(trace_options, force, OPTION_FLAG, "force",
           .help = "replace an existing trace as soon as the new one has begun"),
    OPTION(trace_options, user, OPTION_TEXT, "user", .argument = "NAME",
           .help = "run the command as this user instead of root, with the user's groups, HOME and USER"),
    OPTION(trace_options, pid, OPTION_INTEGER, "pid", .letter = 'p', .argument = "PID", .min = 1,
           .max = 4194304,
           .help = "trace a process that runs already and its children, instead of a command"),
    OPTION(trace_options, cgroup, OPTION_FILE, "cgroup", .argument = "FOLDER",
           .help = "trace all processes in a control group (version 2) and below it"),
    OPTION(trace_options, system, OPTION_FLAG, "system",
           .help = "trace all processes, with or without a command"),
    OPTION(trace_options, no_bpf, OPTION_FLAG, "no-bpf",
           .help = "only sample /proc and GPUs; needs no rights"),
    OPTION(trace_options, sched, OPTION_FLAG, "sched",
           .help = "also record when threads are off the processor, and why"),
    OPTION(trace_options, buffer, OPTION_QUANTITY, "buffer", .unit = UNIT_BYTES, .argument = "BYTES",
           .initial = "64MiB", .min = 4096, .max = 0x1p31,
           .help = "size of the buffer between kernel and program; increase it if events are lost"),
    OPTION(trace_options, interval, OPTION_QUANTITY, "interval", .unit = UNIT_TIME, .argument = "TIME",
           .initial = "100ms", .min = 0.01, .max = 3600, .help = "time between samples of /proc and GPUs"),
    OPTION(trace_options, after, OPTION_QUANTITY, "after", .unit = UNIT_TIME, .argument = "TIME",
           .initial = "0s", .max = 86400,
           .help = "continue for this long after the command has ended, to see write-back"),
    OPTION(trace_options, json, OPTION_FLAG, "json",
           .help = "print a summary of the recording as JSON, on standard error"),
    OPTION_END,
};

/* Returns whether execvp would find a program of this name. */
static bool is_program(const char *name)
{
    const char *path = getenv("PATH");
    char full[4096];
    for (path = path ? path : "/bin:/usr/bin"; *path; path += *path == ':') {
        size_t length = strcspn(path, ":");
        int made = snprintf(full, sizeof full, "%.*s/%s", (int)length, length ? path : ".", name);
        if (made > 0 && made < (int)sizeof full && access(full, X_OK) == 0)
            return true;
        path += length;
    }
    return false;
}

/* Returns the command whose last word this is, preferably a 'trace ...'; NULL: there is none. */
static const struct command *command_of_word(const char *const *last, size_t count, const char *word)
{
    const struct command *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(last[i], word) == 0 && (!found || text_starts_with(commands[i]->name, "trace ")))
            found = commands[i];
    return found;
}

/* 'rehearse trace steps x' is more often a mistaken 'figure steps' than a program of that name. So a word
 * of one of our commands is a program only after '--', and so is a word near to one if there is no such
 * program. */
static bool check_first_word(const struct trace_options *given, struct error *err)
{
    const char *word = given->command.count > 0 ? given->command.items[0] : "";
    const char *last[64];
    size_t count = 0;
    if (given->command.count == 0 || given->after_dashes || strchr(word, '/'))
        return true;
    for (; commands[count] && count < sizeof last / sizeof *last; count++) {
        const char *space = strchr(commands[count]->name, ' ');
        last[count] = space ? space + 1 : commands[count]->name;
    }
    const struct command *meant = command_of_word(last, count, word);
    const char *nearest = !meant && !is_program(word) ? text_nearest(word, last, count) : NULL;
    if (nearest)
        meant = command_of_word(last, count, nearest);
    return !meant ||
           error_set(err, ERROR_USAGE,
                     "trace: did you mean 'rehearse %s'? a program '%s' is traced by 'rehearse trace -- %s'",
                     meant->name, word, word);
}

static bool check(const struct trace_options *given, struct error *err)
{
    int ways = (given->command.count > 0) + (given->pid > 0) + (given->cgroup != NULL);
    if (ways > 1)
        return error_set(err, ERROR_USAGE, "trace: a command, --pid and --cgroup exclude each other");
    if (given->system && (given->pid > 0 || given->cgroup))
        return error_set(err, ERROR_USAGE, "trace: --system is all processes already");
    if (ways == 0 && !given->system)
        return error_set(
            err, ERROR_USAGE,
            "trace: what is to be traced? rehearse trace -o run.db -- COMMAND…, or --pid, --cgroup, "
            "--system");
    if (given->user && given->command.count == 0)
        return error_set(err, ERROR_USAGE, "trace: --user is for a command");
    return check_first_word(given, err);
}

static void print_json(const struct trace_options *given, const struct trace_capture_report *report,
                       struct text *out)
{
    struct json json = {.out = out};
    json_open_document(&json, "rehearse-trace-recording/1");
    json_string(&json, "trace", given->store);
    json_integer(&json, "rows", report->rows);
    json_integer(&json, "lost", report->lost);
    json_number(&json, "seconds", report->seconds);
    json_number(&json, "load_cpu_seconds", report->load_seconds);
    json_number(&json, "tracer_cpu_seconds", report->cpu_seconds);
    json_integer(&json, "gpus", report->gpus);
    if (given->command.count > 0)
        json_integer(&json, "status", report->status);
    json_string(&json, "notes", text_within(&report->notes, out));
    json_close(&json);
}

static void print_text(const struct trace_options *given, const struct trace_capture_report *report,
                       struct text *out)
{
    const char *notes = text_within(&report->notes, out);
    text_format(out,
                "rehearse: %s: %" PRId64 " events in %.1f s, %" PRId64
                " lost; the tracer took %.2f s of a processor\n",
                given->store, report->rows, report->seconds, report->lost, report->cpu_seconds);
    while (*notes) {
        size_t length = strcspn(notes, "\n");
        bool lost = text_starts_with(notes, "lost:");
        text_format(out, "rehearse: %s%.*s\n", lost ? "" : "not recorded: ", (int)length, notes);
        notes += length + (notes[length] != '\0');
    }
}

/* Warns that the command went on without its trace. */
static void warn(const struct trace_capture_report *report, const struct error *err)
{
    output_warn("%s; the trace was cut off within %.1f s, the command went on", err->text, report->seconds);
}

/* Records. Standard output and the exit status are the command's. */
static bool record(struct trace_options *given, const struct child_user *user, struct error *err)
{
    struct text text = {0};
    char **words = calloc(given->command.count + 1, sizeof *words);
    if (!words)
        return error_memory(err);
    for (size_t i = 0; i < given->command.count; i++)
        words[i] = (char *)(uintptr_t)given->command.items[i]; /* of argv, which may be written to */
    struct trace_capture_report report;
    const struct trace_capture_options options = {
        .store = given->store,
        .replace = given->force,
        .user = user,
        .command = given->command.count > 0 ? words : NULL,
        .pid = (int)given->pid,
        .cgroup = given->cgroup,
        .system = given->system,
        .no_bpf = given->no_bpf,
        .off_cpu = given->sched,
        .buffer = (int64_t)given->buffer,
        .interval = given->interval,
        .after = given->after,
        .version = REHEARSE_VERSION,
        .stop = stop_on_signals(),
    };
    bool done = trace_capture(&options, &report, err);
    if (done) {
        given->json ? print_json(given, &report, &text) : print_text(given, &report, &text);
        output_say(&text);
    }
    bool ran = report.began && report.ended;
    if (!done && ran)
        warn(&report, err);
    text_release(&text);
    trace_capture_report_release(&report);
    free(words);
    if (ran && report.status != 0)
        exit(report.status);
    return done || ran;
}

static bool trace(void *context, struct error *err)
{
    struct trace_options *given = context;
    struct child_user user = {0};
    if (!check(given, err) || (given->user && !child_user_find(&user, given->user, err)))
        return false;
    bool done = record(given, given->user ? &user : NULL, err);
    child_user_release(&user);
    return done;
}

static const struct command_example examples[] = {
    {"rehearse trace -o run.db -- python train.py", "file and disk operations of a training job"},
    {"rehearse trace -o feed.db -- rehearse feed unet3d_h100", "the same of its emulation"},
    {"rehearse trace -o run.db --pid 4711", "a job that runs already, until it ends or Ctrl-C"},
    {"rehearse trace -o run.db --no-bpf -- ./job",
     "without root: processors, processes, disks, network, GPUs"},
    {NULL, NULL},
};

const struct command command_trace = {
    .name = "trace",
    .summary = "record how a command uses files, disks, processors and GPUs",
    .description =
        "Runs COMMAND and records the actions of COMMAND and its children in an SQLite file: each open, "
        "read, write, "
        "page fault on a file, io_uring request, fsync and the like with path, offset, size, result, "
        "latency, and whether the page cache had the data; and each request to a disk with the process "
        "behind it. Ten times a second it samples processors, processes, disks, network, memory and GPUs.\n\n"
        "It needs root, or CAP_BPF and CAP_PERFMON; --no-bpf needs no rights and records only the "
        "samples. Ctrl-C ends the command and then the trace. The exit status is that of COMMAND, even if "
        "the trace could not be written to the end. An existing trace is kept, unless --force replaces it "
        "once COMMAND has started.\n\n"
        "Events that did not fit into the buffer between the kernel and this program are counted by class "
        "and shown.",
    .options = table,
    .options_size = sizeof(struct trace_options),
    .operands = {"COMMAND", "the command to run, after '--', with its own options", NULL, 0, 0,
                 offsetof(struct trace_options, command)},
    .after_dashes_at = offsetof(struct trace_options, after_dashes),
    .examples = examples,
    .run = trace,
};
