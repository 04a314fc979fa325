#include "elastic/goodput.h"

#include "core/statistics.h"
#include "core/stop.h"
#include "elastic/policy/play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Memory of one thread. */
struct seat {
    struct failure_trace trace;
    struct policy_state state;
    struct error error;
    bool failed;
};

struct measuring {
    const struct elastic_variant *variants;
    int count;
    const struct failure_source *source;
    struct seat *seats;
    struct elastic_result *results; /* [seed * count + variant] */
};

static void play_seeds(void *context, size_t first, size_t last, int thread)
{
    struct measuring *measuring = context;
    const struct failure_source *source = measuring->source;
    struct seat *seat = &measuring->seats[thread];
    for (size_t seed = first; seed < last && !seat->failed; seed++) {
        const struct failure_trace *trace = source->trace ? &source->trace[source->model ? 0 : seed] : NULL;
        if (source->model) {
            seat->failed = !failures_draw(&seat->trace, source->model, source->horizon, source->seed + seed,
                                          &seat->error);
            trace = &seat->trace;
        }
        for (int i = 0; i < measuring->count && !seat->failed; i++)
            elastic_play(measuring->variants[i].policy, &measuring->variants[i].setup, trace, &seat->state,
                         NULL, &measuring->results[seed * (size_t)measuring->count + (size_t)i]);
    }
}

static bool make_seats(struct seat *seats, int count, int nodes, struct error *err)
{
    for (int i = 0; i < count; i++)
        if (!policy_state_make(&seats[i].state, nodes, err))
            return false;
    return true;
}

static void release_seats(struct seat *seats, int count)
{
    for (int i = 0; seats && i < count; i++) {
        failures_release(&seats[i].trace);
        policy_state_release(&seats[i].state);
    }
    free(seats);
}

static double trained(const struct measuring *measuring, int variant, int seed)
{
    const struct elastic_result *result =
        &measuring->results[(size_t)seed * (size_t)measuring->count + (size_t)variant];
    double horizon = 0;
    for (int i = 0; i < ELASTIC_CAUSE_COUNT; i++)
        horizon += result->seconds[i];
    return result->seconds[ELASTIC_TRAINED] / horizon;
}

/* Sums a variant's results in the order of seeds. */
static void sum_up(const struct measuring *measuring, int variant, int seeds, double *values,
                   struct goodput *goodput)
{
    memset(goodput, 0, sizeof *goodput);
    goodput->seeds = seeds;
    for (int seed = 0; seed < seeds; seed++) {
        const struct elastic_result *result =
            &measuring->results[(size_t)seed * (size_t)measuring->count + (size_t)variant];
        double horizon = 0;
        for (int i = 0; i < ELASTIC_CAUSE_COUNT; i++)
            horizon += result->seconds[i];
        for (int i = 0; i < ELASTIC_CAUSE_COUNT; i++)
            goodput->share[i] += result->seconds[i] / horizon;
        values[seed] = trained(measuring, variant, seed);
        goodput->mean += values[seed];
        goodput->horizon += horizon;
        goodput->losses += (double)result->losses;
        goodput->restarts += (double)result->restarts;
        goodput->changes += (double)result->changes;
        goodput->saves += (double)result->saves;
        goodput->slow += (double)result->slow;
    }
    double *sums[] = {&goodput->mean,    &goodput->horizon, &goodput->losses, &goodput->restarts,
                      &goodput->changes, &goodput->saves,   &goodput->slow};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        *sums[i] /= seeds;
    for (int i = 0; i < ELASTIC_CAUSE_COUNT; i++)
        goodput->share[i] /= seeds;
    sort_doubles(values, seeds);
    goodput->low = quantile_of(values, seeds, 0.05);
    goodput->high = quantile_of(values, seeds, 0.95);
}

/* How far each variant lies behind the best one, run by run. */
static void compare(const struct measuring *measuring, int seeds, double *values, struct goodput *results)
{
    int best = 0;
    for (int i = 1; i < measuring->count; i++)
        best = results[i].mean > results[best].mean ? i : best;
    for (int i = 0; i < measuring->count; i++) {
        for (int seed = 0; seed < seeds; seed++)
            values[seed] = trained(measuring, best, seed) - trained(measuring, i, seed);
        sort_doubles(values, seeds);
        results[i].behind = results[best].mean - results[i].mean;
        results[i].behind_low = quantile_of(values, seeds, 0.05);
        results[i].behind_high = quantile_of(values, seeds, 0.95);
    }
}

