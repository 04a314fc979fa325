/* Clocks of ranks that were recorded apart.
 *
 * Problem: each file has the clock of its host, which lies off those of others by microseconds to seconds, and may jump or
 * drift. What came late, and who waited for whom, can be told only on one clock.
 *
 * Method: a collective ends on all ranks of its group at about the same time, since none can end before the last one came.
 * The k-th of a group on one rank is the k-th on each other; where counts differ and nothing is numbered, the lists are
 * laid at each other's begin or end, whichever fits better. The median difference of the ends of two ranks of a group is
 * an edge; a walk over the edges, which crosses groups that share a rank, gives first offsets. Then each end is compared
 * with the median of its collective, and each rank moves by the median of its distances, until nothing moves: a rank's
 * offset is robust against collectives that end early for some (broadcast, reduce) and against wrong matches.
 * What remains, is `clocks`. A rank whose distance from the others' median changes its level or its slope within the run
 * has a clock that jumps or drifts: the better of a step and a line, if it explains more than noise.
 *
 * Check: ranks_test.c makes runs with known offsets, chains of groups, noise, outliers, jumps and drifts. */
#include "core/statistics.h"
#include "core/stop.h"
#include "core/vector.h"
#include "sim/replay/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS      20
#define MAX_SAMPLES ((size_t)1 << 16) /* collectives by which offsets are found */
#define MIN_SERIES  8                 /* collectives of a rank by which a jump or drift is found */
#define MIN_JUMP    50000             /* ns: ends of one collective lie 10 to 30 us apart on real machines */
#define NOISES      6                 /* a jump or drift is so many times the median distance from it */

/* Collectives of one group and member, which stand together. */
struct series {
    size_t first, count;
};

struct edge {
    uint32_t a, b;
    int64_t offset; /* to add to b's clock for that of a */
};

struct alignment {
    struct ranks *run;
    struct edge *edges;
    size_t edge_count, edge_capacity;
    size_t *events; /* first collective of each matched one */
    size_t event_count, event_capacity;
    int64_t *values; /* room for as many as there are collectives, or members */
};

static int by_series(const void *a, const void *b)
{
    const struct ranks_collective *x = a, *y = b;
    int order = order_of(x->group, y->group);
    order = order ? order : order_of(x->member, y->member);
    order = order ? order : order_of(x->order, y->order);
    return order ? order : order_of(x->begin, y->begin);
}

static int by_event(const void *a, const void *b)
{
    const struct ranks_collective *x = a, *y = b;
    int order = order_of(x->sends, y->sends); /* those that are not matched come last */
    order = order ? order : order_of(x->group, y->group);
    order = order ? order : order_of(x->order, y->order);
    order = order ? order : order_of(x->again, y->again);
    order = order ? order : order_of(x->member, y->member);
    return order ? order : order_of(x->begin, y->begin);
}

static int64_t median_of(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, order_int64s);
    return count % 2 ? values[count / 2]
                     : values[count / 2 - 1] + (values[count / 2] - values[count / 2 - 1]) / 2;
}

