/* Traces as files: import, export, phases and summaries. */
#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

/* ---- import ---- */

struct import_command {
    struct rh_trace_import_request request;
    struct rh_list paths;
    bool json;
};

static bool run_import(void *context, struct error *err)
{
    struct import_command *given = context;
    struct rh_call call = answer_call(&(struct rh_call){.size = 0}, 0);
    struct rh_error error;
    given->request.size = sizeof given->request;
    given->request.paths = given->paths;
    rh_report *report = rh_trace_import(&given->request, &call, &error);
    if (!report || given->json)
        return answer_print(report, "json", &error, err);
    bool said = answer_say(report, "text", err);
    rh_free(report);
    return said;
}

static const struct option_spec import_table[] = {
    OPTION_REQUEST(import_command, request, api_trace_import_options),
    OPTION(import_command, json, OPTION_FLAG, "json",
           .help = "print a summary of the import as JSON, on standard output"),
    OPTION_END,
};

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
    .options = import_table,
    .options_size = sizeof(struct import_command),
    .operands = {"PATH", "files, and folders of one run", NULL, 1, 0, offsetof(struct import_command, paths)},
    .examples = import_examples,
    .run = run_import,
};

/* ---- export ---- */

struct export_command {
    struct rh_trace_export_request request;
    struct rh_list store;
};

static bool run_export(void *context, struct error *err)
{
    struct export_command *given = context;
    struct rh_call call = answer_call(&(struct rh_call){.size = 0}, 0);
    struct rh_error error;
    given->request.size = sizeof given->request;
    given->request.trace = given->store.items[0];
    return answer_end(rh_trace_export(&given->request, &call, &error), &error, err);
}

static const struct option_spec export_table[] = {
    OPTION_REQUEST(export_command, request, api_trace_export_options),
    OPTION_END,
};

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
    .options = export_table,
    .options_size = sizeof(struct export_command),
    .operands = {"DB", "the trace", NULL, 1, 1, offsetof(struct export_command, store)},
    .examples = export_examples,
    .run = run_export,
};

/* ---- phases ---- */

struct phases_command {
    struct rh_trace_phases_request request;
    struct rh_list store;
    const char *output;
    bool json;
};

static bool run_phases(void *context, struct error *err)
{
    struct phases_command *given = context;
    struct rh_call call = answer_call(&(struct rh_call){.size = 0}, 0);
    struct rh_error error;
    given->request.size = sizeof given->request;
    given->request.trace = given->store.items[0];
    rh_report *report = rh_trace_phases(&given->request, &call, &error);
    return answer_deliver(report, given->json ? "json" : "text", given->output, &error, err);
}

static const struct option_spec phases_table[] = {
    OPTION_REQUEST(phases_command, request, api_trace_phases_options),
    OPTION_JSON(struct phases_command),
    OPTION_OUTPUT(struct phases_command),
    OPTION_END,
};

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
    .options = phases_table,
    .options_size = sizeof(struct phases_command),
    .operands = {"DB", "the trace", NULL, 1, 1, offsetof(struct phases_command, store)},
    .examples = phases_examples,
    .run = run_phases,
};

/* ---- show ---- */

struct show_command {
    struct rh_trace_show_request request;
    struct rh_list store;
    const char *output;
    bool json;
};

static bool run_show(void *context, struct error *err)
{
    struct show_command *given = context;
    struct rh_call call = answer_call(&(struct rh_call){.size = 0}, 0);
    struct rh_error error;
    given->request.size = sizeof given->request;
    given->request.trace = given->store.items[0];
    rh_report *report = rh_trace_show(&given->request, &call, &error);
    return answer_deliver(report, given->json ? "json" : "text", given->output, &error, err);
}

static const struct option_spec show_table[] = {
    OPTION_REQUEST(show_command, request, api_trace_show_options),
    OPTION_JSON(struct show_command),
    OPTION_OUTPUT(struct show_command),
    OPTION_END,
};

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
    .options_size = sizeof(struct show_command),
    .operands = {"DB", "the trace", NULL, 1, 1, offsetof(struct show_command, store)},
    .examples = show_examples,
    .run = run_show,
};
