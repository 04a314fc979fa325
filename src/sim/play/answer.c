/* What a play adds up to: rates, the formula beside it, the reasons for a difference, and what more of each resource
 * gives.
 *
 * The reasons. The plan is played again with one thing left out (messages, the exchange of gradients, pairs that hide);
 * that shows its seconds in the simulation. The formula's seconds of the same thing are a part of the plan by name.
 * What remains is that of filling and draining. HPGO's rules (docs/dapple.md) have two terms that are no schedule's,
 * and which are known from the plan alone: a start-up in which each stage has one device of a replica, and a pivot that
 * is a link. All things together are the whole difference, by construction; the one with the most seconds in its
 * direction is the first reason. */
#include "core/statistics.h"
#include "core/stop.h"
#include "devices/tables.h"
#include "plan/parts.h"
#include "plan/split/plan.h"
#include "sim/play/host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Iterations with the work of hosts, in the steady state.
 *
 * Runs of some iterations are played, and times come from differences: the second of two iterations is one of the
 * steady state. Of saves, a cycle is N iterations. If a save is over after W < N iterations, those are played, and the
 * others are undisturbed. If not, several cycles are played, and the second half counts: the first save waits for none.
 * Where that would be too many iterations, a part of the bytes is written in the iterations that can be played, and
 * half of that part in a second run; each further byte takes what the last ones took (`is_long`). Then a cycle is no
 * shorter than the storage is busy. */

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

/* Plays the plan with the work of its hosts, and fills in the result as play_layers does: an iteration is the mean over
 * all iterations from one save to the next. */
static bool host_play(struct play_model *model, bool keep, struct sim_result *result, struct error *err)
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

#define REASON_FROM  0.02  /* share of the formula: smaller differences are not explained */
#define REASON_SHOWN 0.005 /* smaller parts of a difference are not told */
#define MORE         0.1

const char *const sim_cause_names[SIM_CAUSES] = {
    "forward", "backward", "recompute", "tensor",    "context", "expert", "shards",
    "send",    "bubble",   "gradients", "optimizer", "loading", "saving", "other",
};

/* ---- prices that the file does not have ---- */

static bool is_priced(const struct plan *plan)
{
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            if (isnan(plan->pipelines[p].stages[s].seconds.forward) ||
                isnan(plan->pipelines[p].stages[s].seconds.backward))
                return false;
    return true;
}

bool play_price(struct plan *plan, struct error *err)
{
    struct plan priced;
    struct job job;
    if (is_priced(plan) || !plan->model || !plan_is_job(plan) || !architecture_find(plan->model))
        return true;
    if (!job_remake(&job, plan, &(struct plan_parts){.tables = NULL}, err))
        return false;
    plan_init(&priced);
    if (!job_check_degrees(&job, err) || !plan_of_one_job(&priced, &job, (int)plan_devices_asked(plan), err))
        return false;
    if (plan->path && !(priced.path = arena_string(&priced.arena, plan->path))) {
        plan_release(&priced);
        return error_memory(err);
    }
    plan_release(plan);
    *plan = priced;
    return true;
}

/* ---- the reason of a difference ---- */

static double formula_part(const struct plan *plan, const char *const *names)
{
    double sum = 0.0;
    for (; *names; names++)
        for (int i = 0; i < plan->part_count; i++)
            if (strcmp(plan->parts[i].name, *names) == 0 && isfinite(plan->parts[i].value))
                sum += plan->parts[i].value;
    return sum;
}

static bool play_level(struct play_model *model, bool keep, struct sim_result *result, struct error *err)
{
    return host_is_played(model->options) ? host_play(model, keep, result, err)
           : model->layers                ? play_layers(model, keep, result, err)
                                          : play_passes(model, keep, result, err);
}

static bool play_again(struct play_model *model, const struct play_change *change, double *seconds,
                       struct error *err)
{
    struct sim_result again = {.seconds = 0.0};
    play_model_price(model, change);
    bool ok = play_level(model, false, &again, err);
    *seconds = again.seconds + model->shaken;
    return ok;
}

/* A term of the formula that no schedule has: the seconds that the plan's stages take instead, less the term. */
static double startup_excess(const struct plan *plan)
{
    static const char *const names[] = {"startup", NULL};
    double seconds = 0.0;
    if (plan->pipeline_count != 1 || formula_part(plan, names) == 0.0)
        return 0.0;
    for (int s = 0; s < plan->pipelines[0].stage_count; s++)
        seconds +=
            plan->pipelines[0].stages[s].seconds.forward + plan->pipelines[0].stages[s].seconds.backward;
    return seconds - formula_part(plan, names);
}

