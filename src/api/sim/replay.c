#include "api/figure/options.h"
#include "api/sim/replay_report.h"
#include "api/sim/simulate.h"
#include "core/file_output.h"
#include "core/unit.h"
#include "figure/gantt.h"
#include "figure/gnuplot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A recorded run as a picture: a row for each stream, and the run of --what-if below, with the same time axis. */

#define MAX_BARS_OF_ROW 5000 /* more than a row has pixels: what lies closer together is one bar */
#define NAME_LENGTH     48

/* Activities of a stream that follow each other closely, not yet given to the picture. */
struct run {
    int64_t begin, end;
    int class; /* -1: none */
};

struct drawing {
    const struct replay *replay;
    struct timeline_sink sink;
    struct run *runs; /* of streams */
    int64_t nearby;   /* ns between activities that are one bar */
};

static bool give_run(const struct drawing *drawing, size_t stream, struct error *err)
{
    static const enum timeline_kind kinds[REPLAY_CLASSES] = {[REPLAY_COMPUTE] = TASK_FORWARD,
                                                             [REPLAY_COMMUNICATION] = TASK_COLLECTIVE,
                                                             [REPLAY_MEMORY] = TASK_LOAD};
    const struct run *run = &drawing->runs[stream];
    if (run->class < 0)
        return true;
    const struct timeline_task task = {
        .cause = -1,
        .device = (int)stream,
        .stream = STREAM_COMPUTE,
        .kind = kinds[run->class],
        .stage = -1,
        .layer = -1,
        .microbatch = -1,
        .begin = (double)run->begin / 1e9,
        .end = (double)run->end / 1e9,
    };
    return drawing->sink.task(drawing->sink.context, &task, err);
}

static bool give_runs(const struct drawing *drawing, const struct replay_result *result, struct error *err)
{
    const struct replay *replay = drawing->replay;
    for (size_t i = 0; i < replay->stream_count; i++)
        drawing->runs[i].class = -1;
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i];
        int64_t begin = result ? result->starts[i] : activity->start;
        int64_t end = begin + (result ? result->durations[i] : activity->duration);
        struct run *run = &drawing->runs[activity->stream];
        if (run->class == (int)activity->class && begin <= run->end + drawing->nearby) {
            run->end = end > run->end ? end : run->end;
            continue;
        }
        if (!give_run(drawing, activity->stream, err))
            return false;
        *run = (struct run){begin, end, (int)activity->class};
    }
    for (size_t i = 0; i < replay->stream_count; i++)
        if (!give_run(drawing, i, err))
            return false;
    return true;
}

static void name_rows(const struct replay *replay, char (*names)[NAME_LENGTH], const char **rows,
                      bool devices)
{
    for (size_t i = 0; i < replay->stream_count; i++) {
        long long device = replay->streams[i].device, number = replay->streams[i].number;
        if (devices)
            snprintf(names[i], NAME_LENGTH, "%lld: %lld", device, number);
        else
            snprintf(names[i], NAME_LENGTH, "%lld", number);
        rows[i] = names[i];
    }
}

static struct gantt *draw_run(struct drawing *drawing, const struct gantt_options *look,
                              const struct replay_result *result, struct error *err)
{
    struct gantt *gantt = gantt_new(look, err);
    if (gantt == NULL)
        return NULL;
    drawing->sink = gantt_sink(gantt);
    if (give_runs(drawing, result, err))
        return gantt;
    gantt_free(gantt);
    return NULL;
}

static bool draw(struct drawing *drawing, const struct replay_report *report,
                 const struct gantt_options *look, const char *path, struct error *err)
{
    static const char *const names[2] = {"streams as recorded", "what if"};
    const struct replay_result *results[2] = {NULL, report->changed};
    const int64_t spans[2] = {report->recorded->span, report->changed ? report->changed->span : 0};
    char titles[2][100], time[32];
    struct gantt *gantts[2] = {NULL, NULL};
    int count = report->changed ? 2 : 1, made = 0;
    for (; made < count; made++) {
        struct gantt_options own = *look;
        snprintf(titles[made], sizeof titles[made], "%s: %s",
                 report->replay->played ? "streams as played" : names[made],
                 unit_format(time, sizeof time, (double)spans[made] / 1e9, UNIT_TIME, 5));
        if (made > 0)
            snprintf(titles[made], sizeof titles[made], "%s: %s", names[made], time);
        own.panel_title = titles[made];
        drawing->nearby = spans[made] / MAX_BARS_OF_ROW;
        gantts[made] = draw_run(drawing, &own, results[made], err);
        if (gantts[made] == NULL)
            break;
    }
    bool ok = made == count && gantt_draw_all(gantts, count, path, err);
    gantt_free(gantts[0]);
    gantt_free(gantts[1]);
    return ok;
}