/* The median distance from the median; sorts the values. */
static int64_t spread_of(int64_t *values, size_t count, int64_t *median)
{
    *median = median_of(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = llabs(values[i] - *median);
    return median_of(values, count);
}

/* --- matching ------------------------------------------------------------------------------------------- */

/* Returns how badly the shorter list fits into the longer one from its place `skip` on: other names count most. */
static double misfit(struct alignment *all, struct series longer, struct series shorter, size_t skip)
{
    const struct ranks_collective *list = all->run->collectives;
    size_t other = 0;
    int64_t median;
    for (size_t i = 0; i < shorter.count; i++) {
        const struct ranks_collective *a = &list[longer.first + skip + i], *b = &list[shorter.first + i];
        other += a->name != b->name || a->bytes != b->bytes;
        all->values[i] = a->end - b->end;
    }
    return (double)other * 1e18 + (double)spread_of(all->values, shorter.count, &median);
}

/* Lays the lists of a group's members at each other. */
static bool match_group(struct alignment *all, const struct series *series, size_t count, struct error *err)
{
    struct ranks *run = all->run;
    struct ranks_collective *list = run->collectives;
    size_t longest = 0, uneven = 0;
    for (size_t i = 1; i < count; i++)
        longest = series[i].count > series[longest].count ? i : longest;
    for (size_t i = 0; i < count; i++)
        uneven += series[i].count < series[longest].count;
    if (run->groups[list[series[0].first].group].assumed && 4 * uneven >= count) {
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < series[i].count; k++)
                list[series[i].first + k].sends = true;
        return ranks_fault(
            run, FAULT_UNMATCHED, -1, err,
            "stream %s: %zu of %zu ranks recorded fewer collectives on it than the %zu of another: "
            "ranks of several groups, which the trace does not tell; they are not matched",
            run->groups[list[series[0].first].group].name, uneven, count, series[longest].count);
    }
    for (size_t i = 0; i < count; i++) {
        size_t lacking = series[longest].count - series[i].count;
        if (lacking == 0 || list[series[i].first].numbered ||
            misfit(all, series[longest], series[i], 0) <= misfit(all, series[longest], series[i], lacking))
            continue;
        for (size_t k = 0; k < series[i].count; k++)
            list[series[i].first + k].order += (uint32_t)lacking;
    }
    const struct ranks_group *group = &run->groups[list[series[0].first].group];
    return uneven == 0 ||
           ranks_fault(run, FAULT_UNMATCHED, -1, err,
                       "group %s%s: %zu of its %zu ranks recorded fewer collectives than the %zu of another: "
                       "windows differ, the rest is not compared",
                       group->assumed ? "of stream " : "", group->name, uneven, count, series[longest].count);
}

static void count_again(struct ranks *run)
{
    for (size_t i = 0; i < run->collective_count; i++) {
        struct ranks_collective *one = &run->collectives[i], *last = i > 0 ? one - 1 : one;
        bool same = i > 0 && one->group == last->group && one->member == last->member && one->numbered &&
                    last->numbered && one->order == last->order;
        one->again = same ? last->again + 1 : 0;
    }
}

static bool match(struct alignment *all, struct error *err)
{
    struct ranks *run = all->run;
    struct series *series = NULL;
    size_t capacity = 0;
    bool done = sort_items(run->collectives, run->collective_count, sizeof *run->collectives, by_series, err);
    if (done)
        count_again(run);
    for (size_t at = 0; done && at < run->collective_count;) {
        size_t count = 0;
        uint32_t group = run->collectives[at].group;
        while (done && at < run->collective_count && run->collectives[at].group == group) {
            const struct ranks_collective *first = &run->collectives[at];
            struct series one = {at, 0};
            for (; at < run->collective_count && run->collectives[at].group == group &&
                   run->collectives[at].member == first->member;
                 at++)
                one.count += !run->collectives[at].sends;
            if (one.count == at - one.first) /* no send among them */
                done = VECTOR_ADD(series, count, capacity, one) || error_memory(err);
        }
        if (done && count > 1)
            done = match_group(all, series, count, err);
    }
    free(series);
    return done &&
           sort_items(run->collectives, run->collective_count, sizeof *run->collectives, by_event, err) &&
           ranks_match_messages(run, err);
}

/* Returns the end of the collectives that are one, from `first` on. */
static size_t event_end(const struct ranks *run, size_t first)
{
    const struct ranks_collective *list = run->collectives;
    size_t end = first + 1;
    while (end < run->collective_count && !list[end].sends && list[end].group == list[first].group &&
           list[end].order == list[first].order && list[end].again == list[first].again)
        end++;
    return end;
}

static bool list_events(struct alignment *all, struct error *err)
{
    struct ranks *run = all->run;
    for (size_t at = 0, end; at < run->collective_count && !run->collectives[at].sends; at = end) {
        end = event_end(run, at);
        if (end - at > 1 && !VECTOR_ADD(all->events, all->event_count, all->event_capacity, at))
            return error_memory(err);
    }
    run->clocks.matched = all->event_count;
    return true;
}

/* --- offsets -------------------------------------------------------------------------------------------- */

