/* Iterations with the work of hosts, in the steady state.
 *
 * Runs of some iterations are played, and times come from differences: the second of two iterations is one of the steady
 * state. Of saves, a cycle is N iterations. If a save is over after W < N iterations, those are played, and the others are
 * undisturbed. If not, several cycles are played, and the second half counts: the first save waits for none. Where that would be
 * too many iterations, a part of the bytes is written in the iterations that can be played, and half of that part in a second
 * run; each further byte takes what the last ones took (`is_long`). Then a cycle is no shorter than the storage is busy. */
#include "sim/play/host.h"

#include <math.h>

#define MAX_ITERATIONS 64
#define MIN_ITERATIONS 8
#define MAX_CYCLES     16  /* of short cycles whose links are shared; else two */
#define MAX_TASKS      5e7 /* of all iterations of a run */

/* Runs that a cycle is made of. All but `last` are freed. */
struct cycle {
    struct play_model *model;
    bool keep;
    struct sim_result alone, plain, loaded; /* one iteration without hosts, two, and two with loading */
    struct sim_result from, half;
    struct sim_result *last; /* the longest, which is shown */
    bool has_from, is_long;
    double part;    /* of the bytes, that was written in the last run; half of it in `half` */
    int64_t every;  /* iterations of the cycle */
    double rest;    /* of these, iterations that were not played */
    double counted; /* iterations that `rest` and the last run without `from` add up to */
};

static bool run(struct cycle *cycle, struct play_host host, struct sim_result *result, struct error *err)
{
    struct play_model *model = cycle->model;
    const struct sim_options *options = model->options;
    struct sim_options quiet = *options;
    struct arena kept = result->arena;
    *result = (struct sim_result){.arena = kept, .fullest = -1, .iterations = host.iterations};
    if (result != cycle->last) {
        quiet.sink = NULL;
        model->options = &quiet;
    }
    model->host = host;
    bool ok = play_layers(model, cycle->keep, result, err);
    model->host = PLAY_ALONE;
    model->options = options;
    return ok;
}

/* ---- how long a save takes if nothing shares its links ---- */

static void price_save(const struct play_model *model, double *copied, double *written)
{
    const struct sim_options *options = model->options;
    double rate = options->copy_rate > 0.0 && options->host_rate > 0.0
                      ? fmin(options->copy_rate, options->host_rate)
                      : fmax(options->copy_rate, options->host_rate);
    double most = 0.0, all = 0.0;
    for (int p = 0; p < model->pipeline_count; p++)
        for (int d = 0; d < model->pipelines[p].order.devices; d++) {
            double bytes = host_bytes(model, p, d);
            most = fmax(most, bytes);
            all += bytes * (double)model->pipelines[p].devices[d].members;
        }
    *copied = rate > 0.0 ? most / rate : 0.0;
    *written = options->save_rate > 0.0 ? all / options->save_rate : 0.0;
}

/* ---- which iterations are played ---- */

static int limit_of(const struct cycle *cycle)
{
    double limit = MAX_TASKS / fmax(1.0, (double)cycle->alone.tasks);
    return (int)fmax(MIN_ITERATIONS, fmin(limit, MAX_ITERATIONS));
}

/* Plays one save and `count` iterations after it. *over: the save was written before they were done. */
static bool play_save(struct cycle *cycle, int count, double part, struct sim_result *to, bool *over,
                      struct error *err)
{
    const struct play_host host = {.iterations = count + 1,
                                   .loads = cycle->model->options->load_rate > 0.0,
                                   .save_every = count + 1,
                                   .written = part};
    bool ok = run(cycle, host, to, err);
    *over = to->makespan <= to->shown * (1.0 + 1e-12);
    return ok;
}

/* Plays several cycles: they take as long as those in the second half. */
static bool play_cycles(struct cycle *cycle, int limit, struct error *err)
{
    const struct sim_options *options = cycle->model->options;
    bool shared = options->load_rate > 0.0 || options->host_rate > 0.0 || options->storage_network;
    int64_t fit = (limit - 1) / (2 * cycle->every);
    int half = !shared ? 1 : fit < MAX_CYCLES / 2 ? (int)fit : MAX_CYCLES / 2;
    struct play_host host = {.iterations = half * (int)cycle->every + 1,
                             .loads = options->load_rate > 0.0,
                             .save_every = cycle->every,
                             .written = 1.0};
    cycle->has_from = true;
    cycle->rest = 0.0;
    if (!run(cycle, host, &cycle->from, err))
        return false;
    host.iterations += half * (int)cycle->every;
    cycle->counted = half * (double)cycle->every;
    return run(cycle, host, cycle->last, err);
}

static bool play_long(struct cycle *cycle, int limit, double period, double written, struct error *err)
{
    bool over;
    int count = (int)fmin((double)cycle->every, limit - 1);
    cycle->is_long = true;
    cycle->part = fmin(1.0, 0.5 * count * period / written);
    cycle->rest = (double)cycle->every - count;
    return play_save(cycle, count, 0.5 * cycle->part, &cycle->half, &over, err) &&
           play_save(cycle, count, cycle->part, cycle->last, &over, err);
}

