/* Traces as files: import, export, phases and summaries. */
#include "cli/answer.h"
#include "cli/command.h"

/* ---- import ---- */

static bool run_import(void *context, struct error *err)
{
    const struct command_line *line = context;
    rh_report *report = answer_ask(context, err);
    bool done = report && (line->json ? answer_write(report, line, err) : answer_say(report, "text", err));
    rh_free(report);
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
        "format: texts of the VLDB study's scripts (raw or processed), mpstat, nvidia-smi pmon, iostat, logs "
        "of MLPerf and DLIO, DFTracer and other Chrome traces, strace -ttt -T, blkparse; compressed by gzip "
        "or not.\n\nMalformed lines are skipped and counted, and the first ones are shown. A truncated "
        "compressed file gives the rows before the cut. The trace is written completely or not at all. If no "
        "log has the phases, they are found from the I/O ('rehearse help trace phases').",
    .asks = &api_trace_import,
    .options = COMMAND_ROWS(LINE_JSON_OF("print a summary of the import as JSON, on standard output")),
    .examples = import_examples,
    .run = run_import,
};

/* ---- export ---- */

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
                   "docs/trace-export.md describes the formats.",
    .asks = &api_trace_export,
    .silent = true,
    .examples = export_examples,
};

/* ---- phases ---- */

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
        "large writes. docs/trace-phases.md has the rule and its limits. If the trace has phases from a "
        "log, each kind is compared with those.",
    .asks = &api_trace_phases,
    .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT),
    .examples = phases_examples,
};

/* ---- show ---- */

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
    .asks = &api_trace_show,
    .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT),
    .examples = show_examples,
};