/* The difference of one pair of a group's members, over all their common collectives. */
static bool add_edge(struct alignment *all, size_t first, size_t last, uint32_t a, uint32_t b,
                     struct error *err)
{
    const struct ranks_collective *list = all->run->collectives;
    size_t count = 0, step = (last - first) / 1024 + 1;
    for (size_t i = first; i < last; i += step) {
        const struct ranks_collective *one = NULL, *other = NULL;
        for (size_t k = all->events[i], end = event_end(all->run, k); k < end; k++) {
            one = list[k].member == a ? &list[k] : one;
            other = list[k].member == b ? &list[k] : other;
        }
        if (one && other)
            all->values[count++] = one->end - other->end;
    }
    return count == 0 ||
           VECTOR_ADD(all->edges, all->edge_count, all->edge_capacity,
                      (struct edge){a, b, median_of(all->values, count)}) ||
           error_memory(err);
}

/* Edges from each group's first member to its others; first offsets are those along the edges. */
static bool walk_edges(struct alignment *all, struct error *err)
{
    struct ranks *run = all->run;
    const struct ranks_collective *list = run->collectives;
    bool *seen = calloc(run->count, sizeof *seen), done = seen || error_memory(err), moved = true;
    for (size_t i = 0, last; done && i < all->event_count; i = last) {
        uint32_t group = list[all->events[i]].group, first = list[all->events[i]].member;
        for (last = i; last < all->event_count && list[all->events[last]].group == group; last++)
            for (size_t k = all->events[last], end = event_end(run, k); k < end; k++)
                seen[list[k].member] = true;
        for (uint32_t m = 0; done && m < run->count; m++)
            if (seen[m] && m != first)
                done = add_edge(all, i, last, first, m, err);
        memset(seen, 0, run->count * sizeof *seen);
    }
    for (size_t root = 0; done && root < run->count; root++) {
        if (run->members[root].aligned)
            continue;
        for (moved = true; moved;) {
            moved = false;
            for (size_t i = 0; i < all->edge_count; i++) {
                struct edge edge = all->edges[i];
                struct ranks_member *a = &run->members[edge.a], *b = &run->members[edge.b];
                bool from_a = a->aligned || edge.a == root, from_b = b->aligned || edge.b == root;
                if (from_a == from_b)
                    continue;
                if (from_a)
                    b->offset = a->offset + edge.offset;
                else
                    a->offset = b->offset - edge.offset;
                a->aligned = b->aligned = moved = true;
            }
        }
    }
    free(seen);
    return done;
}

/* Returns the median end of a collective, without that of one member (run->count: of all). */
static int64_t event_time(const struct alignment *all, size_t first, uint32_t without)
{
    const struct ranks *run = all->run;
    int64_t *ends = all->values;
    size_t count = 0;
    for (size_t k = first, end = event_end(run, first); k < end; k++)
        if (run->collectives[k].member != without)
            ends[count++] = run->collectives[k].end + run->members[run->collectives[k].member].offset;
    return median_of(ends, count);
}

struct distance {
    uint32_t member;
    int64_t time, value;
};

static int by_distance(const void *a, const void *b)
{
    const struct distance *x = a, *y = b;
    return x->member != y->member ? order_of(x->member, y->member) : order_of(x->value, y->value);
}

static int by_time(const void *a, const void *b)
{
    const struct distance *x = a, *y = b;
    return x->member != y->member ? order_of(x->member, y->member) : order_of(x->time, y->time);
}

/* Lists the distances of ends from those of their collectives; `alone`: from those of the other members. */
static bool list_distances(const struct alignment *all, bool alone, struct distance **list, size_t *count,
                           struct error *err)
{
    const struct ranks *run = all->run;
    size_t capacity = 0, step = all->event_count / MAX_SAMPLES + 1;
    *list = NULL;
    *count = 0;
    for (size_t i = 0; i < all->event_count; i += step) {
        size_t first = all->events[i], end = event_end(run, first);
        int64_t time = alone ? 0 : event_time(all, first, (uint32_t)run->count);
        if (stop_obeyed_at(i, err))
            return false;
        for (size_t k = first; k < end; k++) {
            const struct ranks_collective *one = &run->collectives[k];
            int64_t at = one->end + run->members[one->member].offset;
            time = alone ? event_time(all, first, one->member) : time;
            if (!VECTOR_ADD(*list, *count, capacity, (struct distance){one->member, at, at - time}))
                return error_memory(err);
        }
    }
    return true;
}

