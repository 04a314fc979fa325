/* Steps of a recording without marks, by the period of its kernels and collectives.
 *
 * Activities of the busiest device are taken in the order of their launches, each as its name. P is a period if most
 * names come again P places later. Layers and micro-batches repeat as well, but not where they end: of all periods the
 * one with the fewest misfits counts, and the shortest with about as few, if the weights are updated in it. Candidates
 * are the distances at which runs of WINDOW names, and names alone, come again. Steps that have more or fewer
 * activities than others are followed: each begins near P places after the last one, where the names fit best.
 *
 * A step begins where the recording does, if it holds whole steps; else where the host pauses longest between two
 * launches (median over steps): it reads data, or waits for the loss. */
#include "core/hash.h"
#include "core/statistics.h"
#include "sim/replay/ranks.h"
#include "sim/replay/waits.h"
#include "trace/kernels.h"

#include <stdlib.h>

#define WINDOW     32
#define CANDIDATES 32
#define MAX_STEPS  3000
#define MIN_FIT    0.8 /* of names that come again */
#define SLACK      0.002

struct period {
    const struct replay *replay;
    uint32_t *order; /* activities of the device, by launch */
    size_t count, length;
    uint32_t *far; /* how often names come again at each distance */
    size_t *starts, start_count;
    double fit;
    struct error *err;
};

static int64_t launch_of(const struct period *period, size_t i)
{
    return replay_launched(period->replay, period->order[i]);
}

static int64_t done_at(const struct period *period, size_t i)
{
    const struct replay_activity *at = &period->replay->activities[period->order[i]];
    const struct replay_call *call = at->call >= 0 ? &period->replay->calls[at->call] : NULL;
    return call ? call->begin + call->duration : replay_end(period->replay, period->order[i]);
}

static uint32_t name_of(const struct period *period, size_t i)
{
    return period->replay->activities[period->order[i]].name;
}

static int by_launch(const void *a, const void *b, void *context)
{
    const struct period *period = context;
    const uint32_t *first = a, *second = b;
    int order = order_of(replay_launched(period->replay, *first), replay_launched(period->replay, *second));
    return order ? order : order_of(*first, *second);
}

/* Lists the activities of the device with most of them. */
static bool list(struct period *period)
{
    const struct replay *replay = period->replay;
    size_t best = 0, *counts = calloc(replay->stream_count + 1, sizeof *counts);
    period->order = malloc((replay->count + 1) * sizeof *period->order);
    if (!counts || !period->order) {
        free(counts);
        return error_memory(period->err);
    }
    for (size_t i = 0; i < replay->count; i++) {
        size_t first = 0; /* stream of that device */
        while (replay->streams[first].device != replay->streams[replay->activities[i].stream].device)
            first++;
        best = ++counts[first] > counts[best] ? first : best;
    }
    for (uint32_t i = 0; i < replay->count; i++)
        if (replay->streams[replay->activities[i].stream].device == replay->streams[best].device)
            period->order[period->count++] = i;
    free(counts);
    return sort_items_with(period->order, period->count, sizeof *period->order, by_launch, period,
                           period->err);
}

/* Counts the distances at which the same `width` names come again. */
static bool count_distances(struct period *period, size_t width)
{
    struct hash_map last = {0};
    bool done = true;
    for (size_t i = 0; done && i + width <= period->count; i++) {
        uint64_t hash = 0;
        for (size_t j = i; j < i + width; j++)
            hash = (hash ^ name_of(period, j)) * UINT64_C(0x9E3779B97F4A7C15) + (hash >> 29);
        int64_t *at = hash_map_place(&last, hash | 1);
        done = at || error_memory(period->err);
        if (done && *at > 0)
            period->far[i + 1 - (size_t)*at]++;
        if (done)
            *at = (int64_t)i + 1;
    }
    hash_map_release(&last);
    return done;
}

