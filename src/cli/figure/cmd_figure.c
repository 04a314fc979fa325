#include "cli/command.h"
#include "cli/figure/options.h"
#include "cli/trace/select_given.h"
#include "figure/trace/distribution.h"
#include "figure/trace/throughput.h"
#include "figure/trace/timeline.h"
#include "trace/similarity/similarity.h"

#include <math.h>

/* The options of all three figures; the table of a figure names the ones that it has. */
struct trace_figure {
    const char *phase;
    double margin, first, last, from, to;
    struct select_given selected;
    const bool *given;
    struct rh_list rows, classes, kinds, traces;
    const char *title, *output;
    double every;
    int workers, style;
};

/* ---- the part of a trace ---- */

/* In the order of the tables' first entries. */
enum { ZOOM_PHASE, ZOOM_MARGIN, ZOOM_FIRST, ZOOM_LAST, ZOOM_FROM, ZOOM_TO, ZOOM_OPTIONS };

#define MAX_SECONDS 1e9
#define OPTION_TIME(field, ...)                                                                              \
    OPTION(trace_figure, field, OPTION_QUANTITY, #field, .unit = UNIT_TIME, .argument = "TIME",              \
           .max = MAX_SECONDS, __VA_ARGS__)

#define OPTIONS_ZOOM                                                                                         \
    OPTION(trace_figure, phase, OPTION_TEXT, "phase", .argument = "NAME[:N]",                                \
           .help = "only this phase: the first of the name, or the N-th"),                                   \
        OPTION_TIME(margin, .initial = "5s", .help = "time shown before and after --phase"),                 \
        OPTION_TIME(first, .min = OPTION_POSITIVE, .help = "only this time at the beginning of the run"),    \
        OPTION_TIME(last, .min = OPTION_POSITIVE, .help = "only this time at the end of the run"),           \
        OPTION_TIME(from, .help = "from this time of the run on"),                                           \
        OPTION_TIME(to, .help = "up to this time of the run")

/* The last entries of each table. */
#define OPTIONS_PAGE(its_title)                                                                              \
    OPTION(trace_figure, title, OPTION_TEXT, "title", .argument = "TEXT",                                    \
           .help = "title of the picture; by default " its_title),                                           \
        OPTIONS_SELECT(struct trace_figure, "file"), OPTION_STYLE(struct trace_figure),                      \
        OPTION_PICTURE(struct trace_figure), OPTION_END

static bool read_part(const struct trace_figure *given, struct trace_zoom *zoom,
                      struct trace_selection *selection, struct error *err)
{
    const bool *is_given = given->given;
    bool part = is_given[ZOOM_FROM] || is_given[ZOOM_TO];
    if (is_given[ZOOM_PHASE] + is_given[ZOOM_FIRST] + is_given[ZOOM_LAST] + part > 1)
        return error_set(err, ERROR_USAGE,
                         "--phase, --first, --last and --from with --to exclude each other");
    if (is_given[ZOOM_MARGIN] && !is_given[ZOOM_PHASE])
        return error_set(err, ERROR_USAGE, "--margin goes with --phase, which is missing");
    if (is_given[ZOOM_FROM] && is_given[ZOOM_TO] && given->from >= given->to)
        return error_set(err, ERROR_USAGE, "--to: expected a time after --from");
    *zoom = (struct trace_zoom){.phase = given->phase,
                                .margin = given->margin,
                                .first = is_given[ZOOM_FIRST] ? given->first : 0,
                                .last = is_given[ZOOM_LAST] ? given->last : 0,
                                .from = is_given[ZOOM_FROM] ? given->from : NAN,
                                .to = is_given[ZOOM_TO] ? given->to : NAN};
    return select_read(&given->selected, TRACE_SELECT_FILES.kinds, selection, err);
}

/* Sets the flags of the names that a repeated option gives. */
static bool read_flags(const char *option, const struct rh_list *given, const char *const *names, bool *flags,
                       struct error *err)
{
    int choice = 0;
    for (size_t i = 0; i < given->count; i++) {
        if (!option_choose(option, names, given->items[i], &choice, err))
            return false;
        flags[choice] = true;
    }
    return true;
}

/* ---- timeline ---- */

static const struct option_spec timeline_table[] = {
    OPTIONS_ZOOM,
    OPTION(trace_figure, workers, OPTION_CHOICE, "workers", .words = trace_grouping_names, .argument = "HOW",
           .initial = "all",
           .help = "rows of calls: one; one for each process; each parent with its loaders; each parent, "
                   "then its loaders; all parents, then all loaders"),
    OPTION(trace_figure, rows, OPTION_TEXT, "row", .repeats = true, .argument = "ROW",
           .help = "a row to draw: cpu, gpu, disks, traces or phases; by default all, with --style paper "
                   "gpu, traces and phases"),
    OPTIONS_PAGE("the file and its command"),
};

