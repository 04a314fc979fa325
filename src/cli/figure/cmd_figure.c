#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

#define MAX_TRACES 8 /* of a picture */
#define SEVERAL_TRACES(type)                                                                                 \
    {                                                                                                        \
        .name = "DB", .help = "traces", .min = 1, .max = MAX_TRACES, .at = offsetof(struct type, traces)     \
    }

/* ---- timeline ---- */

struct timeline_command {
    struct rh_figure_timeline_request request;
    struct rh_list traces;
};

static bool run_timeline(void *context, struct error *err)
{
    struct timeline_command *given = context;
    struct rh_error error;
    given->request.size = sizeof given->request;
    given->request.trace = given->traces.items[0];
    return answer_end(rh_figure_timeline(&given->request, NULL, &error), &error, err);
}

static const struct option_spec timeline_table[] = {
    OPTION_REQUEST(timeline_command, request, api_figure_timeline_options),
    OPTION_END,
};

static const struct command_example timeline_examples[] = {
    {"rehearse figure timeline run.db -o run.svg", "the whole run"},
    {"rehearse figure timeline run.db --phase CHECKPOINT --workers process -o checkpoint.png",
     "the first checkpoint, 5 s before and after it, a row for each process"},
    {"rehearse figure timeline run.db --style paper -o run.pdf", "for a paper: GPU, calls and phases"},
    {NULL, NULL},
};

const struct command command_figure_timeline = {
    .name = "figure timeline",
    .summary = "draw a trace over time, in rows",
    .description =
        "Draws a trace (rehearse trace) over time: processors, GPUs, disks, the calls (VFS) and requests to "
        "disks (BIO) of the workers, phases. Rows without data are left out. Where many calls share a pixel, "
        "its tone shows the share of the time in which a call was in progress.",
    .options = timeline_table,
    .options_size = sizeof(struct timeline_command),
    .operands = {.name = "DB",
                 .help = "the trace",
                 .min = 1,
                 .max = 1,
                 .at = offsetof(struct timeline_command, traces)},
    .examples = timeline_examples,
    .run = run_timeline,
};

/* ---- distribution ---- */

struct distribution_command {
    struct rh_figure_distribution_request request;
    struct rh_list traces;
};

static bool run_distribution(void *context, struct error *err)
{
    struct distribution_command *given = context;
    struct rh_error error;
    given->request.size = sizeof given->request;
    given->request.traces = given->traces;
    return answer_end(rh_figure_distribution(&given->request, NULL, &error), &error, err);
}

static const struct option_spec distribution_table[] = {
    OPTION_REQUEST(distribution_command, request, api_figure_distribution_options),
    OPTION_END,
};

static const struct command_example distribution_examples[] = {
    {"rehearse figure distribution run.db -o run.svg", "sizes and latencies of reads, writes and requests"},
    {"rehearse figure distribution real.db emulated.db --class read --of latency --of gap -o reads.svg",
     "two traces over each other"},
    {NULL, NULL},
};

const struct command command_figure_distribution = {
    .name = "figure distribution",
    .summary = "draw the distributions of sizes and latencies of calls",
    .description =
        "Draws histograms, with the median, of the sizes and latencies of the calls in traces, and below "
        "each "
        "the share of calls up to a value. Several traces are drawn over each other. Axes are logarithmic.",
    .options = distribution_table,
    .options_size = sizeof(struct distribution_command),
    .operands = SEVERAL_TRACES(distribution_command),
    .examples = distribution_examples,
    .run = run_distribution,
};

/* ---- throughput ---- */

struct throughput_command {
    struct rh_figure_throughput_request request;
    struct rh_list traces;
};

static bool run_throughput(void *context, struct error *err)
{
    struct throughput_command *given = context;
    struct rh_error error;
    given->request.size = sizeof given->request;
    given->request.traces = given->traces;
    return answer_end(rh_figure_throughput(&given->request, NULL, &error), &error, err);
}

static const struct option_spec throughput_table[] = {
    OPTION_REQUEST(throughput_command, request, api_figure_throughput_options),
    OPTION_END,
};

static const struct command_example throughput_examples[] = {
    {"rehearse figure throughput run.db -o run.svg", "of one run, with its phases"},
    {"rehearse figure throughput real.db emulated.db --class read --every 100ms -o reads.svg",
     "how fast two runs read"},
    {NULL, NULL},
};

const struct command command_figure_throughput = {
    .name = "figure throughput",
    .summary = "draw bytes and operations per second of traces over time",
    .description =
        "Draws the bytes and operations per second by class, with the phases behind them. Several traces are "
        "aligned at their beginning; each class then has its own panels, and each trace is a line.",
    .options = throughput_table,
    .options_size = sizeof(struct throughput_command),
    .operands = SEVERAL_TRACES(throughput_command),
    .examples = throughput_examples,
    .run = run_throughput,
};
