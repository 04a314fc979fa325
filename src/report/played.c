/* Plans that are played for their pages. */
#include "plan/plan.h"
#include "report/timeline.h"
#include "sim/play.h"

#include <stdio.h>

void report_name_played(const void *context, int device, struct report_lane *lane)
{
    const struct report_played *played = context;
    if (device >= played->result->device_count)
        return;
    const struct sim_device *own = &played->result->devices[device];
    snprintf(lane->name, sizeof lane->name, "place %d", own->place);
    snprintf(lane->group, sizeof lane->group, "pipeline %d", own->pipeline);
    lane->copies = own->members;
    lane->limit = (double)played->plan->types[own->type].nodes.memory;
}

/* Passes of a plan, all its kinds of pipelines together. */
static double count_passes(const struct plan *plan)
{
    double passes = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        passes += 2.0 * plan->pipelines[p].stage_count * (double)plan->pipelines[p].microbatches;
    return passes;
}

/* Plays the plan, whose result is left to the caller. */
static bool play(struct plan *plan, struct report_timeline *timeline, struct sim_result *result,
                 struct error *err)
{
    const struct timeline_sink sink = report_timeline_sink(timeline);
    const struct sim_options how = {.level = SIM_PASSES, .plain = true, .sink = &sink};
    if (count_passes(plan) > REPORT_MAX_TASKS)
        return error_set(err, ERROR_INPUT, "the plan has %.3g passes, and a timeline at most %d",
                         count_passes(plan), REPORT_MAX_TASKS);
    return sim_play(plan, &how, result, err);
}

bool report_play(struct plan *plan, struct report_part *part, struct error *err)
{
    struct sim_result result;
    struct error why;
    const struct report_played played = {plan, &result};
    int stages = plan->pipeline_count > 0 ? plan->pipelines[0].stage_count : 1;
    bool folded = plan->chunks > 1 && stages >= plan->chunks;
    const struct report_timeline_options options = {.label = "micro-batch",
                                                    .depth = folded ? stages / plan->chunks : stages,
                                                    .memory_title = "memory of a device",
                                                    .memory_unit = "B",
                                                    .name = report_name_played,
                                                    .context = &played};
    struct report_timeline *timeline = report_timeline_new(&options, err);
    struct report_drawing drawing = {.draw = NULL};
    if (!timeline)
        return false;
    bool ok = play(plan, timeline, &result, &why);
    if (ok) {
        ok = report_timeline_draw(timeline, "Every pass on its device, as played", &drawing, &why);
        sim_result_release(&result);
    }
    if (ok)
        report_add_drawing(part, &drawing);
    else
        html_element(&part->out, "p", "soft", "There is no timeline here: %s.", why.text);
    report_drawing_release(&drawing);
    report_timeline_free(timeline);
    if (!ok && (error_is_memory(&why) || why.kind == ERROR_STOPPED))
        *err = why;
    return ok || (!error_is_memory(&why) && why.kind != ERROR_STOPPED);
}
