#include "explain/explain.h"

#include "core/statistics.h"
#include "core/vector.h"
#include "texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct explain_loss_words explain_loss_words[LOSS_KINDS] = {ROWS_explain_loss};

#define SMALL 20 /* a loss below this part of the time is none */

static bool add(struct explain *explain, size_t *capacity, struct explain_loss loss, struct error *err)
{
    return loss.time <= 0 || VECTOR_ADD(explain->losses, explain->loss_count, *capacity, loss) ||
           error_memory(err);
}

/* What each lane alone has of some shares; the lane with most, if that is two thirds of all at least. */
static int32_t lane_of_most(const struct explain *explain, const bool *shares, int64_t whole, int64_t *sum)
{
    int64_t most = 0;
    int32_t lane = -1;
    *sum = 0;
    for (size_t i = 0; i < explain->lane_count; i++) {
        int64_t own = 0;
        for (int share = 0; share < EXPLAIN_SHARES; share++)
            own += shares[share] ? explain->path.excess[i][share] : 0;
        *sum += own;
        if (own > most) {
            most = own;
            lane = (int32_t)i;
        }
    }
    return 3 * most >= 2 * (whole + *sum) && most > 0 ? lane : -1;
}

static int64_t compute_of(const struct explain *explain, size_t lane)
{
    int64_t sums[EXPLAIN_SHARES] = {0};
    const int64_t *bounds = explain->lanes[lane].bounds;
    explain_sums(&explain->lanes[lane].timeline, bounds[0], bounds[explain->step_count], sums);
    return sums[SHARE_COMPUTE] + sums[SHARE_COVERED];
}

bool explain_is_as_slow(const struct explain *explain, const struct explain_loss *loss, size_t lane)
{
    int64_t own = compute_of(explain, (size_t)loss->lane), apart = own - compute_of(explain, lane);
    return lane == (size_t)loss->lane ||
           (loss->several && llabs(apart) <= own / 100 && llabs(apart) <= loss->time / 2);
}

/* Compute that ranks have beyond the others. Several are slow that compute alike, if the rest computes less. */
static bool add_compute(struct explain *explain, size_t *capacity, struct error *err)
{
    const struct explain_path *path = &explain->path;
    struct explain_loss loss = {LOSS_STRAGGLER, 0, 0, -1, true}, jitter = {LOSS_JITTER, 0, -1, -1, false};
    int64_t sum = 0, alike = 0;
    double others = 0, count = 0;
    for (size_t i = 0; i < explain->lane_count; i++) {
        sum += path->excess[i][SHARE_COMPUTE];
        if (path->excess[i][SHARE_COMPUTE] > path->excess[loss.lane][SHARE_COMPUTE])
            loss.lane = (int32_t)i;
    }
    loss.time = sum;
    for (size_t i = 0; i < explain->lane_count; i++) {
        bool same = explain_is_as_slow(explain, &loss, i);
        alike += same ? path->excess[i][SHARE_COMPUTE] : 0;
        others += same ? 0 : (double)compute_of(explain, i);
        count += !same;
    }
    double less = count > 0 ? (double)compute_of(explain, (size_t)loss.lane) - others / count : 0;
    loss.several = 2 * less >= (double)alike;
    loss.time = loss.several ? alike : path->excess[loss.lane][SHARE_COMPUTE];
    loss.time = 3 * loss.time >= 2 * sum ? loss.time : 0;
    if (sum > 0)
        jitter.time = llround((double)(sum - loss.time) * (double)path->level / (double)sum);
    return add(explain, capacity, loss, err) && add(explain, capacity, jitter, err);
}

/* What a kind of exchange takes for a byte, or each where no size is known. */
static double pace(const struct explain_kind *kind)
{
    return (double)kind->moved / (double)(kind->bytes > 0 ? kind->bytes : (int64_t)kind->count);
}

/* Does an exchange take longer than the same in other groups of as many ranks? It may also be made more often. */
static bool is_slower(const struct explain *explain, size_t index)
{
    if (index >= explain->kind_count)
        return false;
    const struct explain_kind *own = &explain->kinds[index];
    double sum = 0, count = 0;
    for (size_t i = 0; i < explain->kind_count; i++) {
        const struct explain_kind *other = &explain->kinds[i];
        const struct ranks_group *groups = explain->run.groups;
        if (i == index || 2 * other->partial > other->count || strcmp(other->name, own->name) != 0 ||
            (other->bytes > 0) != (own->bytes > 0) ||
            groups[other->group].rank_count != groups[own->group].rank_count)
            continue;
        sum += pace(other);
        count++;
    }
    return count > 0 && 2 * own->partial <= own->count && pace(own) * SMALL > sum / count * (SMALL + 1);
}

