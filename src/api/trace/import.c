/* rh_trace_import: traces of other tools become a trace of ours. */
#include "api/command.h"
#include "api/trace/print.h"
#include "trace/phase/phase.h"

const struct option_spec api_trace_import_options[] = {
    OPTION(rh_trace_import_request, paths, OPTION_FILE, "paths", .repeats = true, .is_operand = true,
           .required = true, .argument = "PATH", .help = "files, and folders of one run"),
    OPTION(rh_trace_import_request, output, OPTION_FILE, "output", .letter = 'o', .argument = "DB",
           .initial = "run.db", .help = "the trace, an SQLite file"),
    OPTION(rh_trace_import_request, force, OPTION_FLAG, "force",
           .help = "replace an existing trace when the new one is complete"),
    OPTION(rh_trace_import_request, append, OPTION_FLAG, "append",
           .help = "add to an existing trace, such as a GPU's log to a recorded run"),
    OPTION(rh_trace_import_request, zone, OPTION_TEXT, "zone", .argument = "ZONE",
           .help = "the zone of local times: UTC, +HH:MM or -HH:MM; else TZ, else this machine's"),
    OPTION(rh_trace_import_request, day, OPTION_TEXT, "day", .argument = "YYYY-MM-DD",
           .help = "the date of times without a date; by default that of another file of the folder, else "
                   "that of the file itself"),
    OPTION_END,
};

static bool import_paths(const struct rh_trace_import_request *asked, struct trace_writer *writer,
                         struct trace_import_report *report, struct error *err)
{
    const struct trace_import_options options = {.zone = asked->zone, .date = asked->day};
    for (size_t i = 0; i < asked->paths.count; i++)
        if (!trace_import(asked->paths.items[i], writer, &options, report, err))
            return false;
    return true;
}

static void tell(const struct rh_trace_import_request *asked, const struct trace_import_report *found,
                 size_t phases, struct api_report *report)
{
    trace_import_write_json(asked->output, found, phases, &report->json);
    text_format(&report->text, "rehearse: %s: ", asked->output);
    trace_import_report_print(found, &report->text);
    if (phases > 0)
        text_format(&report->text, "no log tells the phases: %zu were found from the I/O\n", phases);
}

static bool import(const struct rh_trace_import_request *asked, struct trace_import_report *found,
                   struct api_report *report, struct error *err)
{
    if (asked->append && asked->force)
        return error_set(err, ERROR_USAGE, "trace import: --append and --force exclude each other");
    enum trace_mode mode =
        asked->append ? TRACE_STORE_APPEND : TRACE_STORE_WHOLE | (asked->force ? TRACE_STORE_REPLACE : 0);
    struct trace_writer *writer = trace_writer_new(asked->output, mode, err);
    size_t phases;
    if (!writer)
        return false;
    if (!import_paths(asked, writer, found, err)) {
        trace_writer_drop(writer);
        return false;
    }
    if (!trace_writer_close(writer, err) || !trace_phases_fill(asked->output, &phases, err))
        return false;
    tell(asked, found, phases, report);
    return true;
}

static bool answer(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    struct trace_import_report found = {0};
    (void)call;
    bool done = import(request, &found, report, err);
    trace_import_report_release(&found);
    return done;
}

const struct api_command api_trace_import = {
    .name = "trace import",
    .options = api_trace_import_options,
    .size = sizeof(struct rh_trace_import_request),
    .answer = answer,
};