static double misfits(const struct period *period, size_t length)
{
    size_t unlike = 0, pairs = period->count - length;
    for (size_t i = 0; i < pairs; i++)
        unlike += name_of(period, i) != name_of(period, i + length);
    return (double)unlike / (double)pairs;
}

/* Where the recording has kernels of optimizers, most steps have some: else it is micro-batches that repeat. */
static bool has_updates(const struct period *period, size_t length)
{
    size_t with = 0, next = 0;
    for (size_t i = 0; period->replay->rules && i < period->count; i++) {
        const struct kernel_rule *rule = period->replay->rules[name_of(period, i)];
        if (rule && rule->class == CLASS_OPTIMIZER && i / length >= next) {
            next = i / length + 1;
            with++;
        }
    }
    return with == 0 || 3 * with * length >= 2 * period->count;
}

/* Chooses the period among the distances that explain most activities; length 0: none. */
static void choose(struct period *period)
{
    size_t lengths[CANDIDATES] = {0};
    double parts[CANDIDATES], best = 1;
    int count = 0;
    for (; count < CANDIDATES; count++) {
        uint64_t most = 0;
        for (size_t i = 2; i <= period->count / 2; i++) {
            uint64_t weight = (uint64_t)period->far[i] * i;
            if (weight > most && i * MAX_STEPS >= period->count) {
                most = weight;
                lengths[count] = i;
            }
        }
        if (most == 0)
            break;
        period->far[lengths[count]] = 0;
        parts[count] = has_updates(period, lengths[count]) ? misfits(period, lengths[count]) : 2;
        best = parts[count] < best ? parts[count] : best;
    }
    for (int i = 0; i < count; i++)
        if (parts[i] <= 1.25 * best + SLACK && (period->length == 0 || lengths[i] < period->length))
            period->length = lengths[i];
}

static size_t likeness(const struct period *period, size_t at, size_t model, size_t width)
{
    size_t alike = 0;
    for (size_t i = 0; i < width && at + i < period->count; i++)
        alike += name_of(period, at + i) == name_of(period, model + i);
    return alike;
}

/* Follows the steps from the first one that begins at `first`. */
static void follow(struct period *period, size_t first)
{
    size_t width = period->length < WINDOW ? period->length : WINDOW, at = first;
    period->start_count = 0;
    while (at < period->count) {
        period->starts[period->start_count++] = at;
        size_t next = at + period->length, best = next, reach = period->length / 4;
        size_t most = likeness(period, next, first, width);
        for (size_t off = 1; off <= reach && next + width <= period->count && most < width; off++)
            for (int side = 0; side < 2; side++) {
                size_t other = side ? next + off : next - off;
                size_t alike = likeness(period, other, first, width);
                if (alike > most) {
                    most = alike;
                    best = other;
                }
            }
        at = best;
    }
    if (period->count - period->starts[period->start_count - 1] + period->length / 8 < period->length)
        period->start_count--; /* a part of a step */
}

/* What share of all activities has, in its step, the place that it has in the middle one; and do names differ there? */
static bool fits(struct period *period)
{
    size_t model = period->starts[period->start_count / 2], alike = 0, whole = 0;
    bool differ = false;
    if (model + period->length > period->count)
        model = period->count - period->length;
    for (size_t i = 1; i < period->length; i++)
        differ |= name_of(period, model + i) != name_of(period, model);
    for (size_t i = 0; i < period->start_count; i++) {
        size_t rest = period->count - period->starts[i];
        whole += rest < period->length ? rest : period->length;
        alike += likeness(period, period->starts[i], model, period->length);
    }
    period->fit = (double)alike / (double)whole;
    return differ && period->start_count > 1 && period->fit >= MIN_FIT;
}

