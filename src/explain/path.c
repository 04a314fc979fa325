#include "explain/path.h"

#include "core/statistics.h"
#include "core/stop.h"
#include "core/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIKE 100 /* who waits less than this part of the time is as slow as the path's rank */

/* The path lies on a lane. */
struct stretch {
    int64_t from, to;
    uint32_t lane;
};

struct walker {
    const struct explain_walk *walk;
    struct explain_path *path;
    uint32_t *members;
    int64_t (*by_lane)[EXPLAIN_SHARES];
    int64_t *here;             /* by kind, of the window at hand */
    int32_t most;              /* the kind that has most of it; -1: none */
    struct stretch *stretches; /* of the step, the last one first */
    size_t stretch_count, stretch_capacity, member_count;
    uint32_t *met; /* room for members */
    /* The largest meeting of the step that compute of the path covers, or its begin: 0 members: none. */
    uint32_t covered, covered_lane, covered_activity;
    size_t step;
    bool sent; /* the path of the step goes along a message */
    struct error *err;
};

/* Calls `add` with each exposed exchange of the path in [from, to). */
static void each_exchange(struct walker *walker, int64_t from, int64_t to,
                          void (*add)(struct walker *walker, int32_t kind, int64_t time))
{
    const struct explain_walk *walk = walker->walk;
    for (size_t j = 0; j < walker->stretch_count; j++) {
        const struct stretch *stretch = &walker->stretches[j];
        const struct explain_timeline *timeline = &walk->lanes[stretch->lane].timeline;
        int64_t begin = stretch->from > from ? stretch->from : from,
                end = stretch->to < to ? stretch->to : to;
        for (size_t i = explain_piece_at(timeline, begin);
             begin < end && i < timeline->count && timeline->pieces[i].begin < end; i++) {
            const struct explain_piece *piece = &timeline->pieces[i];
            int64_t since = piece->begin > begin ? piece->begin : begin;
            int64_t until = piece[1].begin < end ? piece[1].begin : end;
            if ((piece->share == SHARE_TRANSFER || piece->share == SHARE_INNER) && since < until)
                add(walker, walk->kind(walk->context, stretch->lane, piece->exchange), until - since);
        }
    }
}

static void add_kind(struct walker *walker, int32_t kind, int64_t time)
{
    walker->path->kinds[kind] += time;
    walker->here[kind] += time;
    if (walker->most < 0 || walker->here[kind] > walker->here[walker->most])
        walker->most = kind;
}

static void forget_kind(struct walker *walker, int32_t kind, int64_t time)
{
    (void)time;
    walker->here[kind] = 0;
}

/* Adds the exposed exchanges of a window, of which `excess` is beyond the others': of the kind that has most there. */
static void add_kinds(struct walker *walker, int64_t from, int64_t to, int64_t excess)
{
    walker->most = -1;
    each_exchange(walker, from, to, add_kind);
    if (walker->most < 0)
        return;
    walker->path->kinds[walker->most] -= excess;
    walker->path->slow[walker->most] += excess;
    each_exchange(walker, from, to, forget_kind);
}

/* Adds the path's shares in [from, to), and tells which lane has most of each. */
static void add_own(const struct walker *walker, int64_t from, int64_t to, int64_t own[EXPLAIN_SHARES],
                    uint32_t most[EXPLAIN_SHARES])
{
    int64_t known = 0, largest[EXPLAIN_SHARES] = {0};
    for (size_t i = 0; i < walker->stretch_count; i++) {
        const struct stretch *stretch = &walker->stretches[i];
        int64_t *sums = walker->by_lane[stretch->lane];
        explain_sums(&walker->walk->lanes[stretch->lane].timeline,
                     stretch->from > from ? stretch->from : from, stretch->to < to ? stretch->to : to, sums);
        for (int share = 0; share < EXPLAIN_SHARES; share++)
            if (sums[share] > largest[share]) {
                largest[share] = sums[share];
                most[share] = stretch->lane;
            }
    }
    for (size_t i = 0; i < walker->stretch_count; i++)
        for (int share = 0; share < EXPLAIN_SHARES; share++) {
            own[share] += walker->by_lane[walker->stretches[i].lane][share];
            walker->by_lane[walker->stretches[i].lane][share] = 0;
        }
    if (largest[SHARE_COVERED] > largest[SHARE_COMPUTE])
        most[SHARE_COMPUTE] = most[SHARE_COVERED];
    for (int i = 0; i < EXPLAIN_SHARES; i++)
        known += own[i];
    own[SHARE_UNKNOWN] += to - from - known; /* beyond a lane's own window */
}

