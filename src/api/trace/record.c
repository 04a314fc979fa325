/* rh_trace: how a command, a process or the machine uses files, disks, processors and GPUs. */
#include "api/command.h"
#include "core/caller.h"
#include "core/child.h"
#include "core/fields.h"
#include "core/json.h"
#include "trace/capture/capture.h"
#include "trace/capture/container.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool check(const struct rh_trace_request *asked, struct error *err)
{
    int ways = (asked->command.count > 0 && !asked->cgroup) + (asked->pid > 0) + (asked->cgroup != NULL) +
               (asked->container != NULL);
    if (ways > 1)
        return error_set(err, ERROR_USAGE,
                         "trace: give one of a command, --pid, --cgroup and --container (only --cgroup goes "
                         "with a command)");
    if (asked->system && (asked->pid > 0 || asked->cgroup || asked->container))
        return error_set(err, ERROR_USAGE, "trace: --system already traces all processes");
    if (ways == 0 && !asked->system)
        return error_set(err, ERROR_USAGE,
                         "trace: what is to be traced? rehearse trace -o run.db -- COMMAND…, or --pid, "
                         "--cgroup, --container, "
                         "--system");
    if (asked->user && asked->command.count == 0)
        return error_set(err, ERROR_USAGE, "trace: --user is for a command");
    return true;
}

static const struct field capture_fields[] = {
    FIELD_OUT(struct trace_capture_report, "rows", rows, FIELD_INT64),
    FIELD_OUT(struct trace_capture_report, "lost", lost, FIELD_INT64),
    FIELD_OUT(struct trace_capture_report, "seconds", seconds, FIELD_DOUBLE),
    FIELD_OUT(struct trace_capture_report, "load_cpu_seconds", load_seconds, FIELD_DOUBLE),
    FIELD_OUT(struct trace_capture_report, "tracer_cpu_seconds", cpu_seconds, FIELD_DOUBLE),
    FIELD_OUT(struct trace_capture_report, "gpus", gpus, FIELD_INT),
    FIELD_OUT(struct trace_capture_report, "status", status, FIELD_INT),
};

struct recorded {
    const char *trace, *cgroup;
    bool complete;
};

static const struct field recorded_fields[] = {
    FIELD_OUT(struct recorded, "trace", trace, FIELD_TEXT),
    FIELD_OUT(struct recorded, "cgroup", cgroup, FIELD_SOME_TEXT),
    FIELD_OUT(struct recorded, "complete", complete, FIELD_FLAG),
};

static void write_json(const struct recorded *recorded, bool has_command,
                       const struct trace_capture_report *report, struct json *json)
{
    json_open_document(json, "rehearse-trace-recording/1");
    fields_write(recorded, recorded_fields, 2, json);
    fields_write(report, capture_fields, has_command ? 7 : 6, json);
    json_string(json, "notes", text_within(&report->notes, json->out));
    json_lines(json, "not_followed", text_within(&report->clients, json->out));
    json_close(json);
}

static void print_lines(const char *lines, struct text *out)
{
    for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n')
        text_format(out, "rehearse: %s%.*s\n",
                    text_starts_with(lines, "lost:") ? "" : "not recorded: ", (int)strcspn(lines, "\n"),
                    lines);
}

static void print(const struct rh_trace_request *asked, const struct trace_capture_report *report,
                  struct text *out)
{
    text_format(out,
                "rehearse: %s: %" PRId64 " events in %.1f s, %" PRId64
                " lost; the tracer used %.2f s of CPU time\n",
                asked->output, report->rows, report->seconds, report->lost, report->cpu_seconds);
    print_lines(text_within(&report->clients, out), out);
    print_lines(text_within(&report->notes, out), out);
}

static const struct field status_fields[] = {
    FIELD_OUT(struct trace_capture_report, "status", status, FIELD_INT)};

static void answer(const struct rh_trace_request *asked, const char *cgroup,
                   const struct trace_capture_report *found, bool complete, struct api_report *report)
{
    const struct recorded recorded = {asked->output, cgroup, complete};
    if (complete) {
        write_json(&recorded, asked->command.count > 0, found, &report->json);
        print(asked, found, &report->text);
    }
    API_VALUES(&report->base, &recorded, recorded_fields);
    if (asked->command.count > 0)
        API_VALUES(&report->base, found, status_fields);
}

/* Records. A command that went on without its trace is an answer, too: its status counts. */
static bool record(const struct rh_trace_request *asked, const struct child_user *user, const char *cgroup,
                   const struct api_call *call, struct api_report *report, struct error *err)
{
    char **words = calloc(asked->command.count + 1, sizeof *words);
    if (!words)
        return error_memory(err);
    for (size_t i = 0; i < asked->command.count; i++)
        words[i] = (char *)(uintptr_t)asked->command.items[i]; /* as execvp wants them; nobody writes */
    struct trace_capture_report found;
    const struct trace_capture_options options = {
        .store = asked->output,
        .replace = asked->force,
        .user = user,
        .command = asked->command.count > 0 ? words : NULL,
        .pid = (int)asked->pid,
        .cgroup = cgroup,
        .ends_with_cgroup = asked->container != NULL,
        .system = asked->system,
        .no_bpf = asked->no_bpf,
        .off_cpu = asked->sched,
        .buffer = (int64_t)asked->buffer,
        .interval = asked->interval,
        .after = asked->after,
        .version = REHEARSE_VERSION,
        .stop = api_stop(call),
    };
    bool done = trace_capture(&options, &found, err);
    bool ran = found.began && found.ended;
    if (!done && ran)
        caller_warn("%s; the trace ends within %.1f s, the command continued", err->text, found.seconds);
    if (done || ran)
        answer(asked, cgroup, &found, done, report);
    trace_capture_report_release(&found);
    free(words);
    return done || ran;
}

static bool trace(const void *request, const struct api_call *call, struct api_report *report,
                  struct error *err)
{
    const struct rh_trace_request *asked = request;
    struct child_user user = {0};
    if (!check(asked, err) || (asked->user && !child_user_find(&user, asked->user, err)))
        return false;
    struct text folder = {0};
    bool done = (!asked->container || capture_container_find(asked->container, &folder, err)) &&
                record(asked, asked->user ? &user : NULL, asked->container ? folder.data : asked->cgroup,
                       call, report, err);
    text_release(&folder);
    child_user_release(&user);
    return done;
}

API_WHOLE_COMMAND(trace, "trace", rh_trace_request, .answer = trace, .ends_in_order = true);
