#include "trace/similarity/similarity.h"
#include "core/random.h"
#include "core/stop.h"
#include "core/vector.h"
#include "trace/similarity/math.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const similarity_kind_names[SIMILARITY_KINDS + 1] = {
    "size", "latency", "inter-arrival", "rate", "count", "order", "duration", "series", NULL,
};

const double similarity_kind_weights[SIMILARITY_KINDS] = {2, 1, 1, 2, 2, 1, 1, 0.5};

#define RANGE SIMILARITY_RANGE

/* The resolution of times, in decades: the same work varies by a quarter with the processor's clock rate
 * and its neighbours. */
#define TIME_RESOLUTION 0.1

/* A resample of more would cost time and tell nothing: the spread of fewer is scaled by the root of the
 * counts. */
#define MAX_DRAWN 2048

/* One comparison in progress. */
struct comparison {
    const struct similarity_trace *a, *b;
    const struct similarity_options *options;
    struct similarity *result;
    double *draws_a, *draws_b; /* MAX_DRAWN, or a curve */
    uint32_t *ranks;           /* of the common files in b, by their order in a; then as much space twice */
    uint32_t *data_ranks;      /* of those of data, behind them; then as much space */
    size_t common, data;
    uint64_t random;
    int of; /* of the components that come next */
    bool of_bytes;
    double calls;
};

/* Adds a component with empty replicates; NULL: out of memory. */
static struct similarity_component *add(struct comparison *at, enum similarity_kind kind, const char *name,
                                        const char *measure, double weight, double value)
{
    struct similarity *result = at->result;
    size_t replicates = (size_t)at->options->replicates;
    if (!VECTOR_ROOM(result->components, result->capacity, result->count + 1) ||
        !VECTOR_ROOM(result->replicates, result->replicate_capacity, (result->count + 1) * replicates + 1))
        return NULL;
    for (size_t i = 0; i < replicates; i++)
        result->replicates[result->count * replicates + i] = value;
    struct similarity_component *component = &result->components[result->count++];
    *component = (struct similarity_component){.kind = kind,
                                               .of = at->of,
                                               .of_bytes = at->of_bytes,
                                               .weight = weight,
                                               .value = value,
                                               .low = replicates ? value : NAN,
                                               .high = replicates ? value : NAN,
                                               .calls = at->calls,
                                               .floor = NAN,
                                               .p = NAN};
    snprintf(component->name, sizeof component->name, "%s%s%s", name, *name && *measure ? "." : "", measure);
    return component;
}

static double *replicates_of(const struct comparison *at, const struct similarity_component *component)
{
    return &at->result
                ->replicates[(size_t)(component - at->result->components) * (size_t)at->options->replicates];
}

/* Gets the 2.5th and the 97.5th percentile; the interval contains the value itself. */
static void interval(const double *values, int count, double *space, double value, double *low, double *high)
{
    if (count == 0)
        return;
    memcpy(space, values, (size_t)count * sizeof *values);
    similarity_sort(space, (size_t)count);
    *low = fmax(0, fmin(value, space[(int)(0.025 * (count - 1))]));
    *high = fmin(1, fmax(value, space[(int)ceil(0.975 * (count - 1))]));
}

/* Moves the replicates so that their mean is the component's value, since resamples differ more than the
 * data they are drawn from. Where only `share` of the values was drawn, they spread too far by 1 / √share. */
static void settle(struct comparison *at, struct similarity_component *component, double share)
{
    int count = at->options->replicates;
    double *values = replicates_of(at, component), mean = 0;
    for (int i = 0; i < count; i++)
        mean += values[i] / count;
    for (int i = 0; i < count; i++)
        values[i] = component->value + (values[i] - mean) * sqrt(share);
}

/* ---- distributions ---- */