static bool add_exchanges(struct explain *explain, size_t *capacity, struct error *err)
{
    const struct explain_path *path = &explain->path;
    for (size_t i = 0; i <= explain->kind_count; i++) {
        int32_t kind = i < explain->kind_count ? (int32_t)i : -1;
        int64_t link = is_slower(explain, i) ? path->slow[i] : 0;
        const struct explain_loss all = {LOSS_EXCHANGE, path->kinds[i] + path->slow[i] - link, -1, kind,
                                         false};
        const struct explain_loss slow = {LOSS_LINK, link, -1, kind, false};
        if (!add(explain, capacity, all, err) || !add(explain, capacity, slow, err))
            return false;
    }
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct explain_loss *first = a, *second = b;
    int order = order_of(second->time, first->time);
    return order ? order : (first->kind > second->kind) - (first->kind < second->kind);
}

/* Where the path played alone is much shorter than it was recorded, its causes are not those that decided: what it
 * lacks is unknown, and no wait for others, for streams or launches. */
static bool add_missing(struct explain *explain, size_t *capacity, struct error *err)
{
    static const enum explain_loss_kind from[] = {LOSS_PEER, LOSS_GAPS, LOSS_HOST};
    struct explain_loss moved = {LOSS_UNKNOWN, 0, -1, -1, false}, *unknown = &moved;
    int64_t missing = 0;
    if (explain_is_explained(explain))
        return true;
    for (size_t i = 0; i < explain->step_count; i++)
        missing += explain->played[i].recorded - explain->played[i].played;
    for (size_t i = 0; i < explain->loss_count; i++)
        if (explain->losses[i].kind == LOSS_UNKNOWN)
            unknown = &explain->losses[i];
    missing -= unknown->time;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++)
        for (size_t i = 0; i < explain->loss_count; i++) {
            struct explain_loss *loss = &explain->losses[i];
            if (loss->kind != from[k] || missing <= 0)
                continue;
            int64_t part = loss->time < missing ? loss->time : missing;
            loss->time -= part;
            unknown->time += part;
            missing -= part;
        }
    return unknown != &moved || add(explain, capacity, moved, err);
}

bool explain_losses_find(struct explain *explain, struct error *err)
{
    static const struct {
        enum explain_loss_kind kind;
        bool shares[EXPLAIN_SHARES];
    } idle[] = {
        {LOSS_DATA, {[SHARE_DATA] = true}},   {LOSS_HOST, {[SHARE_HOST] = true, [SHARE_LAUNCH] = true}},
        {LOSS_COPIES, {[SHARE_COPY] = true}}, {LOSS_GAPS, {[SHARE_STREAM] = true}},
        {LOSS_PEER, {[SHARE_PEER] = true}},   {LOSS_UNKNOWN, {[SHARE_UNKNOWN] = true, [SHARE_SKEW] = true}},
    };
    size_t capacity = 0;
    if (!add_compute(explain, &capacity, err) || !add_exchanges(explain, &capacity, err))
        return false;
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        int64_t all = 0, sum;
        for (size_t step = 0; step < explain->path.step_count; step++)
            for (int share = 0; share < EXPLAIN_SHARES; share++)
                all += idle[i].shares[share] ? explain->path.steps[step][share] : 0;
        int32_t lane = lane_of_most(explain, idle[i].shares, all, &sum);
        const struct explain_loss loss = {idle[i].kind, all + sum, explain->lane_count > 1 ? lane : -1, -1,
                                          false};
        if (!add(explain, &capacity, loss, err))
            return false;
    }
    if (!add_missing(explain, &capacity, err))
        return false;
    if (explain->loss_count > 0)
        qsort(explain->losses, explain->loss_count, sizeof *explain->losses, by_time);
    return true;
}

bool explain_is_busy(const struct explain *explain)
{
    const struct explain_path *path = &explain->path;
    int64_t span = path->begins[path->step_count] - path->begins[0];
    return explain->loss_count == 0 || explain->losses[0].time < span / SMALL;
}

const char *explain_verdict(const struct explain *explain)
{
    return explain_is_busy(explain) ? "compute" : explain_loss_words[explain->losses[0].kind].verdict;
}
