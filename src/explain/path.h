/* The critical path through ranks, and what each cause costs on it.
 *
 * Problem. Eight ranks each lose time, but what one loses another may hide: a rank that waits for the last one of a
 * collective loses nothing that it could mend. What a cause costs the job is what of it lies on the path that decides
 * when the step ends.
 *
 * Definition. The path is walked back in time from the end of a step, on the device whose step ends last. A time on a
 * device belongs to the path by its share (timeline.h), but time in which it waits for the last rank of a collective
 * (skew), or for the other side of a message, belongs to that rank: the path goes on there, at the same time. So the
 * path has a piece for every nanosecond of the step, on one device each, and its length is the step's, exactly.
 *
 * Skew. In each step the path is compared with the same time on the other members of the largest group that met on
 * it, also beside compute (where none of these waits, of the largest that compute covers; and, where it goes along
 * messages, on all lanes that it visits), but for the lane that it is on longest. Compute of other stages that such a
 * path has beyond that lane's own is no excess: the others waited for their neighbours. The path never waits for a
 * last rank, the others do. Shares add up to the same time on both sides; so what the others waited, w (their mean),
 * is exactly the sum over shares of (the path's, less the others' mean). Of w each share in which the path exceeds
 * the others costs its part, in proportion: a rank whose kernels take longer, one whose host or data came late, one
 * whose link is slow. That part is moved from the path's share to the excess of the rank that has most of it; what
 * stays is what all ranks have. The others are those that wait for a hundredth of the time at least: who does not is
 * as slow, or in the group of the slow link. Exposed communication in the largest groups that the others have beyond
 * the path is counted as waiting: compute would cover it, had the last rank been in time. Where no rank, nor several
 * that compute as long, have two thirds of all excess in compute, it is jitter, and costs what the slowest of n lies
 * above the mean of all n: of what it lies above the k that wait, k / n.
 *
 * Bound. The pieces of a path are at most the pieces in the window of each device that it visits: one pass, and one
 * look-up in each other member's sums for each step.
 *
 * Check in tests/explain/truth_test.c: runs whose cause and its size are known. */
#ifndef REHEARSE_EXPLAIN_PATH_H
#define REHEARSE_EXPLAIN_PATH_H

#include "explain/timeline.h"

/* Where the causes of an event lead (chain.c): `time` ns after the end of an exchange of the rank, or, from
 * EXPLAIN_NONE, to that time of the rank's own clock. */
struct explain_cause {
    int64_t time;
    uint32_t from;
};

/* An exchange: why it began, when it ended in the rank's clock; and in the job's, as played (INT64_MIN: not). */
struct explain_chain {
    struct explain_cause start;
    int64_t end, played;
};

/* A device of a rank. */
struct explain_lane {
    struct explain_timeline timeline;
    struct explain_arrival *arrivals; /* in order of activity */
    size_t arrival_count, arrival_capacity;
    int64_t *bounds; /* of its steps, step_count + 1, in the job's clock */
    uint32_t member; /* of the run */
    int64_t device;
    /* private to the reader */
    int64_t shift;       /* to the job's clock */
    uint32_t *exchanges; /* activities that communicate */
    int32_t *step_of;    /* of the rank's own steps */
    uint32_t *lasts;     /* of each of them the activity launched in it that ends last; EXPLAIN_NONE: none */
    struct explain_chain *chains, *ends; /* of its exchanges; of those activities: `start` is their end */
    size_t exchange_count, host_steps;
};

struct explain_path {
    int64_t (*steps)[EXPLAIN_SHARES]; /* of each step: what all ranks have; skew: waits without a known end */
    int64_t (*excess)[EXPLAIN_SHARES]; /* of each lane: what it alone has, in all steps */
    int64_t level;         /* of the excess in compute: what its ranks lie above the mean of all */
    int64_t *kinds, *slow; /* exposed communication by kind of exchange: as of all ranks, and excess */
    int64_t *begins;       /* of steps, and the end of the last one */
    size_t step_count, lane_count, changes;
};

struct explain_walk {
    const struct explain_lane *lanes;
    size_t lane_count, step_count;
    bool whole; /* the step is the recording, from the first begin of all lanes */
    /* Returns the kind of an exchange, and the lanes that take part in it (into `members`, room for all). */
    size_t (*members)(const void *context, uint32_t lane, uint32_t activity, uint32_t *members);
    int32_t (*kind)(const void *context, uint32_t lane, uint32_t activity);
    size_t kind_count;
    const void *context;
};

/* On failure *path holds nothing. */
bool explain_path_find(struct explain_path *path, const struct explain_walk *walk, struct error *err);

void explain_path_release(struct explain_path *path);

#endif