static bool add_distribution(struct comparison *at, enum similarity_kind kind, const char *name,
                             double weight, const struct similarity_values *a,
                             const struct similarity_values *b)
{
    bool both = a->count > 0 && b->count > 0;
    double resolution = kind == SIMILARITY_LATENCY || kind == SIMILARITY_GAP ? TIME_RESOLUTION : 0;
    double ks = both ? similarity_ks(a->items, a->count, b->items, b->count, resolution) : 0;
    double near = both ? similarity_wasserstein(a->items, a->count, b->items, b->count, RANGE) : 0;
    if (!add(at, kind, name, "ks", weight, ks) || !add(at, kind, name, "wasserstein", weight, near))
        return false;
    if (!both)
        return true;
    bool drawn = a->seen > (int64_t)a->count || b->seen > (int64_t)b->count;
    size_t a_drawn = a->count < MAX_DRAWN ? a->count : MAX_DRAWN;
    size_t b_drawn = b->count < MAX_DRAWN ? b->count : MAX_DRAWN;
    struct similarity_component *last = &at->result->components[at->result->count - 1];
    last[-1].drawn = last->drawn = drawn;
    double *ks_values = replicates_of(at, last - 1), *near_values = replicates_of(at, last);
    for (int i = 0; i < at->options->replicates && !stop_wanted(); i++) {
        similarity_draw(&at->random, a->items, a->count, at->draws_a, a_drawn);
        similarity_draw(&at->random, b->items, b->count, at->draws_b, b_drawn);
        ks_values[i] = similarity_ks(at->draws_a, a_drawn, at->draws_b, b_drawn, resolution);
        near_values[i] = similarity_wasserstein(at->draws_a, a_drawn, at->draws_b, b_drawn, RANGE);
    }
    double share = fmax((double)a_drawn / (double)a->count, (double)b_drawn / (double)b->count);
    settle(at, last - 1, share);
    settle(at, last, share);
    return true;
}

/* Leaves out a quantity that one of the traces did not record; a class that one of them lacks has
 * similarity 0. */
static bool add_quantity(struct comparison *at, enum similarity_kind kind, int stream, double weight,
                         const struct similarity_values *a, const struct similarity_values *b)
{
    const struct similarity_stream *in_a = &at->a->streams[stream], *in_b = &at->b->streams[stream];
    bool a_lacks = a->count == 0 && in_a->ops > 0, b_lacks = b->count == 0 && in_b->ops > 0;
    if ((a->count == 0 && b->count == 0) || a_lacks || b_lacks)
        return true;
    return add_distribution(at, kind, similarity_stream_name(stream), weight, a, b);
}

/* ---- curves ---- */

/* A recorded curve. Shaken, its windows are normal around their values. */
struct curve {
    const double *mean, *variance;
};

static void take(struct comparison *at, struct curve curve, int parts, bool shaken, double *smooth)
{
    double windows[SIMILARITY_CURVE];
    for (int i = 0; i < parts * SIMILARITY_BINS; i++)
        windows[i] = !shaken ? curve.mean[i]
                             : fmax(0, curve.mean[i] + sqrt(curve.variance[i]) * random_normal(&at->random));
    similarity_smooth(windows, smooth, parts, SIMILARITY_BINS, SIMILARITY_BAND);
}

static void compare_curves(struct comparison *at, struct curve a, struct curve b, int parts, bool shaken,
                           double *correlation, double *warped)
{
    take(at, a, parts, shaken, at->draws_a);
    take(at, b, parts, shaken, at->draws_b);
    *correlation = similarity_correlation(at->draws_a, at->draws_b, parts, SIMILARITY_BINS, SIMILARITY_BAND);
    *warped = similarity_warped(at->draws_a, at->draws_b, parts, SIMILARITY_BINS, SIMILARITY_BAND);
}

/* Compares curves over the phases where both traces have some, else over the whole run. */
static bool add_curve(struct comparison *at, enum similarity_kind kind, const char *name, const char *what,
                      double weight, struct curve a, struct curve b)
{
    int first, parts = similarity_parts(at->a, at->b, &first), from = first * SIMILARITY_BINS;
    char correlation[32], warped[32];
    double alike, near;
    snprintf(correlation, sizeof correlation, "%scorrelation", what);
    snprintf(warped, sizeof warped, "%sdtw", what);
    a = (struct curve){a.mean + from, a.variance + from};
    b = (struct curve){b.mean + from, b.variance + from};
    compare_curves(at, a, b, parts, false, &alike, &near);
    if (!add(at, kind, name, correlation, weight, alike) || !add(at, kind, name, warped, weight, near))
        return false;
    struct similarity_component *last = &at->result->components[at->result->count - 1];
    double *alike_values = replicates_of(at, last - 1), *near_values = replicates_of(at, last);
    for (int i = 0; i < at->options->replicates && !stop_wanted(); i++)
        compare_curves(at, a, b, parts, true, &alike_values[i], &near_values[i]);
    settle(at, last - 1, 1);
    settle(at, last, 1);
    return true;
}

