/* The run of a plan by layers, and what the engine's figures mean. */
#include "sim/play/links.h"
#include "sim/play/path.h"

#include <math.h>

static void set_figures(const struct play_system *system, const struct engine_result *played, int a,
                        struct sim_result *result)
{
    const struct play_model *model = system->model;
    struct layout_place at = system->layout.at[system->shown[a]];
    const struct play_device *device = &model->pipelines[at.pipeline].devices[at.place];
    const struct engine_figures *figures = &played->devices[a];
    struct sim_device *to = &result->devices[model->pipelines[at.pipeline].first_device + at.place];
    if (to->members > 0 && figures->end <= to->end)
        return; /* the latest of a place is shown */
    *to = (struct sim_device){.pipeline = at.pipeline,
                              .place = at.place,
                              .type = device->type,
                              .members = device->members,
                              .begin = figures->begin,
                              .end = figures->end};
    double sum = model->other;
    to->seconds[SIM_OTHER] = model->other;
    for (int label = 0; label < LAYER_LABELS; label++) {
        const struct engine_seconds *seconds = &played->seconds[(size_t)a * LAYER_LABELS + (size_t)label];
        double own = seconds->busy + seconds->exposed;
        if (play_cause_of(label) == SIM_SAVE) /* a checkpoint is that of all devices */
            own += seconds->waited;
        to->seconds[play_cause_of(label)] += own;
        sum += own;
    }
    to->seconds[SIM_BUBBLE] += result->seconds - sum;
    to->peak = device->state;
    to->peak.activations = (double)figures->peak_of[MEMORY_ACTIVATIONS];
    to->peak.total = (double)figures->peak + device->state.working;
    to->peak.time = figures->peak_time;
    if (to->peak.activations == 0.0 || figures->peak == figures->peak_of[MEMORY_ACTIVATIONS])
        to->peak.total = device->total > 0.0 ? device->total : NAN;
}

static bool keep_figures(const struct play_system *system, const struct engine_result *played,
                         struct sim_result *result, struct error *err)
{
    result->device_count = layout_rank_count(system->model);
    result->devices = ARENA_ARRAY(&result->arena, (size_t)result->device_count, struct sim_device);
    if (!result->devices)
        return error_memory(err);
    for (int a = 0; a < system->engine.device_count; a++)
        set_figures(system, played, a, result);
    play_summarise(result);
    return true;
}

static void set_seconds(const struct play_system *system, const struct engine_result *played,
                        struct sim_result *result)
{
    const struct play_model *model = system->model;
    double longest = 0.0, end = 0.0;
    for (int a = 0; a < system->engine.device_count; a++) {
        longest = fmax(longest, played->devices[a].end - played->devices[a].begin);
        end = fmax(end, played->devices[a].end);
    }
    result->iterations = model->host.iterations;
    result->shown = end + model->other;
    result->makespan = played->makespan + model->other;
    result->seconds = model->host.iterations > 1 ? result->shown
                      : model->post_validate     ? longest + model->other
                                                 : result->makespan;
    result->tasks = played->tasks;
}

static bool run(struct play_system *system, bool keep, struct sim_result *result, struct error *err)
{
    struct engine_result played = {.makespan = 0.0};
    struct path_keeper keeper = {.count = 0};
    const struct sim_options *options = system->model->options;
    bool ok = true;
    struct timeline_sink sink;
    if (keep) {
        ok = path_keeper_open(&keeper, system->layout.count, options->no_symmetry || options->jitter > 0,
                              options->sink, err);
        sink = path_keeper_sink(&keeper);
    }
    if (ok && keep && sink.link)
        ok = play_links_name(system, err);
    ok = ok && engine_run(&system->engine, keep ? &sink : NULL, &played, err);
    if (ok)
        set_seconds(system, &played, result);
    ok = ok &&
         (!keep ||
          (keep_figures(system, &played, result, err) && play_links_keep(system, &played, result, err))) &&
         (!keep || path_keeper_walk(&keeper, system->model, system->by_place ? NULL : system->layout.first,
                                    result, err));
    path_keeper_release(&keeper);
    engine_result_release(&played);
    return ok;
}

bool play_layers(const struct play_model *model, bool keep, struct sim_result *result, struct error *err)
{
    struct play_system system;
    bool ok = play_system_make(&system, model, err) && run(&system, keep, result, err);
    play_system_release(&system);
    return ok;
}
