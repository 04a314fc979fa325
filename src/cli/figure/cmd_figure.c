#include "cli/command.h"
#include "cli/figure/options.h"
#include "cli/trace/select_given.h"
#include "figure/trace/distribution.h"
#include "figure/trace/throughput.h"
#include "figure/trace/timeline.h"
#include "trace/similarity/similarity.h"

#include <math.h>
#include <string.h>

/* ---- which part of a trace ---- */

struct zoom_given {
    const char *phase;
    double margin, first, last, from, to;
};

/* In the order of the table's first entries. */
enum { ZOOM_PHASE, ZOOM_MARGIN, ZOOM_FIRST, ZOOM_LAST, ZOOM_FROM, ZOOM_TO, ZOOM_OPTIONS };

#define MAX_SECONDS 1e9
#define ZOOM_TIME(at_, field, what)                                                                          \
    .kind = OPTION_QUANTITY, .unit = UNIT_TIME, .at = (at_) + offsetof(struct zoom_given, field),            \
    .argument = "TIME", .most = MAX_SECONDS, .help = what

#define OPTIONS_ZOOM(type)                                                                                   \
    [ZOOM_PHASE] = {.name = "phase",                                                                         \
                    .kind = OPTION_TEXT,                                                                     \
                    .at = offsetof(type, zoom) + offsetof(struct zoom_given, phase),                         \
                    .argument = "NAME[:N]",                                                                  \
                    .help = "only this phase: the first of the name, or the N-th"},                          \
    [ZOOM_MARGIN] = {.name = "margin",                                                                       \
                     .initial = "5s",                                                                        \
                     ZOOM_TIME(offsetof(type, zoom), margin, "time shown before and after --phase")},        \
    [ZOOM_FIRST] = {.name = "first",                                                                         \
                    .least = OPTION_POSITIVE,                                                                \
                    ZOOM_TIME(offsetof(type, zoom), first, "only the beginning of the run")},                \
    [ZOOM_LAST] = {.name = "last",                                                                           \
                   .least = OPTION_POSITIVE,                                                                 \
                   ZOOM_TIME(offsetof(type, zoom), last, "only its end")},                                   \
    [ZOOM_FROM] = {.name = "from", ZOOM_TIME(offsetof(type, zoom), from, "from this time of the run on")},   \
    [ZOOM_TO] = {.name = "to", ZOOM_TIME(offsetof(type, zoom), to, "up to this time of the run")}

static bool read_zoom(const struct zoom_given *given, const bool *is_given, struct trace_zoom *zoom,
                      struct error *err)
{
    bool part = is_given[ZOOM_FROM] || is_given[ZOOM_TO];
    if (is_given[ZOOM_PHASE] + is_given[ZOOM_FIRST] + is_given[ZOOM_LAST] + part > 1)
        return error_set(err, ERROR_USAGE,
                         "--phase, --first, --last and --from with --to exclude each other");
    if (is_given[ZOOM_MARGIN] && !is_given[ZOOM_PHASE])
        return error_set(err, ERROR_USAGE, "--margin: is of --phase, which is missing");
    if (is_given[ZOOM_FROM] && is_given[ZOOM_TO] && given->from >= given->to)
        return error_set(err, ERROR_USAGE, "--to: expected a time after --from");
    *zoom = (struct trace_zoom){.phase = given->phase,
                                .margin = given->margin,
                                .first = is_given[ZOOM_FIRST] ? given->first : 0,
                                .last = is_given[ZOOM_LAST] ? given->last : 0,
                                .from = is_given[ZOOM_FROM] ? given->from : NAN,
                                .to = is_given[ZOOM_TO] ? given->to : NAN};
    return true;
}

/* ---- timeline ---- */

struct timeline_options {
    struct zoom_given zoom;
    struct select_given selected;
    const bool *given;
    struct option_list rows, traces;
    const char *title, *output;
    int workers, style;
};

static const struct option_spec timeline_table[] = {
    OPTIONS_ZOOM(struct timeline_options),
    OPTION(timeline_options, workers, OPTION_CHOICE, "workers", .words = trace_grouping_names,
           .argument = "HOW", .initial = "all",
           .help =
               "rows of calls: all together; each process; each parent with its loaders; each parent, then\n"
               "its loaders; parents, then loaders"),
    OPTION(timeline_options, rows, OPTION_TEXT, "row", .repeats = true, .argument = "ROW",
           .help = "draw only cpu, gpu, disks, traces, phases; else all, of a paper gpu, traces, phases"),
    OPTION(timeline_options, title, OPTION_TEXT, "title", .argument = "TEXT",
           .help = "title of the picture; by default the file and its command"),
    OPTIONS_SELECT(struct timeline_options, "file"),
    OPTION_STYLE(struct timeline_options),
    OPTION_PICTURE(struct timeline_options),
    OPTION_END,
};