/* Returns the mean over the whole run, of the trace where it is larger. */
static double level(const struct comparison *at, int series)
{
    const struct similarity_curve *a = &at->a->series[series], *b = &at->b->series[series];
    double a_sum = 0, b_sum = 0;
    for (int i = 0; a->known && b->known && i < SIMILARITY_BINS; i++) {
        a_sum += a->mean[i] / SIMILARITY_BINS;
        b_sum += b->mean[i] / SIMILARITY_BINS;
    }
    return fmax(a_sum, b_sum);
}

/* Processors, disks, GPUs and their memory count the same; within one of these, series by their levels. If
 * both traces have the run's own use of a resource, the use by the whole machine is left out. */
static bool add_series(struct comparison *at)
{
    enum { RESOURCES = 4 };
    double levels[SIMILARITY_SERIES], sums[RESOURCES] = {0};
    bool own[RESOURCES] = {0};
    for (int i = 0; i < SIMILARITY_SERIES; i++)
        own[similarity_series[i].resource] |=
            similarity_series[i].own && at->a->series[i].known && at->b->series[i].known;
    for (int i = 0; i < SIMILARITY_SERIES; i++) {
        int resource = similarity_series[i].resource;
        levels[i] = own[resource] == similarity_series[i].own ? level(at, i) : 0;
        levels[i] = levels[i] >= similarity_series[i].min_mean ? levels[i] : 0;
        sums[resource] += levels[i];
    }
    for (int i = 0; i < SIMILARITY_SERIES; i++) {
        const struct similarity_curve *a = &at->a->series[i], *b = &at->b->series[i];
        at->of = i;
        if (levels[i] > 0 &&
            !add_curve(at, SIMILARITY_SERIES_KIND, similarity_series[i].name, "",
                       levels[i] / sums[similarity_series[i].resource], (struct curve){a->mean, a->variance},
                       (struct curve){b->mean, b->variance}))
            return false;
    }
    return true;
}

/* ---- numbers ---- */

static bool add_ratio(struct comparison *at, enum similarity_kind kind, const char *name, const char *measure,
                      double weight, double a, double a_variance, double b, double b_variance)
{
    struct similarity_component *component = add(at, kind, name, measure, weight, similarity_ratio(a, b));
    if (!component)
        return false;
    double *values = replicates_of(at, component);
    for (int i = 0; i < at->options->replicates; i++) {
        /* in two statements, since compilers differ in the order of arguments */
        double of_a = fmax(0, a + sqrt(a_variance) * random_normal(&at->random));
        double of_b = fmax(0, b + sqrt(b_variance) * random_normal(&at->random));
        values[i] = similarity_ratio(of_a, of_b);
    }
    settle(at, component, 1);
    return true;
}

/* 1 − |p − q| of two shares. */
static bool add_share(struct comparison *at, const char *name, int64_t a_hits, int64_t a_count,
                      int64_t b_hits, int64_t b_count)
{
    if (a_count == 0 || b_count == 0)
        return true;
    double p = (double)a_hits / (double)a_count, q = (double)b_hits / (double)b_count;
    double p_deviation = sqrt(p * (1 - p) / (double)a_count),
           q_deviation = sqrt(q * (1 - q) / (double)b_count);
    struct similarity_component *component = add(at, SIMILARITY_ORDER, name, "", 1, 1 - fabs(p - q));
    if (!component)
        return false;
    double *values = replicates_of(at, component);
    for (int i = 0; i < at->options->replicates; i++) {
        double of_p = p + p_deviation * random_normal(&at->random);
        double of_q = q + q_deviation * random_normal(&at->random);
        values[i] = 1 - fabs(of_p - of_q);
    }
    settle(at, component, 1);
    return true;
}

static bool add_durations(struct comparison *at)
{
    bool phased = at->a->phased && at->b->phased;
    for (int part = 0; part < (phased ? SIMILARITY_PARTS : 1); part++) {
        double a = (double)at->a->parts[part].length_ns, b = (double)at->b->parts[part].length_ns;
        if (a + b > 0 && !add(at, SIMILARITY_DURATION, similarity_part_names[part], "", fmax(a, b),
                              similarity_ratio(a, b)))
            return false;
    }
    return true;
}