/* Moves each rank by the median of its distances. Sets the largest move, and what remains. */
static bool move_ranks(struct alignment *all, int64_t *moved, struct error *err)
{
    struct ranks *run = all->run;
    struct distance *list;
    size_t count;
    *moved = 0;
    bool done = list_distances(all, false, &list, &count, err);
    if (done && count > 0) {
        qsort(list, count, sizeof *list, by_distance);
        for (size_t at = 0, end; at < count; at = end) {
            for (end = at; end < count && list[end].member == list[at].member;)
                end++;
            int64_t median = list[at + (end - at) / 2].value;
            run->members[list[at].member].offset -= median;
            *moved = llabs(median) > *moved ? llabs(median) : *moved;
            for (size_t i = at; i < end; i++)
                list[i].value = llabs(list[i].value - median);
        }
        for (size_t i = 0; i < count; i++)
            list[i].member = 0;
        qsort(list, count, sizeof *list, by_distance);
        run->clocks.median = list[count / 2].value;
        run->clocks.p90 = list[count * 9 / 10].value;
    }
    free(list);
    return done;
}

/* --- jumps and drifts ----------------------------------------------------------------------------------- */

/* A step at a place, or a line, through the distances of one rank; `noise` is the median distance from it. */
struct shape {
    double noise, size, at;
};

static double noise_of(const struct distance *list, size_t count, const struct shape *shape, bool line,
                       double level, double *room)
{
    double begin = (double)list[0].time;
    for (size_t i = 0; i < count; i++) {
        double share = line ? ((double)list[i].time - begin) / shape->at : (double)i >= shape->at;
        room[i] = fabs((double)list[i].value - level - shape->size * share);
    }
    sort_doubles(room, (int)count);
    return quantile_of(room, (int)count, 0.5);
}

static double middle(const struct distance *list, size_t first, size_t last, double *room)
{
    for (size_t i = first; i < last; i++)
        room[i - first] = (double)list[i].value;
    sort_doubles(room, (int)(last - first));
    return quantile_of(room, (int)(last - first), 0.5);
}

/* The place where the mean changes most, of values that are cut at their 5th and 95th percentile. */
static size_t find_step(const struct distance *list, size_t count, double *room)
{
    double sum = 0, total = 0, best = -1;
    size_t place = count / 2;
    middle(list, 0, count, room); /* sorts */
    double low = quantile_of(room, (int)count, 0.05), high = quantile_of(room, (int)count, 0.95);
    for (size_t i = 0; i < count; i++)
        total += fmin(fmax((double)list[i].value, low), high);
    for (size_t i = 0; i + 1 < count; i++) {
        sum += fmin(fmax((double)list[i].value, low), high);
        double change = fabs(sum - total * (double)(i + 1) / (double)count);
        if (change > best && i >= 2 && i + 4 < count)
            best = change, place = i + 1;
    }
    return place;
}

static bool check_clock(struct ranks *run, const struct distance *list, size_t count, bool pair, double *room,
                        struct error *err)
{
    uint32_t member = list[0].member;
    const char *other = pair ? ", or that of the rank it is compared with" : "";
    size_t place = find_step(list, count, room), third = count / 3;
    double span = (double)(list[count - 1].time - list[0].time);
    double level = middle(list, 0, place, room);
    struct shape step = {.size = middle(list, place, count, room) - level, .at = (double)place};
    step.noise = noise_of(list, count, &step, false, level, room);
    double left = middle(list, 0, third, room), right = middle(list, count - third, count, room);
    struct shape line = {.size = (right - left) * 1.5, .at = fmax(span, 1)};
    line.noise = noise_of(list, count, &line, true, left - line.size / 6, room);
    const struct shape *best = step.noise <= line.noise ? &step : &line;
    double flat_level = middle(list, 0, count, room);
    double flat = noise_of(list, count, &(struct shape){.at = 1}, true, flat_level, room);
    if (fabs(best->size) < fmax(MIN_JUMP, NOISES * best->noise) || best->noise * 2 > flat)
        return true;
    if (best == &line)
        return ranks_fault(
            run, FAULT_CLOCK_DRIFT, (int32_t)member, err,
            "%s: its clock drifts by %.1f us a second against the other ranks%s: skews are overstated",
            run->members[member].path, line.size / fmax(span, 1) * 1e6, other);
    return ranks_fault(
        run, FAULT_CLOCK_JUMP, (int32_t)member, err,
        "%s: its clock jumps by %.3f ms, %.3f s after its first collective%s: skews on the shorter "
        "side are wrong",
        run->members[member].path, step.size / 1e6, (double)(list[place].time - list[0].time) / 1e9, other);
}