static bool read_rows(const struct option_list *given, const struct figure_style *style, bool *rows,
                      struct error *err)
{
    for (int row = 0; row < TIMELINE_ROWS && given->count == 0; row++)
        rows[row] = style == &figure_screen || row == TIMELINE_GPU || row >= TIMELINE_TRACES;
    for (size_t i = 0; i < given->count; i++) {
        int row = 0;
        while (row < TIMELINE_ROWS && strcmp(given->items[i], timeline_row_names[row]) != 0)
            row++;
        if (row == TIMELINE_ROWS)
            return error_set(err, ERROR_USAGE,
                             "--row: expected cpu, gpu, disks, traces or phases, found '%s'",
                             given->items[i]);
        rows[row] = true;
    }
    return true;
}

static bool draw_timeline(void *context, struct error *err)
{
    const struct timeline_options *given = context;
    struct figure_timeline options = {.style = figure_style_at(given->style),
                                      .title = given->title,
                                      .grouping = (enum trace_grouping)given->workers};
    return read_zoom(&given->zoom, given->given, &options.zoom, err) &&
           select_read(&given->selected, TRACE_SELECT_FILES.kinds, &options.selection, err) &&
           read_rows(&given->rows, options.style, options.rows, err) &&
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
    .summary = "draw what happened in a trace, above each other",
    .description =
        "Draws a trace (rehearse trace) over time: processors, GPUs, disks, the calls (VFS) and "
        "requests to disks\n"
        "(BIO) of the workers, phases. What a trace does not have is left out. Where many calls share a "
        "pixel, its\n"
        "tone tells for which share of the time one was in progress.",
    .options = timeline_table,
    .options_size = sizeof(struct timeline_options),
    .given_at = offsetof(struct timeline_options, given),
    .operands = {.name = "DB",
                 .help = "the trace",
                 .least = 1,
                 .most = 1,
                 .at = offsetof(struct timeline_options, traces)},
    .examples = timeline_examples,
    .run = draw_timeline,
};

/* ---- distribution ---- */

struct distribution_options {
    struct zoom_given zoom;
    struct select_given selected;
    const bool *given;
    struct option_list classes, kinds, traces;
    const char *title, *output;
    int style;
};

#define OPTION_CLASSES(type)                                                                                 \
    {                                                                                                        \
        .name = "class", .kind = OPTION_TEXT, .repeats = true, .at = offsetof(type, classes),                \
        .argument = "CLASS",                                                                                 \
        .help =                                                                                              \
            "of calls (read, open, ...) or requests to disks (block.read, ...), as rehearse compare has\n"   \
            "them; else read, write, block.read and block.write"                                             \
    }

static const struct option_spec distribution_table[] = {
    OPTIONS_ZOOM(struct distribution_options),
    OPTION_CLASSES(struct distribution_options),
    OPTION(
        distribution_options, kinds, OPTION_TEXT, "of", .repeats = true, .argument = "KIND",
        .help =
            "size, latency or gap (from the start of one to the start of the next); else size and latency"),
    OPTION(distribution_options, title, OPTION_TEXT, "title", .argument = "TEXT",
           .help = "title of the picture; by default the file"),
    OPTIONS_SELECT(struct distribution_options, "file"),
    OPTION_STYLE(struct distribution_options),
    OPTION_PICTURE(struct distribution_options),
    OPTION_END,
};