/* Of kernels: names and their order, and how long computation and communication run, and at the same time. */
static bool add_kernels(struct comparison *at)
{
    const struct similarity_kernels *a = &at->a->kernels, *b = &at->b->kernels;
    const struct similarity_busy *x = &a->busy, *y = &b->busy;
    const struct {
        const char *name;
        int64_t a, b;
    } parts[] = {{"compute", x->compute, y->compute},
                 {"communication", x->communication, y->communication},
                 {"both", x->both, y->both},
                 {"idle", x->idle, y->idle}};
    if (a->ops == 0 || b->ops == 0)
        return true;
    if (!add(at, SIMILARITY_COUNT, "kernels", "", (double)(a->ops + b->ops) / 2,
             similarity_common_kernels(a, b)) ||
        !add(at, SIMILARITY_ORDER, "kernels", "", 1, similarity_common_pairs(a, b)))
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].a + parts[i].b > 0 && !add(at, SIMILARITY_DURATION, parts[i].name, "",
                                                (double)(parts[i].a > parts[i].b ? parts[i].a : parts[i].b),
                                                similarity_ratio((double)parts[i].a, (double)parts[i].b)))
            return false;
    return true;
}

/* ---- order ---- */

struct pair {
    uint32_t a, b;
    bool data;
};

static int by_a(const void *left, const void *right)
{
    const struct pair *one = left, *other = right;
    return (one->a > other->a) - (one->a < other->a);
}

/* Finds the files that both traces access, by the ends of their paths, since data may lie in another
 * folder. Of several files with one end, the first are paired, then the second. Both lists are sorted. */
static bool find_common(struct comparison *at)
{
    const struct similarity_file *a = at->a->files, *b = at->b->files;
    const struct similarity_file *a_end = a + at->a->file_count, *b_end = b + at->b->file_count;
    size_t max = (at->a->file_count < at->b->file_count ? at->a->file_count : at->b->file_count) + 1;
    struct pair *pairs = calloc(max, sizeof *pairs);
    at->ranks = calloc(5 * max, sizeof *at->ranks);
    if (!pairs || !at->ranks) {
        free(pairs);
        return false;
    }
    while (a < a_end && b < b_end) {
        int order = strcmp(a->tail, b->tail);
        if (order == 0)
            pairs[at->common++] = (struct pair){a->rank, b->rank, a->data && b->data};
        a += order <= 0;
        b += order >= 0;
    }
    qsort(pairs, at->common, sizeof *pairs, by_a);
    at->data_ranks = at->ranks + 3 * max;
    for (size_t i = 0; i < at->common; i++) {
        at->ranks[i] = pairs[i].b;
        if (pairs[i].data)
            at->data_ranks[at->data++] = pairs[i].b;
    }
    free(pairs);
    at->result->common_files = at->common;
    return true;
}

/* Measures a resample of the files, in the order of a. */
static double resampled_order(struct comparison *at, size_t drawn)
{
    uint32_t *ranks = at->ranks + at->common, *space = ranks + at->common;
    for (size_t i = 0; i < drawn; i++)
        at->draws_b[i] = floor(random_uniform(&at->random) * (double)at->common);
    similarity_sort(at->draws_b, drawn);
    for (size_t i = 0; i < drawn; i++)
        ranks[i] = at->ranks[(size_t)at->draws_b[i]];
    return similarity_order(ranks, space, drawn);
}

static bool add_order(struct comparison *at)
{
    const struct similarity_trace *a = at->a, *b = at->b;
    if (!find_common(at) || !add_share(at, "sequential", a->sequential, a->steps, b->sequential, b->steps) ||
        !add_share(at, "revisits", a->revisits, a->visits, b->revisits, b->visits))
        return false;
    if (a->jumps.count > 0 && b->jumps.count > 0 &&
        !add_distribution(at, SIMILARITY_ORDER, "jumps", 0.5, &a->jumps, &b->jumps))
        return false;
    if (at->common < 2)
        return true;
    memcpy(at->ranks + at->common, at->ranks, at->common * sizeof *at->ranks);
    double value = similarity_order(at->ranks + at->common, at->ranks + 2 * at->common, at->common);
    double common = (double)at->common / (double)(a->file_count + b->file_count - at->common);
    struct similarity_component *component = add(at, SIMILARITY_ORDER, "files", "", common, value);
    if (!component)
        return false;
    size_t drawn = at->common < MAX_DRAWN ? at->common : MAX_DRAWN;
    double *values = replicates_of(at, component);
    for (int i = 0; i < at->options->replicates && !stop_wanted(); i++)
        values[i] = resampled_order(at, drawn);
    settle(at, component, (double)drawn / (double)at->common);
    return true;
}

