/* Which processes of a trace are workers, and which load data for them. */
#ifndef REHEARSE_TRACE_ROLES_H
#define REHEARSE_TRACE_ROLES_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct role {
    int64_t pid;
    int worker; /* its number, or whose data it loads */
    bool loads;
};

struct roles {
    struct role *roles; /* by pid */
    int count, workers, loaders;
};

struct roles_rules {
    const struct trace_reader *reader;
    const char *workload; /* "dlio": none loads; "bert": those who would are not of the run; NULL: another */
    bool turns;           /* as in the VLDB study: loaders take turns, whoever their parents are */
};

/* Of the processes that are looked at, each once. One that is on a GPU is a worker, the others load data; of two on
 * one GPU the second is not of this run. Where none of them is on a GPU all are workers. A loader's worker is its nearest
 * ancestor where that is known, else loaders take turns by their pids. False only for want of memory. */
bool roles_find(struct roles *roles, const struct roles_rules *rules, const int64_t *pids, int count,
                struct error *err);

/* NULL: not of this run. */
const struct role *roles_of(const struct roles *roles, int64_t pid);

void roles_release(struct roles *roles);

#endif
