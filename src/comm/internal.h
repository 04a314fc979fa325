/* Inside comm. */
#ifndef REHEARSE_COMM_INTERNAL_H
#define REHEARSE_COMM_INTERNAL_H

#include "comm/module.h"

#define COMM_HOST_SIZE 65

/* Error messages of operations and of waiting ranks: operations.c. */
enum comm_tag {
    COMM_TAG_LENGTH = 1,
    COMM_TAG_BYTES,
    COMM_TAG_LATE,
    COMM_TAG_ASK,
    COMM_TAG_HERE,
    COMM_TAG_VERDICT,
    COMM_TAG_FREE = 16, /* from here on those of group.h */
};

struct comm {
    const struct comm_calls *calls; /* NULL: one process */
    int rank, size;
    double timeout; /* seconds */
    bool broken;
    char (*hosts)[COMM_HOST_SIZE]; /* [size] */
    int host_count, local_rank, local_size;
};

/* Waits for a request that has been begun (NULL is one that could not be). */
bool comm_await_busily(struct comm *comm, void *request, const char *what, struct error *err);

#endif