/* The order of data files, without a weight in the similarity: libraries and configuration, of which programs open
 * more than of data, hide it in `files`. Names tell sorted files from shuffled ones where repeats shuffle each in
 * another way. */
static bool add_data_order(struct comparison *at)
{
    if (at->data >= SIMILARITY_DATA_FILES &&
        !add(at, SIMILARITY_ORDER, "data", "", 0,
             similarity_order(at->data_ranks, at->data_ranks + at->data, at->data)))
        return false;
    return isnan(at->a->ascending) || isnan(at->b->ascending) ||
           add(at, SIMILARITY_ORDER, "names", "", 0, 1 - fabs(at->a->ascending - at->b->ascending));
}

/* ---- all of it ---- */

static bool add_rate_of_bytes(struct comparison *at, const char *name, double weight,
                              const struct similarity_stream *a, const struct similarity_stream *b)
{
    at->of_bytes = true;
    bool done = add_curve(at, SIMILARITY_RATE, name, "bytes.", weight,
                          (struct curve){a->bytes_curve, a->squares_curve},
                          (struct curve){b->bytes_curve, b->squares_curve});
    at->of_bytes = false;
    return done;
}

/* Kernels count by their time: their number, as for calls, shared by time among classes. */
static double kernel_weight(const struct comparison *at, const struct similarity_stream *a,
                            const struct similarity_stream *b)
{
    double seconds[2] = {1e-9, 1e-9}; /* of all kernels */
    for (int i = SIMILARITY_KERNELS; i < SIMILARITY_STREAMS; i++) {
        seconds[0] += at->a->streams[i].seconds;
        seconds[1] += at->b->streams[i].seconds;
    }
    return fmax((double)at->a->kernels.ops, (double)at->b->kernels.ops) *
           fmax(a->seconds / seconds[0], b->seconds / seconds[1]);
}

static bool add_stream(struct comparison *at, int which)
{
    const struct similarity_stream *a = &at->a->streams[which], *b = &at->b->streams[which];
    const char *name = similarity_stream_name(which);
    double weight =
        which >= SIMILARITY_KERNELS ? kernel_weight(at, a, b) : fmax((double)a->ops, (double)b->ops);
    if (a->ops + b->ops == 0)
        return true;
    bool moves = a->bytes > 0 || b->bytes > 0;
    at->of = which;
    at->calls = fmax((double)a->ops, (double)b->ops);
    return add_quantity(at, SIMILARITY_SIZE, which, weight, &a->size, &b->size) &&
           add_quantity(at, SIMILARITY_LATENCY, which, weight, &a->latency, &b->latency) &&
           add_quantity(at, SIMILARITY_GAP, which, weight, &a->gap, &b->gap) &&
           add_curve(at, SIMILARITY_RATE, name, "ops.", weight, (struct curve){a->ops_curve, a->ops_curve},
                     (struct curve){b->ops_curve, b->ops_curve}) &&
           (!moves || add_rate_of_bytes(at, name, weight, a, b)) &&
           add_ratio(at, SIMILARITY_COUNT, name, "ops", weight, (double)a->ops, (double)a->ops,
                     (double)b->ops, (double)b->ops) &&
           (!moves || add_ratio(at, SIMILARITY_COUNT, name, "bytes", weight, a->bytes, a->squares, b->bytes,
                                b->squares));
}

static bool add_all(struct comparison *at)
{
    bool no_disks = at->a->calls_alone || at->b->calls_alone;
    for (int i = 0; i < SIMILARITY_STREAMS; i++)
        if (!(no_disks && i >= TRACE_CLASSES && i < SIMILARITY_KERNELS) && !add_stream(at, i))
            return false;
    at->of = -1;
    at->calls = (double)(at->a->rows > at->b->rows ? at->a->rows : at->b->rows);
    return add_order(at) && add_data_order(at) && add_durations(at) && add_kernels(at) && add_series(at);
}

