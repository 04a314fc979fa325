#include "cli/command.h"

/* ---- timeline ---- */

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
    .asks = &api_figure_timeline,
    .silent = true,
    .examples = timeline_examples,
};

/* ---- distribution ---- */

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
    .asks = &api_figure_distribution,
    .silent = true,
    .examples = distribution_examples,
};

/* ---- throughput ---- */

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
    .asks = &api_figure_throughput,
    .silent = true,
    .examples = throughput_examples,
};
