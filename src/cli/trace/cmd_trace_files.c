/* Traces as files: import, export, phases and summaries. */
#include "cli/command.h"
#include "cli/output.h"
#include "cli/trace/select_given.h"
#include "cli/trace/show.h"
#include "trace/export/export.h"
#include "trace/phase/phase.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- import ---- */

struct import_options {
    struct rh_list paths;
    const char *store, *zone, *day;
    bool append, force, json;
};

static const struct option_spec import_table[] = {
    OPTION(import_options, store, OPTION_FILE, "output", .letter = 'o', .argument = "DB", .initial = "run.db",
           .help = "the trace, an SQLite file"),
    OPTION(import_options, force, OPTION_FLAG, "force",
           .help = "replace an existing trace when the new one is complete"),
    OPTION(import_options, append, OPTION_FLAG, "append",
           .help = "add to an existing trace, such as a GPU's log to a recorded run"),
    OPTION(import_options, zone, OPTION_TEXT, "zone", .argument = "ZONE",
           .help = "the zone of local times: UTC, +HH:MM or -HH:MM; else TZ, else this machine's"),
    OPTION(import_options, day, OPTION_TEXT, "day", .argument = "YYYY-MM-DD",
           .help = "the date of times without a date; by default that of another file of the folder, else "
                   "that of the file itself"),
    OPTION(import_options, json, OPTION_FLAG, "json",
           .help = "print a summary of the import as JSON, on standard output"),
    OPTION_END,
};

static bool import_paths(const struct import_options *given, struct trace_writer *writer,
                         struct trace_import_report *report, struct error *err)
{
    const struct trace_import_options options = {.zone = given->zone, .date = given->day};
    for (size_t i = 0; i < given->paths.count; i++)
        if (!trace_import(given->paths.items[i], writer, &options, report, err))
            return false;
    return true;
}

static bool say_imported(const struct import_options *given, const struct trace_import_report *report,
                         size_t phases, struct error *err)
{
    struct text text = {0};
    if (given->json) {
        trace_import_write_json(given->store, report, phases, &text);
        return output_and_release(NULL, &text, err);
    }
    text_format(&text, "rehearse: %s: ", given->store);
    trace_import_report_print(report, &text);
    if (phases > 0)
        text_format(&text, "no log tells the phases: %zu were found from the I/O\n", phases);
    output_say(&text);
    text_release(&text);
    return true;
}

static bool import(void *context, struct error *err)
{
    const struct import_options *given = context;
    struct trace_import_report report = {0};
    if (given->append && given->force)
        return error_set(err, ERROR_USAGE, "trace import: --append and --force exclude each other");
    enum trace_mode mode =
        given->append ? TRACE_STORE_APPEND : TRACE_STORE_WHOLE | (given->force ? TRACE_STORE_REPLACE : 0);
    struct trace_writer *writer = trace_writer_new(given->store, mode, err);
    if (!writer)
        return false;
    bool done = import_paths(given, writer, &report, err);
    size_t phases;
    if (done)
        done = trace_writer_close(writer, err) && trace_phases_fill(given->store, &phases, err) &&
               say_imported(given, &report, phases, err);
    else
        trace_writer_drop(writer);
    trace_import_report_release(&report);
    return done;
}

static const struct command_example import_examples[] = {
    {"rehearse trace import raw/ --zone -05:00 -o run.db", "a raw folder of the VLDB study"},
    {"rehearse trace import trace-*.pfw.gz -o run.db", "DFTracer's files of all processes"},
    {"rehearse trace import gpu.out --append -o run.db", "a GPU's log into a recorded run"},
    {NULL, NULL},
};

const struct command command_trace_import = {
    .name = "trace import",
    .summary = "read traces of other tools",
    .description =
        "Converts files and folders of other tracers to a trace. The first lines of a file determine its "
        "format: texts of the VLDB study's scripts (raw or processed), mpstat, nvidia-smi pmon, iostat, "
        "logs of MLPerf and DLIO, DFTracer and other Chrome traces, strace -ttt -T, blkparse; compressed by "
        "gzip or not.\n\n"
        "Malformed lines are skipped and counted, and the first ones are shown. A compressed file that is "
        "cut off gives the rows before the cut. The trace appears as a whole, or not at all. If no log has "
        "the "
        "phases, they are found from the I/O ('rehearse help trace phases').",
    .options = import_table,
    .options_size = sizeof(struct import_options),
    .operands = {"PATH", "files, and folders of one run", NULL, 1, 0, offsetof(struct import_options, paths)},
    .examples = import_examples,
    .run = import,
};

