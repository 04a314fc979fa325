/* Pictures of traces: rh_figure_timeline, rh_figure_distribution, rh_figure_throughput. */
#include "api/command.h"
#include "api/figure/options.h"
#include "api/figure/picture.h"
#include "api/trace/select.h"
#include "figure/trace/distribution.h"
#include "figure/trace/throughput.h"
#include "figure/trace/timeline.h"
#include "trace/similarity/similarity.h"

#include <math.h>

/* ---- the part of a trace ---- */

/* In the order of the tables' first entries; the traces are before them. */
enum { ZOOM_TRACES, ZOOM_PHASE, ZOOM_MARGIN, ZOOM_FIRST, ZOOM_LAST, ZOOM_FROM, ZOOM_TO };

/* What all three requests have. */
struct part {
    const char *phase, *path;
    double margin, first, last, from, to;
    const struct rh_list *kinds;
    const bool *given;
};

#define PART_OF(asked, call)                                                                                 \
    (struct part)                                                                                            \
    {                                                                                                        \
        .phase = (asked)->phase, .path = (asked)->path, .margin = (asked)->margin, .first = (asked)->first,  \
        .last = (asked)->last, .from = (asked)->from, .to = (asked)->to, .kinds = &(asked)->kinds,           \
        .given = (call)->given                                                                               \
    }

static bool read_part(struct part part, struct trace_zoom *zoom, struct trace_selection *selection,
                      struct error *err)
{
    const bool *is_given = part.given;
    bool between = is_given[ZOOM_FROM] || is_given[ZOOM_TO];
    if (is_given[ZOOM_PHASE] + is_given[ZOOM_FIRST] + is_given[ZOOM_LAST] + between > 1)
        return error_set(err, ERROR_USAGE,
                         "--phase, --first, --last and --from with --to exclude each other");
    if (is_given[ZOOM_FROM] && is_given[ZOOM_TO] && part.from >= part.to)
        return error_set(err, ERROR_USAGE, "--to: expected a time after --from");
    *zoom = (struct trace_zoom){.phase = part.phase,
                                .margin = part.margin,
                                .first = is_given[ZOOM_FIRST] ? part.first : 0,
                                .last = is_given[ZOOM_LAST] ? part.last : 0,
                                .from = is_given[ZOOM_FROM] ? part.from : NAN,
                                .to = is_given[ZOOM_TO] ? part.to : NAN};
    return select_read(part.kinds, part.path, TRACE_SELECT_FILES.kinds, selection, err);
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

struct timeline {
    const struct rh_figure_timeline_request *asked;
    struct figure_timeline options;
};

static bool draw_timeline(const void *context, const char *path, struct error *err)
{
    const struct timeline *timeline = context;
    return figure_timeline(path, timeline->asked->trace, &timeline->options, err);
}

static rh_handle *make_timeline(const void *request, const struct api_call *call, struct error *err)
{
    const struct rh_figure_timeline_request *asked = request;
    struct timeline timeline = {
        .asked = asked,
        .options = {.style = figure_style_of(asked->style),
                    .title = asked->title,
                    .grouping = (enum trace_grouping)option_index(trace_grouping_names, asked->workers)},
    };
    struct figure_timeline *options = &timeline.options;
    for (int row = 0; row < TIMELINE_ROWS && asked->rows.count == 0; row++)
        options->rows[row] = options->style->legends || row == TIMELINE_GPU || row >= TIMELINE_TRACES;
    if (!read_part(PART_OF(asked, call), &options->zoom, &options->selection, err) ||
        !read_flags("row", &asked->rows, timeline_row_names, options->rows, err))
        return NULL;
    return picture_draw(draw_timeline, &timeline, asked->output, err);
}

API_WHOLE_COMMAND(figure_timeline, "figure timeline", rh_figure_timeline_request, .make = make_timeline);

/* ---- distribution ---- */

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

struct distribution {
    const struct rh_figure_distribution_request *asked;
    struct figure_distribution options;
};

static bool draw_distribution(const void *context, const char *path, struct error *err)
{
    const struct distribution *distribution = context;
    const struct rh_list *traces = &distribution->asked->traces;
    return figure_distribution(path, traces->items, traces->count, &distribution->options, err);
}

static rh_handle *make_distribution(const void *request, const struct api_call *call, struct error *err)
{
    const struct rh_figure_distribution_request *asked = request;
    struct distribution distribution = {
        .asked = asked,
        .options = {.style = figure_style_of(asked->style), .title = asked->title},
    };
    struct figure_distribution *options = &distribution.options;
    if (asked->of.count == 0)
        options->kinds[DISTRIBUTION_SIZE] = options->kinds[DISTRIBUTION_LATENCY] = true;
    if (!read_part(PART_OF(asked, call), &options->zoom, &options->selection, err) ||
        !read_classes(&asked->classes, options->streams, err) ||
        !read_flags("of", &asked->of, distribution_names, options->kinds, err))
        return NULL;
    return picture_draw(draw_distribution, &distribution, asked->output, err);
}

API_WHOLE_COMMAND(figure_distribution, "figure distribution", rh_figure_distribution_request,
                  .make = make_distribution);

/* ---- throughput ---- */

struct throughput {
    const struct rh_figure_throughput_request *asked;
    struct figure_throughput options;
};

static bool draw_throughput(const void *context, const char *path, struct error *err)
{
    const struct throughput *throughput = context;
    const struct rh_list *traces = &throughput->asked->traces;
    return figure_throughput(path, traces->items, traces->count, &throughput->options, err);
}

static rh_handle *make_throughput(const void *request, const struct api_call *call, struct error *err)
{
    const struct rh_figure_throughput_request *asked = request;
    struct throughput throughput = {
        .asked = asked,
        .options = {.style = figure_style_of(asked->style), .title = asked->title, .every = asked->every},
    };
    struct figure_throughput *options = &throughput.options;
    if (!read_part(PART_OF(asked, call), &options->zoom, &options->selection, err) ||
        !read_classes(&asked->classes, options->streams, err))
        return NULL;
    return picture_draw(draw_throughput, &throughput, asked->output, err);
}

API_WHOLE_COMMAND(figure_throughput, "figure throughput", rh_figure_throughput_request,
                  .make = make_throughput);
