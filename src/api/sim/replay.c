#include "api/figure/options.h"
#include "api/sim/replay_report.h"
#include "api/sim/simulate.h"
#include "core/file_output.h"
#include "figure/gnuplot.h"

#include <stdlib.h>
#include <string.h>

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