static bool check_question(const struct elastic_variant *variants, int count,
                           const struct failure_source *source, struct error *err)
{
    int nodes = source->model ? source->model->nodes : source->trace->nodes;
    if (source->model && (source->seeds < 1 || source->seeds > GOODPUT_MAX_SEEDS))
        return error_set(err, ERROR_INPUT, "elastic: expected 1 to %d seeds, found %d", GOODPUT_MAX_SEEDS,
                         source->seeds);
    for (int i = 0; i < count; i++) {
        if (variants[i].setup.rates->nodes != nodes)
            return error_set(err, ERROR_INPUT, "elastic: the failures are of %d nodes, but the job has %d",
                             nodes, variants[i].setup.rates->nodes);
        if (!elastic_setup_check(&variants[i].setup, err))
            return false;
    }
    return true;
}

bool goodput_measure(const struct elastic_variant *variants, int count, const struct failure_source *source,
                     struct parallel *pool, struct goodput *results, struct error *err)
{
    if (count < 1 || !check_question(variants, count, source, err))
        return count < 1; /* no question, no answer */
    int given = source->model ? source->seeds : source->traces, seeds = given > 1 ? given : 1;
    int threads = pool ? parallel_threads(pool) : 1;
    struct measuring measuring = {.variants = variants,
                                  .count = count,
                                  .source = source,
                                  .seats = calloc((size_t)threads, sizeof *measuring.seats),
                                  .results =
                                      calloc((size_t)seeds * (size_t)count, sizeof *measuring.results)};
    double *values = calloc((size_t)seeds, sizeof *values);
    bool ok = (measuring.seats && measuring.results && values) || error_memory(err);
    ok = ok && make_seats(measuring.seats, threads, variants[0].setup.rates->nodes, err);
    if (ok)
        parallel_while(pool, (size_t)seeds, 1, play_seeds, stop_unwanted, &measuring);
    for (int i = 0; ok && i < threads; i++)
        if (measuring.seats[i].failed) {
            *err = measuring.seats[i].error;
            ok = false;
        }
    for (int i = 0; ok && i < count; i++)
        sum_up(&measuring, i, seeds, values, &results[i]);
    if (ok)
        compare(&measuring, seeds, values, results);
    release_seats(measuring.seats, threads);
    free(measuring.results);
    free(values);
    return ok;
}

/* ---- the best interval of saves ---- */

#define GRID        25
#define WIDE        6.0 /* the first grid reaches from the guess / WIDE to the guess * WIDE */
#define NARROW      2.0
#define MIN_GOODPUT 1e-6

double goodput_save_seconds(const struct elastic_variant *variant)
{
    const struct elastic_costs *costs = &variant->setup.costs;
    return variant->policy->saving == POLICY_SAVES ? costs->save_block : costs->copy_block;
}

double goodput_least_interval(const struct elastic_variant *variant)
{
    double least = fmax(variant->setup.rates->full, 1e-3);
    return variant->policy->saving == POLICY_COPIES ? fmax(least, variant->setup.costs.save_write) : least;
}

bool goodput_loss_rate(const struct failure_source *source, double *rate, struct error *err)
{
    struct failure_trace drawn = {0};
    const struct failure_trace *trace = source->trace;
    if (source->model) {
        if (!failures_draw(&drawn, source->model, source->horizon, source->seed, err))
            return false;
        trace = &drawn;
    }
    int losses = 0;
    for (int i = 0; i < trace->count; i++)
        losses += !trace->events[i].returned;
    *rate = losses / trace->horizon;
    failures_release(&drawn);
    return true;
}

/* Fits y = a + b/x + c x by least squares; x is scaled to about 1. Returns sqrt(b / c), where y is least;
 * 0: nowhere. */
static double fitted_optimum(const double *x, const double *y, int count, double scale)
{
    double m[3][4] = {{0}};
    for (int i = 0; i < count; i++) {
        const double terms[] = {1, scale / x[i], x[i] / scale, y[i]};
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++)
                m[r][c] += terms[r] * terms[c];
    }
    for (int r = 0; r < 3; r++) {
        int pivot = r;
        for (int k = r + 1; k < 3; k++)
            if (fabs(m[k][r]) > fabs(m[pivot][r]))
                pivot = k;
        if (fabs(m[pivot][r]) < 1e-12)
            return 0;
        for (int c = 0; c < 4; c++) {
            double swap = m[r][c];
            m[r][c] = m[pivot][c];
            m[pivot][c] = swap;
        }
        for (int k = 0; k < 3; k++) {
            double factor = k == r ? 0 : m[k][r] / m[r][r];
            for (int c = 0; c < 4; c++)
                m[k][c] -= factor * m[r][c];
        }
    }
    double b = m[1][3] / m[1][1], c = m[2][3] / m[2][2];
    return b > 0 && c > 0 ? scale * sqrt(b / c) : 0;
}