/* The lane that the path is on longest. */
static uint32_t main_lane(const struct walker *walker)
{
    uint32_t lane = walker->stretches[0].lane;
    for (size_t i = 0; i < walker->stretch_count; i++) {
        const struct stretch *stretch = &walker->stretches[i];
        walker->by_lane[stretch->lane][0] += stretch->to - stretch->from;
        if (walker->by_lane[stretch->lane][0] > walker->by_lane[lane][0])
            lane = stretch->lane;
    }
    for (size_t i = 0; i < walker->stretch_count; i++)
        walker->by_lane[walker->stretches[i].lane][0] = 0;
    return lane;
}

/* Stages of a pipeline compute one after the other: what the path does beyond its longest lane's own is none's excess,
 * but the others' wait for their neighbours. They are compared, too. */
static void add_stages(struct walker *walker, int64_t from, int64_t to, int64_t own[EXPLAIN_SHARES])
{
    int64_t longest[EXPLAIN_SHARES] = {0};
    explain_sums(&walker->walk->lanes[main_lane(walker)].timeline, from, to, longest);
    int64_t beyond =
        own[SHARE_COMPUTE] + own[SHARE_COVERED] - longest[SHARE_COMPUTE] - longest[SHARE_COVERED];
    if (beyond > 0) {
        own[SHARE_COMPUTE] -= beyond;
        own[SHARE_PEER] += beyond;
    }
    for (size_t i = 0; i < walker->member_count; i++)
        walker->by_lane[walker->members[i]][0] = 1;
    for (size_t i = 0; i < walker->stretch_count; i++) {
        int64_t *seen = walker->by_lane[walker->stretches[i].lane];
        if (!*seen)
            walker->members[walker->member_count++] = walker->stretches[i].lane;
        *seen = 1;
    }
    for (size_t i = 0; i < walker->member_count; i++)
        walker->by_lane[walker->members[i]][0] = 0;
}

/* What each share of the path in [from, to) lies above the mean of the other members that wait: who does not is as
 * slow, or in the same group. Returns what they waited, and the sum of those above; tells their part of all members. */
static double compare(const struct walker *walker, int64_t from, int64_t to,
                      const int64_t own[EXPLAIN_SHARES], double more[EXPLAIN_SHARES], double *above,
                      double *part)
{
    double sums[EXPLAIN_SHARES] = {0};
    uint32_t lane = main_lane(walker);
    size_t count = 0;
    *above = *part = 0;
    for (size_t i = 0; i < walker->member_count; i++) {
        int64_t other[EXPLAIN_SHARES] = {0};
        if (walker->members[i] == lane)
            continue;
        const struct explain_timeline *timeline = &walker->walk->lanes[walker->members[i]].timeline;
        explain_sums(timeline, from, to, other);
        if (timeline->end < to) /* done, while the path's rank is not */
            other[SHARE_SKEW] += to - (timeline->end > from ? timeline->end : from);
        if ((other[SHARE_SKEW] + other[SHARE_PEER] - own[SHARE_PEER]) * ALIKE < to - from)
            continue;
        for (int share = 0; share < EXPLAIN_SHARES; share++)
            sums[share] += (double)other[share];
        count++;
    }
    if (count == 0)
        return 0;
    *part = (double)count / (double)walker->member_count;
    for (int i = 0; i < EXPLAIN_SHARES; i++)
        more[i] = (double)own[i] - sums[i] / (double)count;
    double waited = -more[SHARE_SKEW] - fmin(more[SHARE_PEER], 0);
    waited -= fmin(more[SHARE_TRANSFER],
                   0); /* had the last one been in time, compute would cover it on the others, too */
    more[SHARE_COMPUTE] += more[SHARE_COVERED]; /* compute, whatever runs beside it */
    more[SHARE_COVERED] = more[SHARE_SKEW] = 0;
    for (int i = 0; i < EXPLAIN_SHARES; i++)
        *above += more[i] > 0 ? more[i] : 0;
    return waited;
}

/* Keeps the meeting with most members, whose step are compared. */
static void keep_meeting(struct walker *walker, uint32_t lane, uint32_t activity)
{
    size_t count = walker->walk->members(walker->walk->context, lane, activity, walker->met);
    if (count <= walker->member_count)
        return;
    walker->member_count = count;
    memcpy(walker->members, walker->met, count * sizeof *walker->members);
}