static int by_seconds(const void *a, const void *b)
{
    double x = fabs(((const struct sim_reason *)a)->seconds),
           y = fabs(((const struct sim_reason *)b)->seconds);
    return (x < y) - (x > y);
}

/* Keeps the reasons that matter, those in the direction of the difference first. */
static void keep_reasons(struct sim_result *result, const struct sim_reason *all, int count)
{
    double difference = result->seconds - result->formula;
    for (int with = 1; with >= 0; with--) {
        int first = result->reason_count;
        for (int i = 0; i < count; i++)
            if ((all[i].seconds * difference > 0.0) == with &&
                fabs(all[i].seconds) > REASON_SHOWN * result->formula)
                result->reasons[result->reason_count++] = all[i];
        qsort(result->reasons + first, (size_t)(result->reason_count - first), sizeof *all, by_seconds);
    }
}

static bool find_reasons(struct play_model *model, struct sim_result *result, struct error *err)
{
    static const char *const sends[] = {"send", "transfers", NULL}, *const data[] = {"data", "drain", NULL},
                             *const nothing[] = {NULL};
    struct play_change changes[] = {PLAY_NO_CHANGE, PLAY_NO_CHANGE, PLAY_NO_CHANGE};
    enum { SENDS, GRADIENTS, PAIRS, STARTUP, HOST, JITTER, SLOW, REST, COUNT };
    _Static_assert(COUNT <= SIM_MAX_REASONS, "a result has room for all reasons");
    changes[SENDS].no_sends = changes[GRADIENTS].no_gradients = changes[PAIRS].no_pairs = true;
    static const char *const *const parts[] = {sends, data, nothing};
    struct sim_reason all[COUNT] = {
        [SENDS] = {"messages between stages", 0.0},
        [GRADIENTS] = {"exchange of gradients", 0.0},
        [PAIRS] = {"expert exchange overlapped by pairs of passes", 0.0},
        [STARTUP] = {"start-up, for which the formula gives each stage one device of a replica", 0.0},
        [HOST] = {"loading and saving", model->host_seconds},
        [JITTER] = {"jitter, whose slowest kernels the others wait for", model->shaken},
        [SLOW] = {"slow devices, which the others wait for", model->slowed},
        [REST] = {"filling and draining of unequal stages", 0.0},
    };
    double difference = result->seconds - result->formula;
    if (!(result->formula > 0.0) || fabs(difference) <= REASON_FROM * result->formula)
        return true;
    if (model->plan->sharding == 3)
        all[GRADIENTS].name = "gathers and scatters of shards";
    all[REST].seconds = difference;
    if (model->plan->rules && strcmp(model->plan->rules, "dapple") == 0) {
        all[SENDS].name = "messages for every micro-batch and back, which the formula counts once";
        all[STARTUP].seconds = startup_excess(model->plan);
        if (model->plan->bottleneck_sends)
            all[REST].name = "pivot link, which the formula counts like a stage";
    }
    for (int i = 0; i < STARTUP; i++) {
        double without;
        if (!play_again(model, &changes[i], &without, err))
            return false;
        all[i].seconds = result->seconds - without - formula_part(model->plan, parts[i]);
    }
    for (int i = 0; i < REST; i++)
        all[REST].seconds -= all[i].seconds;
    keep_reasons(result, all, COUNT);
    return true;
}

/* ---- more of a resource ---- */

static bool add_more(struct play_model *model, struct sim_result *result, const char *name,
                     const struct play_change *change, struct error *err)
{
    struct sim_variant *to = &result->more[result->more_count];
    if (!play_again(model, change, &to->seconds, err))
        return false;
    to->name = name;
    to->more = change->more;
    result->more_count++;
    return true;
}

static bool add_all_more(struct play_model *model, struct sim_result *result, struct error *err)
{
    const struct plan *plan = model->plan;
    struct play_change change = PLAY_NO_CHANGE;
    change.more = MORE;
    result->more =
        ARENA_ARRAY(&result->arena, (size_t)(plan->type_count + plan->link_count) + 1, struct sim_variant);
    if (!result->more)
        return error_memory(err);
    for (change.faster_type = 0; change.faster_type < plan->type_count; change.faster_type++)
        if (!add_more(model, result, plan->types[change.faster_type].name, &change, err))
            return false;
    change.faster_type = -1;
    for (change.faster_link = 0; change.faster_link < plan->link_count; change.faster_link++)
        if (!add_more(model, result, plan->links[change.faster_link].name, &change, err))
            return false;
    return true;
}