/* Converts weights within a kind to shares of the total. */
static bool share_weights(struct similarity *result, const struct similarity_options *options,
                          struct error *err)
{
    double kinds[SIMILARITY_KINDS] = {0}, total = 0, sum = 0;
    for (size_t i = 0; i < result->count; i++)
        kinds[result->components[i].kind] += result->components[i].weight;
    for (int kind = 0; kind < SIMILARITY_KINDS; kind++)
        total += kinds[kind] > 0 ? options->weights[kind] : 0;
    if (total <= 0)
        return error_set(err, ERROR_INPUT, "the weights leave nothing to compare");
    for (size_t i = 0; i < result->count; i++) {
        struct similarity_component *component = &result->components[i];
        component->weight *= options->weights[component->kind] / kinds[component->kind] / total;
        sum += component->weight;
    }
    for (size_t i = 0; i < result->count; i++)
        result->components[i].weight /= sum;
    return true;
}

/* Returns the total of one replicate, or of the values themselves (-1). It is divided by the sum of
 * weights in the same order, so that components of 1 give 1. */
static double whole(const struct similarity *result, int replicate, int replicates)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < result->count; i++) {
        const struct similarity_component *component = &result->components[i];
        double value =
            replicate < 0 ? component->value : result->replicates[i * (size_t)replicates + (size_t)replicate];
        sum += component->weight * value;
        weights += component->weight;
    }
    return sum / weights;
}

static bool combine(struct comparison *at, struct error *err)
{
    struct similarity *result = at->result;
    int replicates = at->options->replicates;
    double *values = calloc(2 * (size_t)replicates + 1, sizeof *values);
    if (!values)
        return error_memory(err);
    for (size_t i = 0; i < result->count; i++) {
        struct similarity_component *component = &result->components[i];
        interval(&result->replicates[i * (size_t)replicates], replicates, values, component->value,
                 &component->low, &component->high);
    }
    result->value = whole(result, -1, 0);
    result->low = result->high = replicates > 0 ? result->value : NAN;
    for (int i = 0; i < replicates; i++)
        values[replicates + i] = whole(result, i, replicates);
    interval(values + replicates, replicates, values, result->value, &result->low, &result->high);
    free(values);
    return true;
}

static bool any_common(const struct similarity_trace *a, const struct similarity_trace *b)
{
    for (int i = 0; i < SIMILARITY_STREAMS; i++)
        if (a->streams[i].ops > 0 && b->streams[i].ops > 0)
            return true;
    return false;
}

bool similarity_compare(const struct similarity_trace *a, const struct similarity_trace *b,
                        const struct similarity_options *options, struct similarity *result,
                        struct error *err)
{
    struct comparison at = {.a = a, .b = b, .options = options, .result = result, .random = options->seed};
    *result = (struct similarity){.floor = NAN};
    if (!any_common(a, b))
        return error_set(err, ERROR_INPUT, "%s and %s have no class of event in common", a->path, b->path);
    at.draws_a = calloc(MAX_DRAWN, sizeof *at.draws_a);
    at.draws_b = calloc(MAX_DRAWN, sizeof *at.draws_b);
    bool done =
        at.draws_a && at.draws_b && add_all(&at) && similarity_add_windows(result, a, b, options->weights);
    free(at.draws_a);
    free(at.draws_b);
    free(at.ranks);
    if (!done)
        return error_memory(err);
    return share_weights(result, options, err) && combine(&at, err);
}

void similarity_release(struct similarity *result)
{
    free(result->components);
    free(result->windows);
    free(result->replicates);
    *result = (struct similarity){0};
}

double similarity_of_kind(const struct similarity *result, enum similarity_kind kind, double *value)
{
    double weight = 0, sum = 0;
    for (size_t i = 0; i < result->count; i++) {
        if (result->components[i].kind != kind)
            continue;
        weight += result->components[i].weight;
        sum += result->components[i].weight * result->components[i].value;
    }
    *value = weight > 0 ? sum / weight : 0;
    return weight;
}