/* The path of a step, beside the same time on the other members of the largest group that met. */
static void add_step(struct walker *walker, int64_t from, int64_t to)
{
    int64_t own[EXPLAIN_SHARES] = {0}, *step = walker->path->steps[walker->step], transfer = 0;
    double more[EXPLAIN_SHARES] = {0}, above = 0, waiting;
    uint32_t most[EXPLAIN_SHARES] = {0};
    if (from >= to)
        return;
    add_own(walker, from, to, own, most);
    if (walker->covered > walker->member_count)
        keep_meeting(walker, walker->covered_lane, walker->covered_activity);
    if (walker->sent)
        add_stages(walker, from, to, own);
    double waited = compare(walker, from, to, own, more, &above, &waiting);
    if (waiting <= 0 && walker->covered > 1) { /* nobody waits in that group */
        walker->member_count = 0;
        keep_meeting(walker, walker->covered_lane, walker->covered_activity);
        waited = compare(walker, from, to, own, more, &above, &waiting);
    }
    for (int i = 0; i < EXPLAIN_SHARES; i++) {
        int64_t held = i == SHARE_COMPUTE ? own[i] + own[SHARE_COVERED] : own[i], part = 0;
        if (waited > 0 && more[i] > 0)
            part = llround(waited < above ? more[i] * waited / above : more[i]);
        part = part < held ? part : held;
        transfer += i == SHARE_TRANSFER || i == SHARE_INNER ? part : 0;
        walker->path->excess[most[i]][i] += part;
        if (i == SHARE_COMPUTE)
            walker->path->level += llround((double)part * waiting);
        step[i] += own[i] - part; /* compute may become negative, and covered makes up for it */
    }
    add_kinds(walker, from, to, transfer);
}

/* The exchange whose last rank lets the path's lane go on at a piece; NULL: none. */
static const struct explain_arrival *met_at(const struct walker *walker, uint32_t lane,
                                            const struct explain_piece *piece)
{
    const struct explain_lane *at = &walker->walk->lanes[lane];
    bool waits = piece->share == SHARE_SKEW || piece->share == SHARE_PEER;
    if (!waits && piece->share != SHARE_TRANSFER && piece->share != SHARE_INNER)
        return NULL;
    const struct explain_arrival *arrival =
        explain_arrival_of(at->arrivals, at->arrival_count, piece->exchange);
    return arrival && (waits || arrival->time == piece->begin) ? arrival : NULL;
}

/* On the last rank, for which the others wait, compute may cover all of an exchange, or its host come later still. */
static void keep_covered(struct walker *walker, uint32_t lane, const struct explain_piece *piece)
{
    const struct explain_lane *at = &walker->walk->lanes[lane];
    const struct explain_arrival *arrival =
        explain_arrival_of(at->arrivals, at->arrival_count, piece->exchange);
    if (!arrival || arrival->members <= walker->covered)
        return;
    walker->covered = arrival->members;
    walker->covered_lane = lane;
    walker->covered_activity = piece->exchange;
}

static bool add_stretch(struct walker *walker, uint32_t lane, int64_t from, int64_t to)
{
    struct stretch stretch = {from, to, lane};
    return from >= to ||
           VECTOR_ADD(walker->stretches, walker->stretch_count, walker->stretch_capacity, stretch) ||
           error_memory(walker->err);
}

static bool walk_step(struct walker *walker, uint32_t lane, int64_t from, int64_t to)
{
    const struct explain_walk *walk = walker->walk;
    int64_t now = to, end = to; /* of the stretch */
    size_t still = 0;           /* changes of lane at one time */
    walker->member_count = walker->stretch_count = walker->covered = 0;
    walker->sent = false;
    while (now > from) {
        const struct explain_timeline *timeline = &walk->lanes[lane].timeline;
        const struct explain_piece *piece = &timeline->pieces[explain_piece_at(timeline, now - 1)];
        const struct explain_arrival *met = piece->begin < now ? met_at(walker, lane, piece) : NULL;
        keep_covered(walker, lane, piece);
        bool waits = met && (piece->share == SHARE_SKEW || piece->share == SHARE_PEER) && met->lane != lane;
        if (!waits || still > walk->lane_count) {
            now = piece->begin < now && piece->begin > from ? piece->begin : from;
            still = 0;
        }
        if (!met || still > walk->lane_count || now <= from)
            continue;
        keep_meeting(walker, lane, piece->exchange);
        if (met->lane != lane) {
            if (!add_stretch(walker, lane, now, end))
                return false;
            walker->path->changes++;
            walker->sent |= met->message;
            still++;
            end = now;
            lane = met->lane;
        }
    }
    if (!add_stretch(walker, lane, from, end))
        return false;
    add_step(walker, from, to);
    return true;
}