bool replay_draw(const struct replay_report *report, const struct figure_style *style, const char *path,
                 struct error *err)
{
    static const char *const kinds[TASK_KINDS] = {
        [TASK_FORWARD] = "computation", [TASK_COLLECTIVE] = "communication", [TASK_LOAD] = "copies"};
    const struct replay *replay = report->replay;
    char(*names)[NAME_LENGTH] = calloc(replay->stream_count, sizeof *names);
    const char **rows = calloc(replay->stream_count, sizeof *rows);
    struct drawing drawing = {.replay = replay, .runs = calloc(replay->stream_count, sizeof *drawing.runs)};
    bool ok = names && rows && drawing.runs ? true : error_memory(err);
    if (ok) {
        const struct gantt_options look = {.style = style,
                                           .title = "",
                                           .devices = (int)replay->stream_count,
                                           .depth = 1,
                                           .row_names = rows,
                                           .kind_names = kinds};
        name_rows(replay, names, rows, report->recorded->device_count > 1);
        ok = draw(&drawing, report, &look, path, err);
    }
    free(names);
    free((void *)rows);
    free(drawing.runs);
    return ok;
}

struct playing {
    struct replay_scale scales[REPLAY_MAX_SCALES];
    char *texts[REPLAY_MAX_SCALES]; /* of the scales' patterns */
    int scale_count;
    struct replay replay;
    struct replay_graph graph;
    struct replay_result recorded, typical, changed;
};

static bool read_scales(struct playing *playing, const struct rh_list *given, struct error *err)
{
    if (given->count > REPLAY_MAX_SCALES)
        return error_set(err, ERROR_USAGE, "--what-if: more than %d patterns", REPLAY_MAX_SCALES);
    for (size_t i = 0; i < given->count; i++) {
        char *text = strdup(given->items[i]);
        if (!text)
            return error_memory(err);
        playing->texts[playing->scale_count] = text;
        if (!replay_scale_parse(&playing->scales[playing->scale_count++], text, err))
            return false;
    }
    return true;
}

/* A pattern that no kernel has is most likely a mistake. */
static bool check_scales(const struct playing *playing, struct error *err)
{
    const struct replay_named *longest = &playing->recorded.names[0];
    for (int i = 0; i < playing->scale_count; i++)
        if (!replay_matches(&playing->replay, &playing->scales[i]))
            return error_set(err, ERROR_USAGE,
                             "--what-if '%s': no kernel in '%s' has such a name (the longest are '%.80s')",
                             playing->scales[i].pattern, playing->replay.path, longest->name);
    return true;
}

static bool play(struct playing *playing, struct error *err)
{
    const struct replay_options recorded = {.scales = NULL}, typical = {.typical = true};
    const struct replay_options changed = {.scales = playing->scales, .scale_count = playing->scale_count};
    if (!replay_graph_make(&playing->graph, &playing->replay, err) ||
        !replay_play(&playing->graph, &recorded, &playing->recorded, err))
        return false;
    replay_result_forget_times(&playing->recorded); /* those of the activities */
    if (!check_scales(playing, err) || !replay_play(&playing->graph, &typical, &playing->typical, err))
        return false;
    replay_result_forget_times(&playing->typical);
    return (playing->scale_count == 0 || replay_play(&playing->graph, &changed, &playing->changed, err));
}

static bool write_table(const struct playing *playing, const struct replay_result *result, const char *path,
                        struct error *err)
{
    struct file_output output;
    struct text text = {0};
    if (!file_output_open(&output, path, err))
        return false;
    replay_write_csv(&playing->replay, result ? result->starts : NULL, result ? result->durations : NULL,
                     &text, output.out);
    bool done = !text.failed || error_memory(err);
    text_release(&text);
    return file_output_close(&output, done, err);
}

static bool write_files(const struct playing *playing, const struct simulate_options *given,
                        struct error *err)
{
    const struct replay_result *result = playing->scale_count > 0 ? &playing->changed : NULL;
    if (given->asked.tasks && !write_table(playing, result, given->asked.tasks, err))
        return false;
    if (!given->asked.trace)
        return true;
    const struct chrome_options options = {.recorded = true, .world_size = playing->replay.world};
    struct chrome *chrome = chrome_open(given->asked.trace, &options, err);
    if (!chrome)
        return false;
    const struct timeline_sink sink = chrome_sink(chrome);
    return chrome_close(chrome, replay_give(&playing->replay, result, &sink, err), err);
}

static bool deliver(const struct playing *playing, const struct simulate_options *given, struct error *err)
{
    const struct replay_report report = {
        .replay = &playing->replay,
        .graph = &playing->graph,
        .recorded = &playing->recorded,
        .typical = &playing->typical,
        .changed = playing->scale_count > 0 ? &playing->changed : NULL,
        .scales = playing->scales,
        .scale_count = playing->scale_count,
    };
    if (!write_files(playing, given, err) ||
        (given->asked.figure &&
         !replay_draw(&report, figure_style_of(given->asked.style), given->asked.figure, err)))
        return false;
    replay_report_json(&report, &given->report->json);
    replay_report_print(&report, &given->report->text);
    return true;
}

bool simulate_replay(const struct simulate_options *given, struct error *err)
{
    struct playing playing = {.scale_count = 0};
    bool done = (!given->asked.figure || figure_can_write(given->asked.figure, err)) &&
                read_scales(&playing, &given->asked.what_if, err) &&
                replay_load(&playing.replay, given->asked.replay, err) && play(&playing, err) &&
                deliver(&playing, given, err);
    replay_result_release(&playing.recorded);
    replay_result_release(&playing.typical);
    replay_result_release(&playing.changed);
    replay_graph_release(&playing.graph);
    replay_release(&playing.replay);
    for (int i = 0; i < playing.scale_count; i++)
        free(playing.texts[i]);
    return done;
}