/* ---- export ---- */

enum export_format { EXPORT_CHROME, EXPORT_PFW, EXPORT_CSV, EXPORT_CSV_BLOCKS, EXPORT_STUDY };
static const char *const format_words[] = {"chrome", "pfw", "csv", "csv-blocks", "study", NULL};

struct export_options {
    struct rh_list store;
    struct select_given selected;
    const char *output;
    const char *workload;
    int format;
    double from, to;
    bool overlook;
};

static const struct option_spec export_table[] = {
    OPTION(export_options, format, OPTION_CHOICE, "format", .letter = 'f', .required = true,
           .argument = "FORMAT", .words = format_words,
           .help = "chrome (Perfetto opens it), pfw (DFTracer), csv of calls or of block I/O, or the study's "
                   "processed folder"),
    OPTION(export_options, output, OPTION_FILE, "output", .letter = 'o', .required = true, .argument = "PATH",
           .help = "the file, or the folder of the study's layout"),
    OPTION(export_options, from, OPTION_QUANTITY, "from", .unit = UNIT_TIME, .argument = "TIME",
           .initial = "0s", .max = 1e9, .help = "only events that begin at this time of the trace or later"),
    OPTION(export_options, to, OPTION_QUANTITY, "to", .unit = UNIT_TIME, .argument = "TIME",
           .min = OPTION_POSITIVE, .max = 1e9,
           .help = "only events that begin before this time, counted from the beginning of the trace"),
    OPTION(export_options, workload, OPTION_TEXT, "workload", .argument = "NAME",
           .help = "study: only block I/O of this workload's commands: unet3d, bert, dlrm or dlio; else all"),
    OPTION(export_options, overlook, OPTION_FLAG, "overlook",
           .help = "study: leave out the checkpoints in DLIO's log, which the study's scripts overlook"),
    OPTIONS_SELECT(struct export_options, "all"),
    OPTION_END,
};

/* Converts seconds since the beginning to times. */
static bool choose_range(const struct export_options *given, struct trace_reader *reader,
                         struct trace_export_options *options, struct error *err)
{
    int64_t first_ns, last_ns;
    if (given->from == 0 && given->to == 0)
        return true;
    if (given->to > 0 && given->to <= given->from)
        return error_set(err, ERROR_USAGE, "--to: expected a time after --from");
    if (!trace_span(reader, &first_ns, &last_ns, err))
        return false;
    if (first_ns == TRACE_NONE)
        return true;
    options->from_ns = first_ns + (int64_t)(given->from * 1e9);
    options->to_ns = given->to > 0 ? first_ns + (int64_t)(given->to * 1e9) : INT64_MAX;
    return true;
}

static bool export_all(const struct export_options *given, struct trace_reader *reader, struct error *err)
{
    struct trace_export_options options = {.workload = given->workload, .overlook = given->overlook};
    if (!choose_range(given, reader, &options, err))
        return false;
    switch ((enum export_format)given->format) {
    case EXPORT_CHROME:
        return trace_export_chrome(reader, given->output, &options, err);
    case EXPORT_PFW:
        return trace_export_pfw(reader, given->output, &options, err);
    case EXPORT_CSV:
        return trace_export_csv(reader, given->output, &options, err);
    case EXPORT_CSV_BLOCKS:
        return trace_export_csv_blocks(reader, given->output, &options, err);
    case EXPORT_STUDY:
        return trace_export_study(reader, given->output, &options, err);
    }
    return false;
}

/* Warns on standard error that a trace is incomplete. */
static bool warn(const char *path, const struct trace_reader *reader, struct error *err)
{
    struct text warnings = {0};
    trace_add_warnings(reader, &warnings);
    bool done = !warnings.failed || error_memory(err);
    for (const char *line = warnings.data; done && line && *line; line = strchr(line, '\n') + 1)
        output_warn("%s: %.*s", path, (int)strcspn(line, "\n"), line);
    text_release(&warnings);
    return done;
}

static bool export(void *context, struct error *err)
{
    const struct export_options *given = context;
    if ((given->workload || given->overlook) && given->format != EXPORT_STUDY)
        return error_set(err, ERROR_USAGE, "--%s is for --format study",
                         given->workload ? "workload" : "overlook");
    struct trace_selection selection;
    if (!select_read(&given->selected, 0, &selection, err))
        return false;
    struct trace_reader *reader = trace_reader_of(given->store.items[0], &selection, err);
    bool done = reader && export_all(given, reader, err) && warn(given->store.items[0], reader, err);
    trace_reader_free(reader);
    return done;
}

