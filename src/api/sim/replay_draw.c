/* A recorded run as a picture: a row for each stream, and the run of --what-if below, with the same time axis. */
#include "api/sim/replay_report.h"
#include "core/unit.h"
#include "figure/gantt.h"

#include <stdio.h>
#include <stdlib.h>

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
