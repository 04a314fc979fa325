#include "run/run.h"

#include "core/clock.h"
#include "core/hash.h"
#include "core/statistics.h"
#include "run/price.h"
#include "run/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAD        0.03 /* seconds from the last word of rank 0 to the beginning */
#define MAX_DEVICES 65536

struct game {
    struct wire *wire;
    struct talk *talk;
    struct sim_tasks *tasks;
    struct engine_system priced, played;
    struct sim_tasks shown; /* the tasks with the system that is played */
    struct player player;
    const struct run_options *options;
    int64_t *peaks; /* of activations, simulated */
    bool playing;
};

/* ---- what comes ---- */

static void *place(void *context, const struct wire_head *head, struct error *err)
{
    struct game *game = context;
    void *bytes = NULL;
    if (head->kind == WIRE_CONTROL || head->kind == WIRE_FAILED)
        return talk_place(game->talk, head, &bytes, err) ? bytes : NULL;
    if (game->playing)
        return pool_take(&game->player.pool, head->length, err);
    error_set(err, ERROR_FAILED, "rank %d sends before it was asked to", head->from);
    return NULL;
}

static bool arrived(void *context, const struct wire_head *head, void *bytes, struct error *err)
{
    struct game *game = context;
    if (head->kind == WIRE_CONTROL || head->kind == WIRE_FAILED)
        return talk_arrived(game->talk, head, bytes, err);
    if (!game->playing)
        return error_set(err, ERROR_FAILED, "rank %d sends before it was asked to", head->from);
    return head->kind == WIRE_MESSAGE ? message_arrived(&game->player, head, bytes, err)
                                      : collective_arrived(&game->player, head, bytes, err);
}

static bool lost(void *context, int rank, const char *why, struct error *err)
{
    struct game *game = context;
    talk_lost(game->talk, rank);
    return game->player.ending || error_set(err, ERROR_FAILED, "rank %d is lost: %s", rank, why);
}

/* ---- what is simulated ---- */

struct watcher {
    const struct engine_system *system;
    double *ends;
    int *done; /* of each device: iterations */
    int iterations;
};

static bool watch(void *context, const struct timeline_task *task, struct error *err)
{
    struct watcher *watcher = context;
    (void)err;
    if (task->kind == TASK_OPTIMIZER && watcher->done[task->device] < watcher->iterations) {
        double *end = &watcher->ends[watcher->done[task->device]++];
        *end = fmax(*end, task->end);
    }
    return true;
}

static bool simulate(struct game *game, struct run_result *result, struct error *err)
{
    size_t devices = (size_t)game->priced.device_count;
    struct engine_result simulated = {.makespan = 0.0};
    struct watcher watcher = {
        .system = &game->priced, .ends = result->ends[0], .iterations = result->iterations};
    watcher.done = calloc(devices + 1, sizeof *watcher.done);
    game->peaks = ARENA_ARRAY(&result->arena, devices + 1, int64_t);
    const struct timeline_sink sink = {.context = &watcher, .task = watch};
    bool ok =
        watcher.done && game->peaks ? engine_run(&game->priced, &sink, &simulated, err) : error_memory(err);
    for (size_t d = 0; ok && d < devices; d++)
        game->peaks[d] = simulated.devices[d].peak_of[MEMORY_ACTIVATIONS];
    engine_result_release(&simulated);
    free(watcher.done);
    return ok;
}

/* Returns the median of the iterations' seconds; `other` is not part of the tasks of a single one. */
static double median_of(const double *ends, int count, double other)
{
    double *seconds = malloc(((size_t)count + 1) * sizeof *seconds), median = NAN;
    for (int i = 0; seconds && i < count; i++)
        seconds[i] = i == 0 ? ends[0] + other : ends[i] - ends[i - 1];
    if (seconds && count > 0) {
        sort_doubles(seconds, count);
        median = quantile_of(seconds, count, 0.5);
    }
    free(seconds);
    return median;
}

/* ---- before and after ---- */

static bool compare_tasks(void *context, int rank, const void *bytes, size_t length, struct error *err)
{
    const uint64_t *own = context;
    return (length == sizeof *own && memcmp(own, bytes, length) == 0) ||
           error_set(err, ERROR_INPUT, "rank %d plays another plan than rank 0, or with other options", rank);
}

static uint64_t hash_of(const struct game *game)
{
    const struct engine_system *system = &game->played;
    uint64_t hash = hash_bytes(0, &system->device_count, sizeof system->device_count);
    hash = hash_bytes(hash, &game->options->byte_share, sizeof game->options->byte_share);
    for (int i = 0; i < system->template_count; i++)
        for (int k = 0; k < system->templates[i].count; k++) {
            const struct engine_task *task = &system->templates[i].tasks[k];
            const double numbers[] = {task->seconds, task->bytes, task->delay, task->share};
            const int kinds[] = {task->receive, task->send, task->group, task->mark, task->stream};
            hash = hash_bytes(hash_bytes(hash, numbers, sizeof numbers), kinds, sizeof kinds);
        }
    for (int i = 0; i < system->order_count; i++)
        hash = hash_bytes(hash, system->orders[i].passes,
                          system->orders[i].count * sizeof *system->orders[i].passes);
    return hash;
}