/* Measures a grid of intervals around `guess`, and moves the guess to the optimum. */
static bool move_guess(const struct elastic_variant *variant, const struct failure_source *source,
                       struct parallel *pool, double reach, double *guess, struct error *err)
{
    struct elastic_variant variants[GRID];
    struct goodput results[GRID];
    double x[GRID], y[GRID];
    int best = 0, count = 0;
    for (int i = 0; i < GRID; i++) {
        variants[i] = *variant;
        variants[i].setup.costs.interval = *guess * pow(reach, 2.0 * i / (GRID - 1) - 1);
    }
    if (!goodput_measure(variants, GRID, source, pool, results, err))
        return false;
    for (int i = 0; i < GRID; i++) {
        if (results[i].mean > results[best].mean)
            best = i;
        if (results[i].mean < MIN_GOODPUT)
            continue;
        x[count] = variants[i].setup.costs.interval;
        y[count++] = 1 / results[i].mean;
    }
    double optimum = count > 3 ? fitted_optimum(x, y, count, *guess) : 0;
    double low = variants[0].setup.costs.interval, high = variants[GRID - 1].setup.costs.interval;
    *guess = optimum >= low && optimum <= high ? optimum : variants[best].setup.costs.interval;
    return true;
}

bool goodput_best_interval(const struct elastic_variant *variant, const struct failure_source *source,
                           struct parallel *pool, double *interval, struct goodput *result, struct error *err)
{
    struct elastic_variant best = *variant;
    double rate, save = goodput_save_seconds(variant), least = goodput_least_interval(variant);
    if (!goodput_loss_rate(source, &rate, err))
        return false;
    *interval = rate <= 0 ? INFINITY : save <= 0 ? least : fmax(sqrt(2 * save / rate), least);
    if (rate > 0 && save > 0) {
        if (!move_guess(variant, source, pool, WIDE, interval, err))
            return false;
        *interval = fmax(*interval, least);
        if (!move_guess(variant, source, pool, NARROW, interval, err))
            return false;
        *interval = fmax(*interval, least);
    }
    best.setup.costs.interval = *interval;
    return goodput_measure(&best, 1, source, pool, result, err);
}

/* ---- the best number of spares ---- */

#define SPARES_GRID 64

/* Measures numbers of spares, ascending, and keeps the best. */
static bool try_spares(const struct elastic_variant *variant, const struct failure_source *source,
                       struct parallel *pool, const int *spares, int count, int *best, struct goodput *result,
                       struct error *err)
{
    struct elastic_variant variants[SPARES_GRID] = {*variant};
    struct goodput results[SPARES_GRID];
    for (int i = 0; i < count; i++) {
        variants[i] = *variant;
        variants[i].setup.spares = spares[i];
        variants[i].setup.need = 0;
    }
    if (!goodput_measure(variants, count, source, pool, results, err))
        return false;
    for (int i = 0; i < count; i++)
        if (*best < 0 || results[i].mean > result->mean ||
            (results[i].mean >= result->mean && spares[i] < *best)) {
            *best = spares[i];
            *result = results[i];
        }
    return true;
}

bool goodput_best_spares(const struct elastic_variant *variant, const struct failure_source *source,
                         struct parallel *pool, int *spares, struct goodput *result, struct error *err)
{
    int tried[SPARES_GRID], count = 0, nodes = variant->setup.rates->nodes, best = -1;
    for (int next = 0; next < nodes && count < SPARES_GRID; next += 1 + next / 8)
        tried[count++] = next;
    if (!try_spares(variant, source, pool, tried, count, &best, result, err))
        return false;
    int first = best - best / 8, last = best + best / 8, step = (last - first) / SPARES_GRID + 1;
    count = 0;
    for (int next = first; next <= last && next < nodes && count < SPARES_GRID; next += step)
        tried[count++] = next;
    if (count > 1 && !try_spares(variant, source, pool, tried, count, &best, result, err))
        return false;
    *spares = best;
    return true;
}