/* ---- all of it ---- */

static void set_rates(const struct plan *plan, struct sim_result *result)
{
    double samples = (double)plan_samples(plan), share = plan_figure(plan, "utilisation");
    result->expected = plan->expected;
    result->samples = samples > 0.0 ? samples / result->seconds : NAN;
    result->tokens = plan->sequence > 0 ? result->samples * (double)plan->sequence : NAN;
    result->formula = plan->iteration_time > 0.0 ? plan->iteration_time : NAN;
    result->utilisation = share * result->formula / result->seconds;
}

/* Reasons and variants are of the run without jitter, in which devices that are alike are played once: what another
 * resource changes is not drowned by chance, and a run of all devices is not repeated for each. */
static bool explain(struct play_model *model, struct sim_result *result, struct error *err)
{
    const struct sim_options *asked = model->options;
    struct sim_options calm = *asked;
    double even = result->seconds, alike = even;
    calm.jitter = 0.0;
    calm.no_symmetry = false;
    model->options = &calm;
    bool ok = asked->jitter <= 0.0 || play_again(model, &PLAY_NO_CHANGE, &even, err);
    calm.straggler_count = 0;
    ok = ok && (asked->straggler_count == 0 || play_again(model, &PLAY_NO_CHANGE, &alike, err));
    calm.straggler_count = asked->straggler_count;
    model->slowed = asked->straggler_count > 0 ? even - alike : 0.0;
    model->shaken = result->seconds - even;
    ok = ok && find_reasons(model, result, err) && add_all_more(model, result, err);
    model->options = asked;
    return ok;
}

/* A straggler that is slow only after the run has ended is most likely a mistake. */
static void find_unreached(const struct sim_options *options, struct sim_result *result)
{
    for (int i = 0; i < options->straggler_count; i++)
        if (options->stragglers[i].from >= fmax(result->shown, result->seconds))
            result->unreached = options->stragglers[i];
}

static bool play(struct play_model *model, struct sim_result *result, struct error *err)
{
    if (!play_level(model, true, result, err))
        return false;
    result->level = model->layers ? "layers" : "passes";
    result->schedule = model->schedule->name;
    if (!(result->seconds > 0.0) || !isfinite(result->seconds))
        return error_set(err, ERROR_INPUT, "%s%sthe iteration takes no time: all seconds are 0",
                         model->plan->path ? model->plan->path : "", model->plan->path ? ": " : "");
    set_rates(model->plan, result);
    find_unreached(model->options, result);
    return model->options->plain || explain(model, result, err);
}

bool sim_play(struct plan *plan, const struct sim_options *options, struct sim_result *result,
              struct error *err)
{
    struct play_model model = {.pipeline_count = 0};
    *result = (struct sim_result){.fullest = -1};
    bool ok = play_price(plan, err) && play_model_make(&model, plan, options, &result->arena, err) &&
              play(&model, result, err);
    if (ok && options->order) {
        *options->order = model.pipelines[0].order;
        model.pipelines[0].order = (struct pass_order){.devices = 0};
    }
    play_model_release(&model);
    if (!ok)
        sim_result_release(result);
    return ok;
}

bool sim_play_seeds(struct plan *plan, const struct sim_options *options, int seeds,
                    struct sim_result *result, struct error *err)
{
    struct sim_options next = *options;
    double *times = seeds > 1 ? calloc((size_t)seeds, sizeof *times) : NULL;
    if (seeds <= 1)
        return true;
    bool ok = times || error_memory(err);
    next.plain = true;
    next.order = NULL;
    for (int i = 0; ok && i < seeds; i++) {
        struct sim_result other = {.seconds = result->seconds};
        next.seed = options->seed + (uint64_t)i;
        ok = i == 0 || (!stop_obeyed(err) && sim_play(plan, &next, &other, err));
        if (ok)
            times[i] = other.seconds;
        if (ok && i > 0)
            sim_result_release(&other);
    }
    if (ok) {
        sort_doubles(times, seeds);
        result->drawn = (struct sim_spread){.seeds = seeds,
                                            .low = quantile_of(times, seeds, 0.05),
                                            .median = quantile_of(times, seeds, 0.5),
                                            .high = quantile_of(times, seeds, 0.95)};
    }
    free(times);
    return ok;
}

void sim_result_release(struct sim_result *result)
{
    arena_release(&result->arena);
    *result = (struct sim_result){.fullest = -1};
}
