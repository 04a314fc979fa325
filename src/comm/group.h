/* Groups of ranks, collectives in them and messages between their ranks, all begun and polled: measuring and playing
 * plans have many of them under way at once.
 *
 * A group of NULL is all ranks. Ranks are numbered within the group. What is begun keeps its memory until it has
 * ended. Bytes are those of docs/collectives.md: of the gathered result, of the whole input of a reduce-scatter, else
 * of the buffer of one rank; sums are of floats. At most COMM_MAX_BYTES at once. */
#ifndef REHEARSE_COMM_GROUP_H
#define REHEARSE_COMM_GROUP_H

#include "comm/comm.h"

#define COMM_MAX_BYTES ((int64_t)1 << 30)

enum comm_kind {
    COMM_BARRIER,
    COMM_ALL_REDUCE,
    COMM_ALL_GATHER,
    COMM_REDUCE_SCATTER,
    COMM_ALL_TO_ALL,
    COMM_BROADCAST, /* from rank 0 of the group, `out` on all */
};

enum comm_state { COMM_PENDING, COMM_DONE, COMM_BROKEN };

struct comm_group;

/* Makes one group of all ranks that give the same colour, in the order of their keys; *group is NULL for a negative
 * colour. All ranks call it. It first waits for all of them, with the limit of comm_open. */
bool comm_group_open(struct comm *comm, int colour, int key, const char *what, struct comm_group **group,
                     struct error *err);

/* All ranks of the group call it, or none. NULL is allowed. */
void comm_group_close(struct comm *comm, struct comm_group *group);

int comm_group_rank(const struct comm *comm, const struct comm_group *group);
int comm_group_size(const struct comm *comm, const struct comm_group *group);

/* Begins a collective. `in` of an all-reduce may be NULL: then `out` has the values; else in and out do not overlap.
 * Gathers, scatters and all-to-alls cut `bytes` into one equal piece for each rank. Returns the request; NULL: it
 * could not be begun. */
void *comm_collect(struct comm *comm, struct comm_group *group, enum comm_kind kind, const void *in,
                   void *out, int64_t bytes);

/* Begin a message; tag >= 0. Between two ranks, messages of one tag and group arrive in order. */
void *comm_send(struct comm *comm, struct comm_group *group, int to, int tag, const void *bytes,
                int64_t length);
void *comm_receive(struct comm *comm, struct comm_group *group, int from, int tag, void *bytes,
                   int64_t length);

/* Frees the finished ones of `count` requests and sets them to NULL; NULLs are skipped. `states` may be NULL; else that
 * of each request, where a NULL is COMM_DONE. Returns how many are pending; -1: at least one is lost, and so are its
 * connections. */
int comm_poll(struct comm *comm, void **requests, int count, enum comm_state *states);

/* Waits until one request has ended, as long as comm_open allows. For measurements, where microseconds count: it never
 * sleeps. */
bool comm_spin(struct comm *comm, void *request, const char *what, struct error *err);

/* ---- ranks that are lost while the others go on: ULFM of Open MPI 5 ---- */

/* Returns whether MPI survives lost ranks; else sets the reason. */
bool comm_may_lose(const struct comm *comm, struct error *err);

/* Sets the ranks that MPI knows to have failed; returns how many. */
int comm_failed(struct comm *comm, int *ranks, int room);

/* Agrees with all ranks that live that this is the end, within some seconds. Afterwards the process ends by _exit:
 * where ranks were lost, a launcher may wait for ever for those that call MPI_Finalize. */
void comm_agree_to_leave(struct comm *comm, double seconds);

#endif
