/* The streams of a recorded run on a page: as recorded, and with --what-if as they would be. */
#include "api/sim/replay_report.h"
#include "report/timeline.h"

#include <stdio.h>

#define CHANGED (1 << 20) /* devices from here on are those of --what-if */

struct shift {
    struct timeline_sink sink;
    int devices;
};

static bool give_shifted(void *context, const struct timeline_task *task, struct error *err)
{
    const struct shift *shift = context;
    struct timeline_task moved = *task;
    moved.device += shift->devices;
    return shift->sink.task(shift->sink.context, &moved, err);
}

static void name_streams(const void *context, int device, struct report_lane *lane)
{
    const struct replay *replay = context;
    const char *how = device >= CHANGED ? "what if" : replay->played ? "as played" : "as recorded";
    snprintf(lane->name, sizeof lane->name, "device %d, %s", device % CHANGED, how);
}

bool replay_draw_page(const struct replay *replay, const struct replay_result *changed,
                      struct report_drawing *drawing, struct error *err)
{
    static const char *const kinds[TASK_KINDS] = {
        [TASK_FORWARD] = "computation", [TASK_COLLECTIVE] = "communication", [TASK_LOAD] = "copies"};
    const struct report_timeline_options options = {
        .recorded = true, .kind_names = kinds, .name = name_streams, .context = replay};
    struct report_timeline *timeline = report_timeline_new(&options, err);
    if (!timeline)
        return false;
    struct shift shift = {report_timeline_sink(timeline), 0};
    const struct timeline_sink sink = {.context = &shift, .task = give_shifted};
    bool ok = replay_give(replay, NULL, &sink, err);
    shift.devices = CHANGED;
    ok = ok && (!changed || replay_give(replay, changed, &sink, err)) &&
         report_timeline_draw(timeline, "Every activity on its stream", drawing, err);
    report_timeline_free(timeline);
    return ok;
}