static bool draw_timeline(void *context, struct error *err)
{
    const struct trace_figure *given = context;
    struct figure_timeline options = {.style = figure_style_at(given->style),
                                      .title = given->title,
                                      .grouping = (enum trace_grouping)given->workers};
    for (int row = 0; row < TIMELINE_ROWS && given->rows.count == 0; row++)
        options.rows[row] = options.style->legends || row == TIMELINE_GPU || row >= TIMELINE_TRACES;
    return read_part(given, &options.zoom, &options.selection, err) &&
           read_flags("row", &given->rows, timeline_row_names, options.rows, err) &&
           figure_timeline(given->output, given->traces.items[0], &options, err);
}

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
    .options_size = sizeof(struct trace_figure),
    .given_at = offsetof(struct trace_figure, given),
    .operands =
        {.name = "DB", .help = "the trace", .min = 1, .max = 1, .at = offsetof(struct trace_figure, traces)},
    .examples = timeline_examples,
    .run = draw_timeline,
};

/* ---- distribution ---- */

#define OPTION_CLASSES                                                                                       \
    OPTION(trace_figure, classes, OPTION_TEXT, "class", .repeats = true, .argument = "CLASS",                \
           .help =                                                                                           \
               "class of calls (read, open, ...) or of requests to disks (block.read, ...), named as in "    \
               "rehearse compare; by default read, write, block.read and block.write")

static const struct option_spec distribution_table[] = {
    OPTIONS_ZOOM,
    OPTION_CLASSES,
    OPTION(trace_figure, kinds, OPTION_TEXT, "of", .repeats = true, .argument = "KIND",
           .help = "the values to draw: size, latency or gap (from the start of a call to the start of the "
                   "next); by default size and latency"),
    OPTIONS_PAGE("the file"),
};

static bool read_classes(const struct rh_list *given, bool *streams, struct error *err)
{
    const char *names[FIGURE_STREAMS + 1] = {NULL};
    for (int i = 0; i < FIGURE_STREAMS; i++)
        names[i] = similarity_stream_name(i);
    if (given->count == 0)
        streams[TRACE_READ] = streams[TRACE_WRITE] = streams[FIGURE_STREAM_OF_DISK(TRACE_OP_READ)] =
            streams[FIGURE_STREAM_OF_DISK(TRACE_OP_WRITE)] = true;
    return read_flags("class", given, names, streams, err);
}

static bool draw_distribution(void *context, struct error *err)
{
    const struct trace_figure *given = context;
    struct figure_distribution options = {.style = figure_style_at(given->style), .title = given->title};
    if (given->kinds.count == 0)
        options.kinds[DISTRIBUTION_SIZE] = options.kinds[DISTRIBUTION_LATENCY] = true;
    return read_part(given, &options.zoom, &options.selection, err) &&
           read_classes(&given->classes, options.streams, err) &&
           read_flags("of", &given->kinds, distribution_names, options.kinds, err) &&
           figure_distribution(given->output, given->traces.items, given->traces.count, &options, err);
}

static const struct command_example distribution_examples[] = {
    {"rehearse figure distribution run.db -o run.svg", "sizes and latencies of reads, writes and requests"},
    {"rehearse figure distribution real.db emulated.db --class read --of latency --of gap -o reads.svg",
     "two traces over each other"},
    {NULL, NULL},
};

#define SEVERAL_TRACES                                                                                       \
    {                                                                                                        \
        .name = "DB", .help = "traces", .min = 1, .max = FIGURE_MAX_TRACES,                                  \
        .at = offsetof(struct trace_figure, traces)                                                          \
    }

const struct command command_figure_distribution = {
    .name = "figure distribution",
    .summary = "draw the distributions of sizes and latencies of calls",
    .description =
        "Draws histograms, with the median, of the sizes and latencies of the calls in traces, and below "
        "each "
        "the share of calls up to a value. Several traces are drawn over each other. Axes are logarithmic.",
    .options = distribution_table,
    .options_size = sizeof(struct trace_figure),
    .given_at = offsetof(struct trace_figure, given),
    .operands = SEVERAL_TRACES,
    .examples = distribution_examples,
    .run = draw_distribution,
};

/* ---- throughput ---- */

static const struct option_spec throughput_table[] = {
    OPTIONS_ZOOM,
    OPTION_CLASSES,
    OPTION_TIME(every, .min = OPTION_POSITIVE,
                .help = "time over which each rate is averaged; by default about 1/200 of the drawn time"),
    OPTIONS_PAGE("the file"),
};

static bool draw_throughput(void *context, struct error *err)
{
    const struct trace_figure *given = context;
    struct figure_throughput options = {
        .style = figure_style_at(given->style), .title = given->title, .every = given->every};
    return read_part(given, &options.zoom, &options.selection, err) &&
           read_classes(&given->classes, options.streams, err) &&
           figure_throughput(given->output, given->traces.items, given->traces.count, &options, err);
}

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
    .options_size = sizeof(struct trace_figure),
    .given_at = offsetof(struct trace_figure, given),
    .operands = SEVERAL_TRACES,
    .examples = throughput_examples,
    .run = draw_throughput,
};