static bool check_clocks(const struct alignment *all, struct error *err)
{
    struct distance *list;
    size_t count, members = 0;
    bool done = list_distances(all, true, &list, &count, err);
    double *room = done ? malloc((count + 1) * sizeof *room) : NULL;
    if (done && !room)
        done = error_memory(err);
    if (done && count > 1)
        qsort(list, count, sizeof *list, by_time);
    for (size_t i = 0; done && i < count; i++)
        members += i == 0 || list[i].member != list[i - 1].member;
    for (size_t at = 0, end; done && at < count; at = end) {
        for (end = at; end < count && list[end].member == list[at].member;)
            end++;
        if (end - at >= MIN_SERIES && (members > 2 || at == 0))
            done = check_clock(all->run, list + at, end - at, members == 2, room, err);
    }
    free(room);
    free(list);
    return done;
}

/* --- all of it ------------------------------------------------------------------------------------------ */

/* Matches by place alone are wrong where kernels were left out. Ends that lie far apart show that: then clocks stay as
 * they were recorded. */
static bool drop_offsets(struct ranks *run, struct error *err)
{
    for (size_t i = 0; i < run->count; i++)
        run->members[i].offset = 0, run->members[i].aligned = false;
    return ranks_fault(
        run, FAULT_NO_CLOCK, -1, err,
        "ends of %zu collectives lie %.3f ms apart (median) on any clocks: other collectives are "
        "matched than those that belong together, and clocks stay as recorded",
        run->clocks.matched, (double)run->clocks.median / 1e6);
}

/* The first rank's clock is the run's. */
static bool settle(struct alignment *all, bool jumps, struct error *err)
{
    struct ranks *run = all->run;
    bool first = run->members[0].aligned;
    int64_t origin = first ? run->members[0].offset : 0, low = INT64_MAX, high = INT64_MIN;
    size_t apart = 0;
    if (run->clocks.median > RANKS_MAX_MEDIAN && !jumps)
        return drop_offsets(run, err);
    for (size_t i = 0; i < run->count; i++) {
        struct ranks_member *member = &run->members[i];
        apart += !member->aligned;
        if (!member->aligned)
            continue;
        member->offset -= origin;
        low = member->offset < low ? member->offset : low;
        high = member->offset > high ? member->offset : high;
    }
    run->clocks.spread = high > low ? high - low : 0;
    return apart == 0 || run->count == 1 ||
           ranks_fault(run, FAULT_NO_CLOCK, -1, err,
                       "%zu of %zu ranks share no collective with another one: their clocks stay as recorded",
                       apart, run->count);
}

bool ranks_align(struct ranks *run, struct error *err)
{
    size_t room = run->collective_count > run->count ? run->collective_count : run->count;
    struct alignment all = {.run = run, .values = malloc((room + 1) * sizeof *all.values)};
    int64_t moved = 1;
    bool done = all.values ? run->count > 0 : error_memory(err);
    for (size_t i = 0; i < run->count; i++)
        run->members[i].offset = 0, run->members[i].aligned = false;
    done = done && match(&all, err) && list_events(&all, err) && walk_edges(&all, err);
    for (int round = 0; done && round < ROUNDS && moved > 0; round++)
        done = move_ranks(&all, &moved, err);
    size_t faults = run->fault_count;
    done = done && check_clocks(&all, err);
    faults = run->fault_count - faults;
    done = done && settle(&all, faults > 0, err);
    free(all.values);
    free(all.edges);
    free(all.events);
    return done;
}