static bool play_saves(struct cycle *cycle, double period, struct error *err)
{
    double copied, written;
    int limit = limit_of(cycle);
    price_save(cycle->model, &copied, &written);
    enum sim_save_waits waits = cycle->model->options->save_waits;
    double beside = waits == SIM_WAITS_FOR_WRITES   ? 0.0
                    : waits == SIM_WAITS_FOR_COPIES ? written
                                                    : copied + written;
    double guess = ceil(1.2 * beside / period) + 1.0;
    bool over = false;
    while (!over && guess < (double)cycle->every && guess < limit) {
        /* a run that is too short must not reach the sinks */
        if (cycle->keep && !play_save(cycle, (int)guess, 1.0, &cycle->half, &over, err))
            return false;
        sim_result_release(&cycle->half);
        cycle->rest = (double)cycle->every - guess;
        if ((over || !cycle->keep) && !play_save(cycle, (int)guess, 1.0, cycle->last, &over, err))
            return false;
        guess *= 2.0;
    }
    if (over)
        return true;
    return 2 * cycle->every + 1 <= limit ? play_cycles(cycle, limit, err)
                                         : play_long(cycle, limit, period, written, err);
}

/* ---- what they add up to ---- */

/* Returns the mean of an iteration of the cycle, of seconds that the runs have. */
static double mean_of(const struct cycle *cycle, double alone, double plain, double loaded, double from,
                      double half, double last)
{
    double period = (cycle->loaded.iterations > 0 ? loaded : plain) - alone;
    if (cycle->is_long) /* in `part` of the bytes; half of it less takes `last - half` less */
        last += (last - half) / (0.5 * cycle->part) * (1.0 - cycle->part);
    double sum = last - (cycle->has_from ? from : alone) + cycle->rest * period;
    return alone + sum / cycle->counted - (plain - alone);
}

static void set_causes(const struct cycle *cycle, struct sim_result *result)
{
    for (int d = 0; d < result->device_count; d++) {
        struct sim_device *to = &result->devices[d];
        const struct sim_device *alone = &cycle->alone.devices[d], *plain = &cycle->plain.devices[d];
        double sum = 0.0;
        for (int cause = 0; cause < SIM_CAUSES; cause++) {
            to->seconds[cause] = mean_of(
                cycle, alone->seconds[cause], plain->seconds[cause],
                cycle->loaded.devices ? cycle->loaded.devices[d].seconds[cause] : 0.0,
                cycle->from.devices ? cycle->from.devices[d].seconds[cause] : 0.0,
                cycle->half.devices ? cycle->half.devices[d].seconds[cause] : 0.0, to->seconds[cause]);
            sum += cause == SIM_BUBBLE ? 0.0 : to->seconds[cause];
        }
        to->begin = alone->begin;
        to->end = alone->end;
        to->seconds[SIM_BUBBLE] = result->seconds - sum;
    }
    play_summarise(result);
}

/* The storage is busy for so long in an iteration of a cycle, whatever waits for it. */
static double busy_of(const struct cycle *cycle)
{
    const struct play_model *model = cycle->model;
    double copied, written, loads = model->options->load_rate;
    price_save(model, &copied, &written);
    loads = loads > 0.0 ? (double)plan_samples(model->plan) / loads : 0.0;
    return (copied + written) / (double)cycle->every + loads;
}

static bool play_all(struct cycle *cycle, struct error *err)
{
    const struct sim_options *options = cycle->model->options;
    struct play_host host = {.iterations = 1, .written = 1.0};
    if (!run(cycle, host, &cycle->alone, err))
        return false;
    host.iterations = 2;
    if (!run(cycle, host, &cycle->plain, err))
        return false;
    double period = cycle->plain.shown - cycle->alone.shown;
    host.loads = options->load_rate > 0.0;
    if (host.loads && !run(cycle, host, &cycle->loaded, err))
        return false;
    if (host.loads)
        period = cycle->loaded.shown - cycle->alone.shown;
    if (options->save_every > 0)
        return play_saves(cycle, period, err);
    host.iterations = 2; /* the first one loads for the second */
    return run(cycle, host, cycle->last, err);
}

bool host_play(struct play_model *model, bool keep, struct sim_result *result, struct error *err)
{
    struct cycle cycle = {.model = model, .keep = keep, .last = result, .part = 1.0};
    cycle.every = model->options->save_every > 0 ? model->options->save_every : 1;
    cycle.counted = (double)cycle.every;
    bool ok = play_all(&cycle, err);
    if (ok) {
        double seconds = mean_of(&cycle, cycle.alone.shown, cycle.plain.shown, cycle.loaded.shown,
                                 cycle.from.shown, cycle.half.shown, result->shown);
        double added = seconds - cycle.alone.shown;
        if (cycle.is_long)
            added = fmax(added, busy_of(&cycle) - cycle.alone.seconds);
        double waited = added - (seconds - cycle.alone.shown);
        model->host_seconds = added;
        result->seconds = cycle.alone.seconds + added;
        result->makespan = cycle.alone.makespan + added;
        if (keep) {
            set_causes(&cycle, result);
            for (int d = 0; d < result->device_count; d++) {
                result->devices[d].seconds[SIM_SAVE] += waited;
                result->devices[d].seconds[SIM_BUBBLE] -= waited;
            }
        }
    }
    sim_result_release(&cycle.alone);
    sim_result_release(&cycle.plain);
    sim_result_release(&cycle.loaded);
    sim_result_release(&cycle.from);
    sim_result_release(&cycle.half);
    return ok;
}