static const struct command_example export_examples[] = {
    {"rehearse trace export run.db --format chrome -o run.json", "to be opened at ui.perfetto.dev"},
    {"rehearse trace export run.db --format csv --from 10s --to 12s -o calls.csv",
     "two seconds of it, as a table"},
    {NULL, NULL},
};

const struct command command_trace_export = {
    .name = "trace export",
    .summary = "write a trace for other tools",
    .description = "Writes a trace (rehearse trace, rehearse trace import) in the format of another tool. "
                   "docs/trace-store.md describes the formats.",
    .options = export_table,
    .options_size = sizeof(struct export_options),
    .operands = {"DB", "the trace", NULL, 1, 1, offsetof(struct export_options, store)},
    .examples = export_examples,
    .run = export,
};

/* ---- phases ---- */

struct phases_options {
    struct rh_list store;
    const char *output;
    bool json, keep;
};

static const struct option_spec phases_table[] = {
    OPTION(phases_options, keep, OPTION_FLAG, "store",
           .help = "also store them in the trace, replacing those found before"),
    OPTION_JSON(struct phases_options),
    OPTION_OUTPUT(struct phases_options),
    OPTION_END,
};

static bool find_phases(void *context, struct error *err)
{
    const struct phases_options *given = context;
    const char *path = given->store.items[0];
    struct trace_phase *phases = NULL;
    size_t count = 0;
    struct text text = {0};
    struct trace_reader *reader = trace_reader_new(path, err);
    bool done = reader && trace_phases_find(reader, &phases, &count, err) && warn(path, reader, err);
    if (done)
        given->json ? trace_phases_write_json(path, reader, phases, count, &text)
                    : trace_phases_print(reader, phases, count, &text);
    trace_reader_free(reader);
    done = done && (!given->keep || trace_phases_store(path, phases, count, err)) &&
           output_text(given->output, &text, err);
    text_release(&text);
    free(phases);
    return done;
}

static const struct command_example phases_examples[] = {
    {"rehearse trace phases run.db --store", "for figures and comparisons of a job without a log"},
    {NULL, NULL},
};

const struct command command_trace_phases = {
    .name = "trace phases",
    .summary = "find initialisation, training, evaluation and checkpoints from the I/O",
    .description =
        "Finds the phases of a training job from its reads and writes, without a log: the rule looks for "
        "the files that hold data, the beginning of a new round through them, reads of other data, and "
        "large writes. docs/trace-store.md has the rule and its limits. If the trace has phases from a "
        "log, each kind is compared with those.",
    .options = phases_table,
    .options_size = sizeof(struct phases_options),
    .operands = {"DB", "the trace", NULL, 1, 1, offsetof(struct phases_options, store)},
    .examples = phases_examples,
    .run = find_phases,
};

/* ---- show ---- */

struct show_options {
    struct rh_list store;
    struct select_given selected;
    const char *output;
    bool json;
};

static const struct option_spec show_table[] = {
    OPTIONS_SELECT(struct show_options, "all"),
    OPTION_JSON(struct show_options),
    OPTION_OUTPUT(struct show_options),
    OPTION_END,
};

static bool show(void *context, struct error *err)
{
    const struct show_options *given = context;
    const char *path = given->store.items[0];
    struct trace_summary summary;
    struct text text = {0};
    struct trace_selection selection;
    if (!select_read(&given->selected, 0, &selection, err))
        return false;
    struct trace_reader *reader = trace_reader_of(path, &selection, err);
    bool done = reader && trace_summary_read(reader, &summary, err);
    if (done) {
        given->json ? trace_show_write_json(path, reader, &summary, &text)
                    : trace_show_print(path, reader, &summary, &text);
        trace_summary_release(&summary);
        done = output_text(given->output, &text, err);
    }
    trace_reader_free(reader);
    text_release(&text);
    return done;
}

static const struct command_example show_examples[] = {
    {"rehearse trace show run.db", "the content of a trace"},
    {NULL, NULL},
};

const struct command command_trace_show = {
    .name = "trace show",
    .summary = "summarise a trace",
    .description =
        "Prints the origin of a trace, its span, calls by class with bytes and latencies, requests to "
        "disks, phases, series, and the processes and files that moved the most bytes. Latencies at 50, "
        "90 and 99 % are exact to 0.4 %.",
    .options = show_table,
    .options_size = sizeof(struct show_options),
    .operands = {"DB", "the trace", NULL, 1, 1, offsetof(struct show_options, store)},
    .examples = show_examples,
    .run = show,
};
