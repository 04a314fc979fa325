#include "explain/explain.h"

#include "core/hash.h"
#include "core/statistics.h"
#include "core/stop.h"
#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

#define TOGETHER 1000 /* ns between begins of one collective */

/* ---- steps ---- */

/* Takes the first run of steps that all ranks have; false: there is none. */
static bool choose_steps(const struct explain_loading *loading)
{
    struct explain *explain = loading->explain;
    size_t first = 0, end;
    while (first < loading->step_count && loading->seen[first] < loading->lanes_seen)
        first++;
    for (end = first; end < loading->step_count && loading->seen[end] >= loading->lanes_seen; end++)
        ;
    if (first == end || loading->stepless)
        return false;
    explain->first_step = first;
    explain->step_count = end - first;
    return true;
}

/* Moves the bounds of a lane from its rank's steps to the job's. */
static bool take_bounds(struct explain *explain, struct explain_lane *lane, bool whole, struct error *err)
{
    int64_t *bounds = ARENA_ARRAY(&explain->arena, explain->step_count + 1, int64_t);
    if (!bounds)
        return error_memory(err);
    if (whole) {
        bounds[0] = lane->timeline.begin + lane->shift;
        bounds[1] = lane->timeline.end + lane->shift;
    }
    for (size_t i = 0; !whole && i < lane->host_steps; i++) {
        int64_t step = lane->step_of[i] - (int64_t)explain->first_step;
        if (step < 0 || step >= (int64_t)explain->step_count)
            continue;
        bounds[step] = lane->bounds[i] + lane->shift;
        bounds[step + 1] = lane->bounds[i + 1] + lane->shift;
    }
    lane->bounds = bounds;
    return true;
}

static bool take_steps(const struct explain_loading *loading, struct error *err)
{
    struct explain *explain = loading->explain;
    bool whole = !choose_steps(loading);
    explain->stride = loading->step_count;
    if (whole)
        explain->step_count = 1;
    else
        explain->numbers = ARENA_ARRAY(&explain->arena, explain->step_count, int64_t);
    if (!whole && !explain->numbers)
        return error_memory(err);
    for (size_t i = 0; !whole && i < explain->step_count; i++)
        explain->numbers[i] = loading->numbers[explain->first_step + i];
    for (size_t i = 0; i < explain->lane_count; i++)
        if (!take_bounds(explain, &explain->lanes[i], whole, err))
            return false;
    return true;
}

/* ---- collectives ---- */

