#include "cli/answer.h"
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
static bool check_first_word(const struct command_line *line, struct error *err)
{
    const char *word = line->operands.count > 0 ? line->operands.items[0] : "";
    const char *last[64];
    size_t count = 0;
    if (line->operands.count == 0 || line->after_dashes || strchr(word, '/'))
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

/* What is said goes to standard error: standard output and the exit status are the command's. */
static bool say(const rh_report *report, const char *form, struct error *err)
{
    return rh_number(report, "complete") == 0 || answer_say(report, form, err);
}

static bool run_trace(void *context, struct error *err)
{
    const struct command_line *line = context;
    rh_report *report = check_first_word(line, err) ? answer_ask(context, err) : NULL;
    if (!report)
        return false;
    double status = rh_number(report, "status"); /* NAN: no command was run */
    bool done = say(report, line->json ? "json" : "text", err);
    rh_free(report);
    if (done && status > 0.0)
        exit((int)status);
    return done;
}

static const struct command_example examples[] = {
    {"rehearse trace -o run.db -- python train.py", "file and disk operations of a training job"},
    {"rehearse trace -o feed.db -- rehearse feed unet3d_h100", "the same of its emulation"},
    {"rehearse trace -o run.db --container web", "a container that runs already, with all its processes"},
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
    .asks = &api_trace,
    .options = COMMAND_ROWS(LINE_JSON_OF("print a summary of the recording as JSON, on standard error")),
    .operands = {.help = "the command to run, after '--', with its own options"},
    .examples = examples,
    .run = run_trace,
};
