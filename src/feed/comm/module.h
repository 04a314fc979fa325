/* The door to MPI: launch.c opens the module `rehearse-mpi.so` (mpi.c, linked with libmpi) and calls it through this
 * table. Nothing in it waits: await.c polls, so that it sees time pass and can say who is late.
 *
 * It is looked for as the environment variable REHEARSE_MPI_MODULE says, else beside the program, else where it is
 * installed. One that is built with another MPI (Open MPI, MPICH) takes its place. */
#ifndef REHEARSE_FEED_COMM_MODULE_H
#define REHEARSE_FEED_COMM_MODULE_H

#include "feed/comm/comm.h"

#define COMM_MODULE_VERSION 1
#define COMM_MODULE_SYMBOL  "rehearse_comm_calls"

enum comm_type { COMM_INTEGER, COMM_NUMBER };
enum comm_state { COMM_PENDING, COMM_DONE, COMM_BROKEN };

struct comm_calls {
    int version; /* COMM_MODULE_VERSION of the build */

    bool (*start)(int *rank, int *size);
    void (*stop)(void);
    void (*abort)(int status);
    const char *(*describe)(void); /* name and version of the MPI */

    /* Begun here, ended by `test`; NULL: cannot be begun. Memory is the caller's until the end. */
    void *(*reduce)(void *values, int count, enum comm_type type, enum comm_operation operation);
    void *(*broadcast)(void *bytes, int count);
    void *(*send)(int to, int tag, const void *bytes, int count);
    void *(*receive)(int from, int tag, void *bytes, int count); /* from -1: any */

    /* Frees the request unless it is pending. */
    enum comm_state (*test)(void *request);

    /* Is there a message with this tag? *from is who sent it. */
    bool (*probe)(int tag, int *from);
};

/* A comm over calls that are already there: for tests. `calls` lives as long as the comm. */
struct comm *comm_open_with(const struct comm_calls *calls, double timeout, struct error *err);

#endif
