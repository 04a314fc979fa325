/* The transport of measured messages: MPI, or NCCL between GPUs.
 *
 * All ranks of a group call `run` together, with the same work. It performs the work `count` times back to back and
 * returns when all of it has arrived at this rank. */
#ifndef REHEARSE_MEASURE_LINKS_CARRIER_H
#define REHEARSE_MEASURE_LINKS_CARRIER_H

#include "comm/group.h"
#include "core/error.h"
#include "devices/link.h"

#include <stdbool.h>
#include <stdint.h>

enum link_task {
    LINK_COLLECTIVE, /* one collective of the kind; a send is half of a message to rank 1 and one back */
    LINK_STREAM,     /* rank 0 sends LINK_STREAMED messages to rank 1 */
    LINK_BOTH,       /* the same, and as many from 1 to 0 at the same time */
    LINK_OVERLAP,    /* one message each way at the same time, and computing meanwhile */
};

#define LINK_STREAMED 8 /* messages of a stream: their start and end do not count then */

struct link_work {
    enum link_task task;
    enum collective_kind kind;
    int64_t bytes;
    int64_t loops; /* of computing, see link_compute; 0: none */
    int64_t poll;  /* loops between looks at the messages; 0: none while it computes */
};

struct carrier {
    const char *name;   /* "mpi", "nccl 2.21.5" */
    const char *device; /* "NVIDIA H100 80GB HBM3"; NULL: the host's memory */
    int64_t memory;     /* bytes of the device; 0: unknown */
    double *seconds;    /* of this rank's last run, by the device's own clock; NULL: it has none */
    void *context;

    /* A group of some ranks; comm_group_open's conditions hold. *group is NULL for a rank outside. */
    bool (*open)(void *context, int colour, int key, void **group, struct error *err);
    void (*close)(void *context, void *group);

    bool (*run)(void *context, void *group, const struct link_work *work, int64_t count, struct error *err);
    void (*release)(void *context);
};

/* Make a carrier over all ranks, with room for messages of `bytes`. All ranks call it, and it fails on all or none. The
 * caller releases it by carrier_release. */
bool carrier_open_mpi(struct carrier *carrier, struct comm *comm, int64_t bytes, struct error *err);

/* Over libnccl.so.2 and libcuda.so.1, found by these paths or names (NULL: by those), one GPU for each rank. The error
 * says what is missing. */
bool carrier_open_nccl(struct carrier *carrier, struct comm *comm, const char *nccl, const char *cuda,
                       int64_t bytes, struct error *err);

void carrier_release(struct carrier *carrier);

/* Multiplies numbers, `loops` times. */
void link_compute(int64_t loops);

#endif