/* All ranks have the same tasks, know their clocks, and a time to begin at. */
static bool agree(struct game *game, double *start, struct run_result *result, struct error *err)
{
    uint64_t hash = hash_of(game);
    double offset, timeout = game->options->timeout;
    if (!talk_gather(game->talk, &hash, sizeof hash, compare_tasks, &hash, timeout, err) ||
        !talk_clock(game->talk, &offset, &result->clock_error, timeout, err))
        return false;
    game->playing = true;
    double begin = clock_now() + LEAD;
    if (!talk_tell(game->talk, &begin, sizeof begin, timeout, err))
        return false;
    *start = begin - offset;
    return true;
}

static bool set_ranks(const struct game *game, struct run_result *result, struct error *err)
{
    int devices = game->tasks->system->device_count, size = game->wire->size;
    if (devices > MAX_DEVICES)
        return error_set(err, ERROR_INPUT, "a plan of %d devices: a run plays at most %d", devices,
                         MAX_DEVICES);
    if (size > devices)
        return error_set(err, ERROR_USAGE, "%d ranks for %d devices: a rank plays at least one", size,
                         devices);
    int per_rank = game->options->per_rank > 0 ? game->options->per_rank : (devices + size - 1) / size;
    if ((int64_t)per_rank * size < devices)
        return error_set(err, ERROR_USAGE,
                         "--devices-per-rank %d: %d ranks play %lld of the plan's %d devices", per_rank, size,
                         (long long)per_rank * size, devices);
    result->ranks = size;
    result->devices = devices;
    result->per_rank = per_rank;
    return true;
}

static bool prepare(struct game *game, struct plan *plan, struct run_result *result, struct error *err)
{
    const struct run_options *options = game->options;
    result->iterations = options->iterations;
    game->tasks = sim_tasks_make(plan, options->sim, options->iterations, err);
    if (!game->tasks || !set_ranks(game, result, err))
        return false;
    for (int i = 0; i < 2; i++)
        if (!(result->ends[i] = ARENA_ARRAY(&result->arena, (size_t)options->iterations + 1, double)))
            return error_memory(err);
    if (!run_price_link(game->tasks->system, &options->link, &result->arena, &game->priced, err) ||
        !run_free_link(&game->priced, &options->link, &result->arena, &game->played, err))
        return false;
    game->shown = *game->tasks;
    game->shown.system = &game->played;
    result->schedule = arena_string(&result->arena, game->tasks->schedule);
    return simulate(game, result, err);
}

static bool play(struct game *game, struct run_result *result, struct error *err)
{
    const struct run_options *options = game->options;
    const struct player_options how = {
        .per_rank = result->per_rank, .byte_share = options->byte_share, .keep = options->sink != NULL};
    double start, processor;
    if (!player_init(&game->player, &game->shown, &how, game->wire, game->talk, err) ||
        !agree(game, &start, result, err))
        return false;
    game->wire->sent_bytes = 0;
    processor = clock_processor();
    if (!player_play(&game->player, start, options->timeout, err))
        return false;
    processor = clock_processor() - processor;
    return player_check(&game->player, game->peaks, err) &&
           report_gather(&game->player, processor, options->sink, options->timeout, result, err);
}

static bool all_over(struct game *game, struct error *err)
{
    bool over = true;
    game->player.ending = true;
    return talk_tell(game->talk, &over, sizeof over, game->options->timeout, err);
}

bool run_play(struct wire *wire, struct plan *plan, const struct run_options *options,
              struct run_result *result, struct error *err)
{
    struct game *game = calloc(1, sizeof *game);
    *result = (struct run_result){.planned = plan->iteration_time > 0.0 ? plan->iteration_time : NAN};
    if (!game)
        return error_memory(err);
    game->wire = wire;
    game->options = options;
    game->talk = talk_new(wire, err);
    wire->receiver = (struct wire_receiver){game, place, arrived, lost};
    bool ok =
        game->talk && prepare(game, plan, result, err) && play(game, result, err) && all_over(game, err);
    if (ok) {
        result->simulated = median_of(result->ends[0], result->iterations, game->tasks->other);
        result->played = median_of(result->ends[1], result->iterations, game->tasks->other);
    } else if (game->talk) {
        talk_give_up(game->talk, err);
        wire_forget(wire);
    }
    wire->receiver = (struct wire_receiver){.context = NULL};
    if (game->player.devices)
        player_release(&game->player);
    talk_free(game->talk);
    sim_tasks_free(game->tasks);
    free(game);
    if (!ok)
        run_result_release(result);
    return ok;
}

void run_result_release(struct run_result *result)
{
    arena_release(&result->arena);
    *result = (struct run_result){.ranks = 0};
}
