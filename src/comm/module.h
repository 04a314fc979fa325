/* The door to MPI: operations.c opens the module `rehearse-mpi.so` (mpi.c, linked with libmpi) and calls it
 * through this table. No call waits: operations.c polls, so that it can name the ranks that are late.
 *
 * The environment variable REHEARSE_MPI_MODULE names the module's file; else it lies beside the program,
 * else where it is installed. A module that is built with another MPI (Open MPI, MPICH) can replace it. */
#ifndef REHEARSE_COMM_MODULE_H
#define REHEARSE_COMM_MODULE_H

#include "comm/group.h"

#define COMM_MODULE_VERSION 4
#define COMM_MODULE_SYMBOL  "rehearse_comm_calls"

struct comm_calls {
    int version; /* COMM_MODULE_VERSION of the build */

    bool (*start)(int *rank, int *size);
    void (*stop)(void);

    /* Begin a request that `test` ends; NULL: it could not be begun. The memory must stay until the end. */
    void *(*reduce)(int64_t *values, int count, enum comm_operation operation);
    void *(*broadcast)(void *bytes, int count);

    /* In a group that `split` has made; NULL: all ranks. */
    void *(*send)(void *group, int to, int tag, const void *bytes, int count);
    void *(*receive)(void *group, int from, int tag, void *bytes, int count); /* from -1: any */

    /* Counts are floats of sums, else bytes; where every rank has its own piece, of one piece. */
    void *(*collect)(void *group, enum comm_kind kind, const void *in, void *out, int count);

    /* Frees the request unless it is pending. */
    enum comm_state (*test)(void *request);

    /* As comm_poll. */
    int (*test_some)(void **requests, int count, enum comm_state *states);

    /* Makes a group of the ranks with this colour; *group is NULL for a negative one. The only call that waits, as MPI
     * has no other: the ranks have agreed just before it. */
    bool (*split)(int colour, int key, void **group, int *rank, int *size);
    void (*drop)(void *group);

    /* Returns true if there is a message with this tag; *from gets its sender. */
    bool (*probe)(int tag, int *from);

    /* Ranks that are lost without all others (ULFM). Returns why this MPI or this start of it cannot do that; NULL: it
     * can. */
    const char *(*cannot_lose)(void);
    /* Sets the ranks that MPI knows to have failed; returns how many. */
    int (*failed)(int *ranks, int room);
    /* Begins the agreement of all ranks that live, as a request. */
    void *(*agree)(void);
};

/* Opens a comm over given calls, which must outlive it: for tests. */
struct comm *comm_open_with(const struct comm_calls *calls, double timeout, struct error *err);

#endif
