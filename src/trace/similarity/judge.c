/* What differs beyond the noise of repeats: docs/compare-definition.md has the problem and the method. */
#include "core/statistics.h"
#include "core/text.h"
#include "trace/similarity/math.h"
#include "trace/similarity/similarity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The noise that all components of a kind have in common counts as much as that many repeats of one component. */
#define COMMON_REPEATS 4

/* Differences that no two runs are free of, as standard deviations of a component, whatever the repeats say. Times: a
 * factor of 1.15 in a range of three decades, which the clock rate of a processor explains. */
#define TIME_NOISE  0.02
#define OTHER_NOISE 0.005

#define LOSS 0.00005 /* less is not printed */

#define FAMILIES 2 /* components and windows, which share the false alarms */

static double noise_of_kind(enum similarity_kind kind)
{
    bool time = kind == SIMILARITY_LATENCY || kind == SIMILARITY_GAP || kind == SIMILARITY_RATE ||
                kind == SIMILARITY_DURATION || kind == SIMILARITY_SERIES_KIND;
    return time ? TIME_NOISE : OTHER_NOISE;
}

/* Calls that take longer stretch the run and thin the calls out, and larger ones move more bytes: such components
 * follow from others. */
static bool follows(const struct similarity_component *component)
{
    enum similarity_kind kind = component->kind;
    return kind == SIMILARITY_GAP || kind == SIMILARITY_RATE || kind == SIMILARITY_DURATION ||
           kind == SIMILARITY_SERIES_KIND ||
           (kind == SIMILARITY_COUNT && text_ends_with(component->name, ".bytes"));
}

/* ---- repeats ---- */

static bool is_like(const struct similarity_component *a, const struct similarity_component *b)
{
    return a->kind == b->kind && a->of == b->of && a->part == b->part && a->tenth == b->tenth &&
           strcmp(a->name, b->name) == 0;
}

/* Adds the distances of a pair of repeats to the components that they have in common with `list`. Both lists have
 * one order, so that the next one is looked for behind the last. fmin ignores a floor that is not known yet. */
static void add_distances(struct similarity_component *list, size_t count,
                          const struct similarity_component *repeats, size_t repeat_count)
{
    for (size_t i = 0, next = 0; i < count; i++) {
        size_t at = next;
        while (at < repeat_count && !is_like(&list[i], &repeats[at]))
            at++;
        if (at == repeat_count)
            continue;
        list[i].floor = fmin(list[i].floor, repeats[at].value);
        list[i].squares += (1 - repeats[at].value) * (1 - repeats[at].value);
        list[i].pairs++;
        next = at + 1;
    }
}

/* Returns the mean square of the distances among repeats, of all components of one kind by their calls: rare calls
 * come by chance. (Those of order have none in common: repeats may shuffle files, and read each from its beginning.) */
static double common_square(const struct similarity_component *list, size_t count, enum similarity_kind kind)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == kind && list[i].pairs > 0) {
            sum += list[i].calls * list[i].squares / list[i].pairs;
            weights += list[i].calls;
        }
    return weights > 0 ? sum / weights : 0;
}

static int by_z(const void *left, const void *right)
{
    const struct similarity_component *const *a = left, *const *b = right;
    return ((*a)->z < (*b)->z) - ((*a)->z > (*b)->z);
}

/* Sets p of a family of components by Holm's method; of a few calls only their number and bytes are judged. */
static bool judge(struct similarity_component *list, size_t count, size_t repeats, const double *weights)
{
    struct similarity_component **order = calloc(count + 1, sizeof *order);
    double common[SIMILARITY_KINDS], before = 0;
    int own = (int)fmin((double)repeats - 1, 1000);
    if (!order)
        return false;
    for (int kind = 0; kind < SIMILARITY_KINDS; kind++)
        common[kind] = kind == SIMILARITY_ORDER ? 0 : common_square(list, count, (enum similarity_kind)kind);
    size_t judged = 0;
    for (size_t i = 0; i < count; i++) {
        struct similarity_component *component = &list[i];
        double square =
            component->pairs > 0 ? component->squares / component->pairs : common[component->kind];
        double shared = (COMMON_REPEATS * common[component->kind] + own * square) / (COMMON_REPEATS + own);
        double least = noise_of_kind(component->kind), one = 1 / fmax(1, component->calls);
        bool sampled = least == TIME_NOISE && text_ends_with(component->name, ".ks");
        component->z =
            (1 - component->value) / sqrt(fmax(square, shared) + least * least + (sampled ? one : one * one));
        bool enough = component->calls >= SIMILARITY_TENTH_CALLS || component->kind == SIMILARITY_COUNT;
        if (enough && weights[component->kind] > 0)
            order[judged++] = component;
    }
    qsort(order, judged, sizeof *order, by_z);
    for (size_t i = 0; i < judged; i++) {
        double p = FAMILIES * (double)(judged - i) * student_tail(order[i]->z, COMMON_REPEATS + own);
        before = order[i]->p = fmin(1, fmax(before, p));
    }
    free(order);
    return true;
}

bool similarity_add_floor(struct similarity *result, const struct similarity_trace *repeats, size_t count,
                          const struct similarity_options *options, struct error *err)
{
    struct similarity_options plain = *options;
    plain.replicates = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            struct similarity pair = {0};
            bool done = similarity_compare(&repeats[i], &repeats[j], &plain, &pair, err);
            if (done) {
                result->floor = fmin(result->floor, pair.value);
                add_distances(result->components, result->count, pair.components, pair.count);
                add_distances(result->windows, result->window_count, pair.windows, pair.window_count);
            }
            similarity_release(&pair);
            if (!done)
                return false;
        }
    }
    return (judge(result->components, result->count, count, options->weights) &&
            judge(result->windows, result->window_count, count, options->weights)) ||
           error_memory(err);
}

/* ---- the worst ---- */

bool similarity_is_beyond(const struct similarity_component *component)
{
    return component && component->p < SIMILARITY_ALARM;
}

/* Is a to be named rather than b? Of what is beyond the noise, causes come before what follows from them. */
static bool is_worse(const struct similarity_component *a, const struct similarity_component *b)
{
    bool beyond = similarity_is_beyond(a);
    if (beyond != similarity_is_beyond(b))
        return beyond;
    if (beyond && follows(a) != follows(b))
        return follows(b);
    if (isnan(a->p) != isnan(b->p))
        return isnan(b->p);
    if (!isnan(a->p))
        return a->z > b->z;
    return a->weight * (1 - a->value) > b->weight * (1 - b->value);
}

static const struct similarity_component *worst_of(const struct similarity_component *list, size_t count)
{
    const struct similarity_component *worst = NULL;
    for (size_t i = 0; i < count; i++)
        if (list[i].value < 1 - LOSS && (similarity_is_beyond(&list[i]) || list[i].weight > 0) &&
            (!worst || is_worse(&list[i], worst)))
            worst = &list[i];
    return worst;
}

const struct similarity_component *similarity_worst(const struct similarity *result)
{
    return worst_of(result->components, result->count);
}

const struct similarity_component *similarity_worst_window(const struct similarity *result)
{
    return worst_of(result->windows, result->window_count);
}

bool similarity_is_within_noise(const struct similarity *result)
{
    return !similarity_is_beyond(similarity_worst(result)) &&
           !similarity_is_beyond(similarity_worst_window(result));
}