/* The place within a step before which the host pauses longest. */
static bool find_pause(struct period *period, size_t *place)
{
    size_t steps = period->start_count;
    int64_t longest = INT64_MIN, *pauses = malloc(steps * sizeof *pauses);
    if (!pauses)
        return error_memory(period->err);
    for (size_t at = 0; at < period->length; at++) {
        size_t count = 0;
        for (size_t i = 0; i < steps; i++) {
            size_t item = period->starts[i] + at;
            if (item > 0 && item < period->count)
                pauses[count++] = launch_of(period, item) - done_at(period, item - 1);
        }
        qsort(pauses, count, sizeof *pauses, order_int64s);
        if (count > 0 && pauses[count / 2] > longest) {
            longest = pauses[count / 2];
            *place = at;
        }
    }
    free(pauses);
    return true;
}

/* A step begins when the last call before its first launch has ended, with the marks of what the host then does. */
static int64_t begin_of(const struct period *period, size_t item, size_t *call, size_t *mark)
{
    const struct replay *replay = period->replay;
    int64_t launch = launch_of(period, item), free = INT64_MIN;
    for (; *call < replay->call_count && replay->calls[*call].begin < launch; ++*call) {
        const struct replay_call *at = &replay->calls[*call];
        int64_t end = at->begin + at->duration;
        free = end > free && end <= launch ? end : free;
    }
    if (item > 0 && free > INT64_MIN)
        return free;
    for (; *mark < replay->mark_count && replay->marks[*mark].begin < launch; ++*mark)
        if (replay->marks[*mark].thread >= 0)
            return replay->marks[*mark].begin;
    return launch;
}

static bool make(struct period *period, struct ranks_step **steps, size_t *count)
{
    const struct replay *replay = period->replay;
    size_t call = 0, mark = 0;
    *steps = calloc(period->start_count, sizeof **steps);
    if (!*steps)
        return error_memory(period->err);
    for (; *count < period->start_count; ++*count) {
        struct ranks_step *step = &(*steps)[*count];
        *step = (struct ranks_step){(int64_t)*count, begin_of(period, period->starts[*count], &call, &mark),
                                    0, -1, -1};
        if (*count > 0)
            step[-1].end = step->begin;
    }
    size_t last = period->starts[period->start_count - 1], next = last + period->length;
    struct ranks_step *end = &(*steps)[period->start_count - 1];
    if (next + period->length / 8 < period->count) {
        end->end = begin_of(period, next, &call, &mark);
        return true;
    }
    end->end = done_at(period, period->count - 1);
    for (size_t i = replay->call_count; i-- > 0 && replay->calls[i].begin >= end->begin;)
        if (replay->calls[i].begin + replay->calls[i].duration > end->end)
            end->end = replay->calls[i].begin + replay->calls[i].duration;
    return true;
}

static bool find(struct period *period, struct ranks_step **steps, size_t *count)
{
    size_t pause = 0;
    if (!list(period))
        return false;
    if (period->count < 8)
        return true;
    period->far = calloc(period->count + 1, sizeof *period->far);
    period->starts = malloc((period->count + 1) * sizeof *period->starts);
    if (!period->far || !period->starts)
        return error_memory(period->err);
    if (!count_distances(period, 1) ||
        (period->count > (size_t)2 * WINDOW && !count_distances(period, WINDOW)))
        return false;
    choose(period);
    if (period->length == 0)
        return true;
    follow(period, 0);
    if (!fits(period))
        return true;
    if (period->count % period->length > 0 && period->count != period->start_count * period->length) {
        if (!find_pause(period, &pause))
            return false;
        follow(period, pause);
        if (!fits(period))
            return true;
    }
    return make(period, steps, count);
}

bool ranks_period(const struct replay *replay, struct ranks_step **steps, size_t *count,
                  struct ranks_period *found, struct error *err)
{
    struct period period = {.replay = replay, .err = err};
    *steps = NULL;
    *count = 0;
    bool done = find(&period, steps, count);
    *found = (struct ranks_period){period.length, period.fit};
    free(period.order);
    free(period.far);
    free(period.starts);
    if (!done)
        free(*steps), *steps = NULL, *count = 0;
    return done;
}
