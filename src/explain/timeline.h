/* The time of one device, cut into pieces that each have one meaning.
 *
 * Problem. Activities overlap, and between them a device is idle for reasons that lie in calls of the host. To say
 * where a step's time went, every instant of it must be counted once.
 *
 * Definition. Let C, X and M be the unions of the intervals of compute kernels, of communication and of copies (as
 * replay_class). An instant t of the window is
 *   compute    in C, not in X
 *   covered    in C and in X: compute that hides communication
 *   skew       in X, not in C, and the running collective's last rank did not arrive yet; or after the last activity,
 *              while another rank still runs
 *   transfer   in X, not in C, otherwise: exposed communication, in the largest groups that the device is in
 *   inner      the same, in smaller groups
 *   copy       in M, not in C or X
 *   idle       in none; by what the device waited for, found by walking back, along the causes that decided
 *              (sim/replay/graph.h), from the start that ends the gap to the gap's begin:
 *     data       work of the host while it awaits its data loader (spans that were recorded of it)
 *     host       other work of the host, in its calls and between them: the launch came late
 *     launch     from the call to the start, the typical latency
 *     stream     between activities: the order of a stream, events of other streams
 *     peer       an activity of another device that the trace names as the cause, or the other side of a send or
 *                receive, also while that runs
 *     unknown    nothing in the trace says why
 *              of a host alone, whose operations stand for activities, all is work of the host
 * Of several collectives that run, the one that began first is meant. Communication and copies that no compute kernel
 * waited for are not in its way: where the causes of the compute kernel that ends such a time lead to the host or to
 * its stream, that part is idle time by that cause, though an exchange runs. A launch that came late costs only what
 * lies behind the activity's other causes: until an exchange that it awaits has ended it could not have begun anyway.
 * By construction the shares of a window add up to its length exactly, in whole nanoseconds, whatever the trace.
 *
 * Bound. One pass over starts and ends, and over each event of the host at most once for each gap that it lies in:
 * O(n log n) for the ends' order. 16 bytes a piece, about 2.5 pieces an activity; the graph is not needed afterwards.
 *
 * Check in tests/explain/timeline_test.c: random runs against a count of every nanosecond, and sums of parts. */
#ifndef REHEARSE_EXPLAIN_TIMELINE_H
#define REHEARSE_EXPLAIN_TIMELINE_H

#include "sim/replay/graph.h"

enum explain_share {
    SHARE_COMPUTE,
    SHARE_COVERED,
    SHARE_TRANSFER,
    SHARE_INNER,
    SHARE_SKEW,
    SHARE_COPY,
    SHARE_DATA,
    SHARE_HOST,
    SHARE_LAUNCH,
    SHARE_STREAM,
    SHARE_PEER,
    SHARE_UNKNOWN,
    EXPLAIN_SHARES
};

/* The key of documents, and the head of a column. */
extern const struct explain_share_words {
    const char *key, *head;
} explain_shares[EXPLAIN_SHARES];

#define EXPLAIN_NONE ((1U << 28) - 1)

struct explain_piece {
    int64_t begin;      /* ns of the job's clock; it ends where the next one begins */
    uint32_t what;      /* the activity that runs, or whose start ends the gap; of a peer: the one awaited */
    unsigned share : 4; /* enum explain_share */
    unsigned exchange : 28; /* the activity that communicates; EXPLAIN_NONE: none */
};

struct explain_span {
    int64_t begin, end;
};

/* What a timeline is made of; times are the replay's. */
struct explain_source {
    const struct replay_graph *graph;
    int64_t device; /* of the replay */
    const struct explain_span
        *data; /* in the replay's clock: the host awaits its data loader; in order, apart */
    size_t data_count;
    bool causes;                    /* else idle time is unknown */
    int64_t from, to;               /* the window at least; both 0: that of the activities */
    int64_t launched, launched_end; /* only activities that were launched in between; both 0: all */
};

/* When the last rank of an activity's collective began it. */
struct explain_arrival {
    uint32_t activity;
    uint32_t lane;     /* the last one's timeline, of the caller's list */
    int64_t time;      /* of the job's clock; INT64_MIN: unknown */
    uint32_t exchange; /* the caller's number of the collective */
    uint32_t members;  /* of its group */
    bool
        together; /* its ranks begin at one time: what they were idle for before it was a wait for the last */
    bool message; /* a send or receive, of which one side may be the last */
};

struct explain_timeline {
    struct explain_piece *pieces; /* one more ends them */
    size_t count, capacity;
    int64_t (*sums)[EXPLAIN_SHARES]; /* of the pieces before each EXPLAIN_BLOCK-th one; NULL: not finished */
    int64_t begin, end;
};

#define EXPLAIN_BLOCK 64

/* On failure *timeline holds nothing; a device without an activity has a timeline without pieces. */
bool explain_timeline_make(struct explain_timeline *timeline, const struct explain_source *source,
                           struct error *err);

/* Adds `shift` to the times, from the replay's clock to the job's; tells skew from transfer by arrivals in order of
 * activity; and makes sums. Called once, whatever it returns. */
bool explain_timeline_finish(struct explain_timeline *timeline, int64_t shift,
                             const struct explain_arrival *arrivals, size_t count, struct error *err);

/* Returns the edge that decided when an event came, as recorded, and the time from which its lag counts; NULL: it is
 * the end of a call, which takes its own time. */
const struct replay_edge *explain_deciding_edge(const struct replay_graph *graph, uint32_t event,
                                                int64_t *since);

/* Returns the arrival of an activity, or NULL. */
const struct explain_arrival *explain_arrival_of(const struct explain_arrival *arrivals, size_t count,
                                                 uint32_t activity);

void explain_timeline_release(struct explain_timeline *timeline);

/* Returns the piece in which a time lies; times outside lie in the first or last one. There has to be one. */
size_t explain_piece_at(const struct explain_timeline *timeline, int64_t time);

/* Adds to `sums` the shares of a window. */
void explain_sums(const struct explain_timeline *timeline, int64_t from, int64_t to,
                  int64_t sums[EXPLAIN_SHARES]);

#endif