static bool read_classes(const struct option_list *given, bool *streams, struct error *err)
{
    const char *names[FIGURE_STREAMS];
    for (int i = 0; i < FIGURE_STREAMS; i++)
        names[i] = similarity_stream_name(i);
    if (given->count == 0)
        streams[TRACE_READ] = streams[TRACE_WRITE] = streams[FIGURE_STREAM_OF_DISK(TRACE_OP_READ)] =
            streams[FIGURE_STREAM_OF_DISK(TRACE_OP_WRITE)] = true;
    for (size_t i = 0; i < given->count; i++) {
        int stream = 0;
        while (stream < FIGURE_STREAMS && strcmp(names[stream], given->items[i]) != 0)
            stream++;
        if (stream == FIGURE_STREAMS) {
            const char *nearest = text_nearest(given->items[i], names, FIGURE_STREAMS);
            return error_set(err, ERROR_USAGE, "--class: there is no class '%s'%s%s%s", given->items[i],
                             nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
        }
        streams[stream] = true;
    }
    return true;
}

static bool read_kinds(const struct option_list *given, bool *kinds, struct error *err)
{
    if (given->count == 0)
        kinds[DISTRIBUTION_SIZE] = kinds[DISTRIBUTION_LATENCY] = true;
    for (size_t i = 0; i < given->count; i++) {
        int kind = 0;
        while (kind < DISTRIBUTION_KINDS && strcmp(given->items[i], distribution_names[kind]) != 0)
            kind++;
        if (kind == DISTRIBUTION_KINDS)
            return error_set(err, ERROR_USAGE, "--of: expected size, latency or gap, found '%s'",
                             given->items[i]);
        kinds[kind] = true;
    }
    return true;
}

static bool draw_distribution(void *context, struct error *err)
{
    const struct distribution_options *given = context;
    struct figure_distribution options = {.style = figure_style_at(given->style), .title = given->title};
    return read_zoom(&given->zoom, given->given, &options.zoom, err) &&
           select_read(&given->selected, TRACE_SELECT_FILES.kinds, &options.selection, err) &&
           read_classes(&given->classes, options.streams, err) &&
           read_kinds(&given->kinds, options.kinds, err) &&
           figure_distribution(given->output, given->traces.items, given->traces.count, &options, err);
}

static const struct command_example distribution_examples[] = {
    {"rehearse figure distribution run.db -o run.svg", "sizes and latencies of reads, writes and requests"},
    {"rehearse figure distribution real.db emulated.db --class read --of latency --of gap -o reads.svg",
     "two traces over each other"},
    {NULL, NULL},
};

const struct command command_figure_distribution = {
    .name = "figure distribution",
    .summary = "draw how sizes and latencies of calls are distributed",
    .description =
        "Draws histograms, with the median, of the sizes and latencies of the calls in traces, and below "
        "each the\n"
        "share of calls up to a value. Several traces are drawn over each other. Axes are logarithmic.",
    .options = distribution_table,
    .options_size = sizeof(struct distribution_options),
    .given_at = offsetof(struct distribution_options, given),
    .operands = {.name = "DB",
                 .help = "traces",
                 .least = 1,
                 .most = FIGURE_MAX_TRACES,
                 .at = offsetof(struct distribution_options, traces)},
    .examples = distribution_examples,
    .run = draw_distribution,
};

/* ---- throughput ---- */

struct throughput_options {
    struct zoom_given zoom;
    struct select_given selected;
    const bool *given;
    struct option_list classes, traces;
    double every;
    const char *title, *output;
    int style;
};

static const struct option_spec throughput_table[] = {
    OPTIONS_ZOOM(struct throughput_options),
    OPTION_CLASSES(struct throughput_options),
    OPTION(throughput_options, every, OPTION_QUANTITY, "every", .unit = UNIT_TIME, .argument = "TIME",
           .least = OPTION_POSITIVE, .most = MAX_SECONDS,
           .help = "time over which each rate is averaged; by default such that there are about 200"),
    OPTION(throughput_options, title, OPTION_TEXT, "title", .argument = "TEXT",
           .help = "title of the picture; by default the file"),
    OPTIONS_SELECT(struct throughput_options, "file"),
    OPTION_STYLE(struct throughput_options),
    OPTION_PICTURE(struct throughput_options),
    OPTION_END,
};

static bool draw_throughput(void *context, struct error *err)
{
    const struct throughput_options *given = context;
    struct figure_throughput options = {
        .style = figure_style_at(given->style), .title = given->title, .every = given->every};
    return read_zoom(&given->zoom, given->given, &options.zoom, err) &&
           select_read(&given->selected, TRACE_SELECT_FILES.kinds, &options.selection, err) &&
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
        "Draws how many bytes and operations there are per second, by class, with the phases behind. Of "
        "several\n"
        "traces, which begin together, each class has panels of its own and each trace a line.",
    .options = throughput_table,
    .options_size = sizeof(struct throughput_options),
    .given_at = offsetof(struct throughput_options, given),
    .operands = {.name = "DB",
                 .help = "traces",
                 .least = 1,
                 .most = FIGURE_MAX_TRACES,
                 .at = offsetof(struct throughput_options, traces)},
    .examples = throughput_examples,
    .run = draw_throughput,
};