static int compare_uints(const void *a, const void *b)
{
    return order_of(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Of a member with several devices: that on which the collective ran. */
static uint32_t find_lane(const struct explain *explain, const struct ranks_collective *collective,
                          const uint32_t *first)
{
    uint32_t lane = first[collective->member], end = first[collective->member + 1];
    for (; lane + 1 < end; lane++)
        if (bsearch(&collective->activity, explain->lanes[lane].exchanges,
                    explain->lanes[lane].exchange_count, sizeof collective->activity, compare_uints))
            break;
    return lane;
}

static bool find_kind(struct explain *explain, struct hash_map *known, size_t index, struct error *err)
{
    const struct ranks_collective *collective = &explain->run.collectives[index];
    int64_t *kind = hash_map_place(known, 1 + ((uint64_t)collective->group << 32 | collective->name));
    if (!kind)
        return error_memory(err);
    if (*kind == 0) {
        struct explain_kind made = {.name = explain->run.texts[collective->name], .group = collective->group};
        if (!VECTOR_ADD(explain->kinds, explain->kind_count, explain->kind_capacity, made))
            return error_memory(err);
        *kind = (int64_t)explain->kind_count;
    }
    explain->kind_of[index] = (uint32_t)*kind - 1;
    explain->kinds[*kind - 1].count++;
    if (collective->bytes > 0)
        explain->kinds[*kind - 1].bytes += collective->bytes;
    return true;
}

/* When a lane was ready for a collective: at its begin, or when an idle time without a cause began before it; from the
 * first, if it did nothing before. */
static int64_t ready(const struct explain *explain, size_t index)
{
    const struct explain_lane *lane = &explain->lanes[explain->lane_of[index]];
    int64_t begin = explain_began(explain, index);
    if (lane->timeline.count == 0 || begin - lane->shift <= lane->timeline.begin)
        return INT64_MIN;
    const struct explain_piece *piece =
        &lane->timeline.pieces[explain_piece_at(&lane->timeline, begin - lane->shift - 1)];
    bool waits = piece->share == SHARE_UNKNOWN && piece->what == explain->run.collectives[index].activity;
    return waits ? piece->begin + lane->shift : begin;
}

/* Some traces, as those of simulations, begin a collective on all ranks at once, when the last one is ready. */
static bool is_together(const struct explain *explain, size_t first, size_t end, size_t *last)
{
    for (size_t i = first + 1; i < end; i++)
        if (llabs(explain_began(explain, i) - explain_began(explain, first)) > TOGETHER)
            return false;
    *last = first;
    for (size_t i = first; i < end; i++)
        *last = ready(explain, i) > ready(explain, *last) ? i : *last;
    return end > first + 1;
}

/* How many ranks an exchange has. */
static size_t awaited_ranks(const struct ranks *run, const struct ranks_collective *collective)
{
    size_t count = run->groups[collective->group].rank_count;
    return collective->message || count == 0 ? 2 : count;
}

/* Tells each lane when the last rank of its collectives arrived; who comes last with it, or sent into a buffer,
 * awaits nobody. */
static bool add_arrivals(struct explain *explain, struct error *err)
{
    const struct ranks *run = &explain->run;
    for (size_t i = 0, end; i < run->collective_count; i = end) {
        size_t last = i;
        for (end = i + 1;
             end < run->collective_count && explain_is_same(&run->collectives[i], &run->collectives[end]);
             end++)
            if (explain_began(explain, end) > explain_began(explain, last))
                last = end;
        size_t readiest;
        bool together = is_together(explain, i, end, &readiest);
        last = together ? readiest : last;
        for (size_t j = i; j < end; j++) {
            struct explain_lane *lane = &explain->lanes[explain->lane_of[j]];
            bool alike = together ? ready(explain, j) == ready(explain, last)
                                  : explain_began(explain, j) == explain_began(explain, last);
            size_t awaited = alike || explain_is_over(explain, j, explain_began(explain, last)) ? j : last;
            struct explain_arrival arrival = {.activity = run->collectives[j].activity,
                                              .lane = explain->lane_of[awaited],
                                              .time =
                                                  end > i + 1 ? explain_began(explain, awaited) : INT64_MIN,
                                              .exchange = (uint32_t)j,
                                              .together = together,
                                              .message = run->collectives[j].message,
                                              .members = (uint32_t)(end - i)};
            int64_t over = run->collectives[j].end + run->members[run->collectives[j].member].offset;
            explain->kinds[explain->kind_of[j]].moved += over - explain_began(explain, awaited);
            explain->kinds[explain->kind_of[j]].partial += end - i < awaited_ranks(run, &run->collectives[i]);
            if (!VECTOR_ADD(lane->arrivals, lane->arrival_count, lane->arrival_capacity, arrival))
                return error_memory(err);
        }
    }
    return true;
}

/* The pieces of a lane that no activity ends, from here on. */
static size_t find_tail(const struct explain_timeline *timeline)
{
    size_t tail = timeline->count;
    while (tail > 0 && timeline->pieces[tail - 1].what == EXPLAIN_NONE)
        tail--;
    return tail;
}

/* Where nothing is launched any more while another rank still runs, that is awaited. */
static bool add_tails(struct explain *explain, struct error *err)
{
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < explain->lane_count; i++) {
        const struct explain_lane *lane = &explain->lanes[i];
        size_t tail = find_tail(&lane->timeline);
        int64_t end = tail < lane->timeline.count ? lane->timeline.pieces[tail].begin : lane->timeline.end;
        last = end + lane->shift > last ? end + lane->shift : last;
    }
    for (size_t i = 0; i < explain->lane_count; i++) {
        struct explain_timeline *timeline = &explain->lanes[i].timeline;
        int64_t until = last - explain->lanes[i].shift;
        size_t from = find_tail(timeline), at = from;
        while (at < timeline->count && timeline->pieces[at].begin < until)
            at++;
        if (at == from || timeline->pieces[from].share == SHARE_UNKNOWN) /* a cut file's */
            continue;
        struct explain_piece rest = timeline->pieces[at - 1];
        timeline->pieces[from].share = SHARE_SKEW;
        memmove(&timeline->pieces[from + 1], &timeline->pieces[at],
                (timeline->count - at) * sizeof *timeline->pieces);
        timeline->count -= at - from - 1;
        if (until >= timeline->end)
            continue;
        /* the rest of the last one */
        if (!VECTOR_ADD(timeline->pieces, timeline->count, timeline->capacity, rest))
            return error_memory(err);
        memmove(&timeline->pieces[from + 2], &timeline->pieces[from + 1],
                (timeline->count - from - 2) * sizeof *timeline->pieces);
        rest.begin = until;
        timeline->pieces[from + 1] = rest;
    }
    return true;
}

static int by_activity(const void *a, const void *b)
{
    const struct explain_arrival *first = a, *second = b;
    return order_of(first->activity, second->activity);
}

static bool match(struct explain *explain, struct error *err)
{
    size_t count = explain->run.collective_count;
    uint32_t *first = calloc(explain->run.count + 2, sizeof *first);
    struct hash_map known = {0};
    explain->lane_of = calloc(count + 1, sizeof *explain->lane_of);
    explain->kind_of = calloc(count + 1, sizeof *explain->kind_of);
    bool done = (first && explain->lane_of && explain->kind_of) || error_memory(err);
    for (size_t i = 0; done && i < explain->lane_count; i++)
        first[explain->lanes[i].member + 1] = (uint32_t)i + 1;
    for (size_t i = 0; done && i < explain->run.count; i++) /* members without a device */
        first[i + 1] = first[i + 1] > first[i] ? first[i + 1] : first[i];
    for (size_t i = 0; done && i < count; i++) {
        explain->lane_of[i] = find_lane(explain, &explain->run.collectives[i], first);
        done = find_kind(explain, &known, i, err);
    }
    done = done && add_arrivals(explain, err) && add_tails(explain, err);
    for (size_t i = 0; done && i < explain->lane_count; i++) {
        struct explain_lane *lane = &explain->lanes[i];
        done =
            sort_items(lane->arrivals, lane->arrival_count, sizeof *lane->arrivals, by_activity, err) &&
            explain_timeline_finish(&lane->timeline, lane->shift, lane->arrivals, lane->arrival_count, err);
    }
    hash_map_release(&known);
    free(first);
    return done;
}

/* ---- the path ---- */

static int32_t kind_of(const void *context, uint32_t lane, uint32_t activity)
{
    const struct explain *explain = context;
    const struct explain_lane *at = &explain->lanes[lane];
    const struct explain_arrival *arrival = explain_arrival_of(at->arrivals, at->arrival_count, activity);
    return arrival ? (int32_t)explain->kind_of[arrival->exchange] : (int32_t)explain->kind_count;
}

static size_t members_of(const void *context, uint32_t lane, uint32_t activity, uint32_t *members)
{
    const struct explain *explain = context;
    const struct ranks_collective *collectives = explain->run.collectives;
    const struct explain_lane *at = &explain->lanes[lane];
    const struct explain_arrival *arrival = explain_arrival_of(at->arrivals, at->arrival_count, activity);
    size_t count = 0, i = arrival ? arrival->exchange : 0;
    if (!arrival)
        return 0;
    while (i > 0 && explain_is_same(&collectives[i - 1], &collectives[arrival->exchange]))
        i--;
    for (; i < explain->run.collective_count && count < explain->lane_count &&
           explain_is_same(&collectives[i], &collectives[arrival->exchange]);
         i++)
        members[count++] = explain->lane_of[i];
    return count;
}

static void add_kinds(struct explain *explain, uint32_t lane)
{
    const struct explain_lane *at = &explain->lanes[lane];
    int64_t from = at->bounds[0], to = at->bounds[explain->step_count];
    for (size_t i = 0; i < at->timeline.count; i++) {
        const struct explain_piece *piece = &at->timeline.pieces[i];
        int64_t begin = piece->begin > from ? piece->begin : from;
        int64_t end = piece[1].begin < to ? piece[1].begin : to;
        bool runs = piece->share == SHARE_COVERED || piece->share == SHARE_TRANSFER ||
                    piece->share == SHARE_INNER || piece->share == SHARE_SKEW || piece->share == SHARE_PEER;
        if (!runs || piece->exchange == EXPLAIN_NONE || begin >= end)
            continue;
        size_t kind = (size_t)kind_of(explain, lane, piece->exchange);
        if (kind == explain->kind_count)
            continue;
        *(piece->share == SHARE_COVERED                              ? &explain->kinds[kind].hidden
          : piece->share == SHARE_SKEW || piece->share == SHARE_PEER ? &explain->kinds[kind].waited
                                                                     : &explain->kinds[kind].transfer) +=
            end - begin;
    }
}

static int by_total(const void *a, const void *b)
{
    const struct explain_name *first = a, *second = b;
    int order = order_of(second->total, first->total);
    return order ? order : strcmp(first->name, second->name);
}

static bool analyse(struct explain_loading *loading, struct error *err)
{
    struct explain *explain = loading->explain;
    struct ranks *run = &explain->run;
    if (explain->lane_count == 0)
        return error_set(err, ERROR_INPUT, "%s: no activity of a device on any rank",
                         run->count > 0 ? run->members[0].path : "trace");
    if (!ranks_align(run, err))
        return false;
    for (size_t i = 0; i < explain->lane_count; i++)
        explain->lanes[i].shift += run->members[explain->lanes[i].member].offset;
    for (size_t i = 0; run->clocks.median > RANKS_MAX_MEDIAN && i < run->collective_count; i++)
        run->collectives[i].order = (uint32_t)i; /* what does not belong together is not compared */
    if (!take_steps(loading, err) || !match(explain, err))
        return false;
    for (size_t i = 0; i < explain->lane_count; i++)
        add_kinds(explain, (uint32_t)i);
    const struct explain_walk walk = {.lanes = explain->lanes,
                                      .lane_count = explain->lane_count,
                                      .step_count = explain->step_count,
                                      .whole = !explain->numbers,
                                      .members = members_of,
                                      .kind = kind_of,
                                      .kind_count = explain->kind_count + 1,
                                      .context = explain};
    if (!explain_path_find(&explain->path, &walk, err) || !explain_chains_play(explain, err) ||
        !explain_losses_find(explain, err))
        return false;
    qsort(explain->names, explain->name_count, sizeof *explain->names, by_total);
    return explain_products_sort(explain, err);
}

bool explain_make(struct explain *explain, const char *const *paths, size_t count,
                  const struct kernel_classes *kernels, struct error *err)
{
    *explain = (struct explain){0};
    struct explain_loading loading = {.explain = explain, .kernels = kernels};
    bool done = ranks_open(&explain->run, paths, count, err);
    if (!done)
        return false;
    for (size_t i = 0; done && i < explain->run.count; i++)
        done = explain_load_member(&loading, i, err);
    done = done && analyse(&loading, err);
    hash_names_release(&loading.names);
    free(loading.numbers);
    free(loading.seen);
    if (!done)
        explain_release(explain);
    return done;
}

void explain_release(struct explain *explain)
{
    for (size_t i = 0; i < explain->lane_count; i++) {
        struct explain_lane *lane = &explain->lanes[i];
        explain_timeline_release(&lane->timeline);
        free(lane->arrivals);
        free(lane->exchanges);
    }
    free(explain->lanes);
    free(explain->ranks);
    free(explain->kinds);
    free(explain->kind_of);
    free(explain->lane_of);
    free(explain->names);
    free(explain->name_times);
    free(explain->losses);
    free(explain->products);
    hash_names_release(&explain->product_ids);
    explain_path_release(&explain->path);
    ranks_release(&explain->run);
    arena_release(&explain->arena);
    *explain = (struct explain){0};
}

void explain_step_shares(const struct explain *explain, size_t lane, size_t step,
                         int64_t sums[EXPLAIN_SHARES])
{
    const struct explain_lane *at = &explain->lanes[lane];
    int64_t from = at->bounds[step], to = at->bounds[step + 1], known = 0;
    memset(sums, 0, EXPLAIN_SHARES * sizeof *sums);
    explain_sums(&at->timeline, from, to, sums);
    for (int i = 0; i < EXPLAIN_SHARES; i++)
        known += sums[i];
    sums[SHARE_UNKNOWN] += to - from - known;
}

void explain_lane_shares(const struct explain *explain, size_t lane, int64_t sums[EXPLAIN_SHARES])
{
    memset(sums, 0, EXPLAIN_SHARES * sizeof *sums);
    for (size_t step = 0; step < explain->step_count; step++) {
        int64_t shares[EXPLAIN_SHARES];
        explain_step_shares(explain, lane, step, shares);
        for (int i = 0; i < EXPLAIN_SHARES; i++)
            sums[i] += shares[i];
    }
}

int64_t explain_name_time(const struct explain *explain, size_t name, size_t step)
{
    const struct explain_name *at = &explain->names[name];
    return explain->numbers ? explain->name_times[at->row * explain->stride + explain->first_step + step]
                            : at->total;
}
