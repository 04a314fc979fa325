/* All ranks of a recorded run, played together in one clock.
 *
 * Each rank keeps its own causes (graph.h). What ties ranks together are exchanges: a collective of a group, or a send
 * and its receive. An exchange begins when all that it needs are there, its transfer takes the time that the network
 * needs, and then it ends on each rank, with the rank's own recorded delay after the end of the transfer. So waiting
 * for others is no part of a kernel's time any more: whoever comes earlier waits longer.
 *
 * Of a recorded exchange, on the aligned clock: the transfer lasts from the last start to the first end. If one rank
 * ended before another one began, the exchange does not need all: a broadcast's root goes on, a small send is buffered;
 * those that began after that end are late ones, which nobody awaits. A kernel that waited in its stream for a cause
 * that its own trace does not tell, and began just when another rank came, began with the exchange.
 *
 * Times of transfers are those recorded; or fitted, a latency and a bandwidth for each group and kind of the trace; or
 * those of a described cluster (network_price.c), over whose links exchanges that run at the same time are shared as
 * sim/engine shares them. Kernels keep their times.
 *
 * Matched is what ranks.h matches. What has no partner keeps its recorded duration, and is counted.
 *
 * Not modelled: packets, loss, congestion control and flow control by pauses (PFC), adaptive routing: links are pipes
 * that are shared fairly. */
#ifndef REHEARSE_SIM_NETWORK_NETWORK_H
#define REHEARSE_SIM_NETWORK_NETWORK_H

#include "cluster/cluster.h"
#include "devices/link.h"
#include "sim/engine/fabric.h"
#include "sim/replay/play.h"
#include "sim/replay/ranks.h"

#define NETWORK_MAX_RANKS 65536 /* of an exchange */

/* A loaded member of the run, and its causes. */
struct network_rank {
    struct replay replay;
    struct replay_graph graph;
};

/* One rank's part of an exchange. */
struct network_part {
    uint32_t member, activity;
    int64_t tail;  /* ns from the end of the transfer, or from its own start if that was later, to its end */
    int32_t after; /* if `freed`: the activity of another stream that ended last before it; -1: none */
    bool needed;   /* the transfer waits for it */
    bool freed;    /* it begins with the exchange */
    uint32_t exchange;
};

struct network_exchange {
    size_t first; /* of its parts */
    uint32_t count, group;
    const char *name;
    bool known;                /* `kind` and `bytes` (by cost/collective.h) are */
    enum collective_kind kind; /* of broadcasts and reductions to one rank: as gathers and scatters */
    double bytes;
    int64_t recorded, time; /* ns of the transfer: as recorded, and to be played */
    int route;              /* over links; -1: none */
    double latency, rate;   /* with a route: seconds that no link changes, and bytes/s */
};

struct replay_network {
    struct arena arena; /* of part_of, routes and links */
    struct network_part *parts;
    struct network_exchange *exchanges;
    size_t part_count, part_capacity, count, capacity;
    uint32_t **part_of;           /* of each member's activities: 1 + its part; 0: none */
    size_t collectives, messages; /* of the exchanges */
    size_t by_order;              /* messages that were matched by order */
    size_t alone;                 /* kernels of communication without a partner */
    size_t kept;                  /* exchanges that a change or a cluster leaves at their recorded time */
    size_t loosened;              /* in the last play: exchanges that did not await all of their ranks */
    struct engine_link *links;
    struct engine_route *routes;
    int link_count, route_count;
};

/* What a collective or message of this name does. NULL: it is none of our kinds. */
struct network_word {
    const char *word; /* that the name holds, in any case and without '_', '-' and ' ' */
    enum collective_kind kind;
    bool gathered; /* bytes are of the result, and those of one rank's input are told */
    bool rooted;   /* to or from one rank: priced as `kind` */
};
const struct network_word *network_word_of(const char *name);

/* Matches the exchanges of a run whose clocks are aligned, and finds their recorded times. On failure *network holds
 * nothing; on success the caller calls network_release. */
bool network_make(struct replay_network *network, const struct ranks *run, const struct network_rank *ranks,
                  struct error *err);
void network_release(struct replay_network *network);

/* Sets the times of exchanges to those recorded, as network_make does. */
void network_record(struct replay_network *network);

/* Sets the times of exchanges to those fitted: for each group and name the least squares of time over bytes. With
 * `data` above 0, times are those of as many data-parallel replicas, by the steps and bytes of a ring. */
bool network_fit(struct replay_network *network, const struct ranks *run, int64_t data, struct error *err);

/* Sets the times of exchanges to those of a resolved cluster, with rank r on its r-th device. Further replicas are on
 * the devices behind those of the run, each as far from each other as in the run. */
bool network_price(struct replay_network *network, const struct ranks *run, const struct cluster *cluster,
                   int64_t data, struct error *err);

/* Sets how many ranks each group has if the run has `data` data-parallel replicas; 0: as before, since it holds none of
 * them. What a group holds, and so how many replicas there are now, is told by its name or description; the one group
 * of a trace that tells nothing holds replicas. ERROR_USAGE, with the groups' names, if replicas are not known, or if a
 * group cannot be divided so. The caller frees *sizes. */
bool network_find_data(const struct replay_network *network, const struct ranks *run, int64_t data,
                       int64_t **sizes, struct error *err);

/* The ranks of an exchange's group; where they are not told, of those that came. */
int64_t network_group_size(const struct ranks *run, const struct network_exchange *exchange);

/* Returns the time from the first start to the last end of all ranks, in ns: of results, or (NULL) as recorded. */
int64_t network_span(const struct ranks *run, const struct network_rank *ranks,
                     const struct replay_result *results);

/* Plays all ranks, each with its result in `results`, of run->count; sets the time from the first start to the last end
 * of all. The caller releases each result, also after a failure. */
bool network_play(struct replay_network *network, const struct ranks *run, const struct network_rank *ranks,
                  const struct replay_options *options, struct replay_result *results, int64_t *span,
                  struct error *err);

#endif