/* When the last activity of a device before a time ended. */
static int64_t busy_until(const struct explain_timeline *timeline, int64_t time)
{
    static const bool busy[EXPLAIN_SHARES] = {[SHARE_COMPUTE] = true,
                                              [SHARE_COVERED] = true,
                                              [SHARE_TRANSFER] = true,
                                              [SHARE_INNER] = true,
                                              [SHARE_COPY] = true};
    size_t at = explain_piece_at(timeline, time - 1);
    if (time > timeline->end)
        time = timeline->end;
    while (at > 0 && !busy[timeline->pieces[at].share])
        time = timeline->pieces[at--].begin;
    return time;
}

/* A step of the job ends when that of its last device does; of several, on that which is busy longest. */
static uint32_t last_lane(const struct explain_walk *walk, size_t bound)
{
    uint32_t last = 0;
    for (uint32_t i = 1; i < walk->lane_count; i++) {
        const struct explain_lane *lane = &walk->lanes[i], *best = &walk->lanes[last];
        int64_t end = lane->bounds[bound], known = best->bounds[bound];
        if (end > known ||
            (end == known && busy_until(&lane->timeline, end) > busy_until(&best->timeline, end)))
            last = i;
    }
    return last;
}

/* When the first lane begins that runs with another one: a clock of its own tells no time. */
static int64_t first_begin(const struct explain_walk *walk, const struct explain_lane *with)
{
    int64_t begin = with->bounds[0];
    for (size_t i = 0; i < walk->lane_count; i++) {
        const int64_t *bounds = walk->lanes[i].bounds;
        if (bounds[0] < begin && bounds[1] > with->bounds[0])
            begin = bounds[0];
    }
    return begin;
}

static bool find(struct walker *walker)
{
    const struct explain_walk *walk = walker->walk;
    struct explain_path *path = walker->path;
    path->steps = calloc(walk->step_count, sizeof *path->steps);
    path->begins = calloc(walk->step_count + 1, sizeof *path->begins);
    path->excess = calloc(walk->lane_count, sizeof *path->excess);
    path->kinds = calloc(2 * (walk->kind_count + 1), sizeof *path->kinds);
    walker->here = calloc(walk->kind_count + 1, sizeof *walker->here);
    walker->members = calloc(walk->lane_count, sizeof *walker->members);
    walker->by_lane = calloc(walk->lane_count, sizeof *walker->by_lane);
    walker->met = calloc(walk->lane_count, sizeof *walker->met);
    if (!walker->by_lane || !walker->met || !path->steps || !path->begins || !path->excess || !path->kinds ||
        !walker->here || !walker->members)
        return error_memory(walker->err);
    path->slow = path->kinds + walk->kind_count + 1;
    path->step_count = walk->step_count;
    path->lane_count = walk->lane_count;
    path->begins[0] = walk->lanes[last_lane(walk, 0)].bounds[0];
    if (walk->whole)
        path->begins[0] = first_begin(walk, &walk->lanes[last_lane(walk, 1)]);
    for (size_t i = 0; i < walk->step_count; i++) {
        uint32_t lane = last_lane(walk, i + 1);
        if (stop_obeyed_at(i, walker->err))
            return false;
        path->begins[i + 1] = walk->lanes[lane].bounds[i + 1];
        walker->step = i;
        if (!walk_step(walker, lane, path->begins[i], path->begins[i + 1]))
            return false;
    }
    return true;
}

bool explain_path_find(struct explain_path *path, const struct explain_walk *walk, struct error *err)
{
    *path = (struct explain_path){0};
    struct walker walker = {.walk = walk, .path = path, .err = err};
    bool found = find(&walker);
    free(walker.members);
    free(walker.here);
    free(walker.by_lane);
    free(walker.stretches);
    free(walker.met);
    if (!found)
        explain_path_release(path);
    return found;
}

void explain_path_release(struct explain_path *path)
{
    free(path->steps);
    free(path->excess);
    free(path->kinds);
    free(path->begins);
    *path = (struct explain_path){0};
}
