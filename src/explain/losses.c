#include "explain/explain.h"

#include "core/statistics.h"
#include "core/vector.h"
#include "texts.h"

#include <stdlib.h>

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

/* Compute that ranks have beyond the others. */
static bool add_compute(struct explain *explain, size_t *capacity, struct error *err)
{
    static const bool compute[EXPLAIN_SHARES] = {[SHARE_COMPUTE] = true};
    int64_t sum, n = (int64_t)explain->lane_count;
    int32_t lane = lane_of_most(explain, compute, 0, &sum);
    struct explain_loss loss = {LOSS_JITTER, sum, -1, -1};
    if (lane >= 0) {
        loss = (struct explain_loss){LOSS_STRAGGLER, explain->path.excess[lane][SHARE_COMPUTE], lane, -1};
        if (!add(explain, capacity, loss, err))
            return false;
        loss = (struct explain_loss){LOSS_JITTER, sum - loss.time, -1, -1};
    }
    loss.time = loss.time / n * (n - 1);
    return add(explain, capacity, loss, err);
}

static bool add_exchanges(struct explain *explain, size_t *capacity, struct error *err)
{
    for (size_t i = 0; i <= explain->kind_count; i++) {
        int32_t kind = i < explain->kind_count ? (int32_t)i : -1;
        const struct explain_loss all = {LOSS_EXCHANGE, explain->path.kinds[i], -1, kind};
        const struct explain_loss slow = {LOSS_LINK, explain->path.slow[i], -1, kind};
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

/* Where the path played alone is much shorter than it was recorded, its causes are not those that decided: what it lacks
 * is unknown, and no wait for others, for streams or launches. */
static bool add_missing(struct explain *explain, size_t *capacity, struct error *err)
{
    static const enum explain_loss_kind from[] = {LOSS_PEER, LOSS_GAPS, LOSS_HOST};
    struct explain_loss moved = {LOSS_UNKNOWN, 0, -1, -1}, *unknown = &moved;
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
        const struct explain_loss loss = {idle[i].kind, all + sum, explain->lane_count > 1 ? lane : -1, -1};
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
