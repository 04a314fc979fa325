/* The door to MPI: launch.c opens the module `rehearse-mpi.so` (mpi.c, linked with libmpi) and calls it
 * through this table. No call waits: await.c polls, so that it can name the ranks that are late.
 *
 * The environment variable REHEARSE_MPI_MODULE names the module's file; else it lies beside the program,
 * else where it is installed. A module that is built with another MPI (Open MPI, MPICH) can replace it. */
#ifndef REHEARSE_COMM_MODULE_H
#define REHEARSE_COMM_MODULE_H

#include "comm/comm.h"

#define COMM_MODULE_VERSION 2
#define COMM_MODULE_SYMBOL  "rehearse_comm_calls"

enum comm_state { COMM_PENDING, COMM_DONE, COMM_BROKEN };

struct comm_calls {
    int version; /* COMM_MODULE_VERSION of the build */

    bool (*start)(int *rank, int *size);
    void (*stop)(void);

    /* Begin a request that `test` ends; NULL: it could not be begun. The memory must stay until the end. */
    void *(*reduce)(int64_t *values, int count, enum comm_operation operation);
    void *(*broadcast)(void *bytes, int count);
    void *(*send)(int to, int tag, const void *bytes, int count);
    void *(*receive)(int from, int tag, void *bytes, int count); /* from -1: any */

    /* Frees the request unless it is pending. */
    enum comm_state (*test)(void *request);

    /* Returns true if there is a message with this tag; *from gets its sender. */
    bool (*probe)(int tag, int *from);
};

/* Opens a comm over given calls, which must outlive it: for tests. */
struct comm *comm_open_with(const struct comm_calls *calls, double timeout, struct error *err);

#endif
