/* Which processes of a trace are workers, and which load data for them. */
#ifndef REHEARSE_TRACE_EXPORT_ROLES_H
#define REHEARSE_TRACE_EXPORT_ROLES_H

#include "trace/export_study.h"

/* One process that is drawn. */
struct role {
    int64_t pid;
    int worker; /* its number, or whose data it loads */
    bool loads;
};

struct roles {
    struct role *roles; /* by pid */
    int count, workers, loaders;
};

/* A process that reads and is on a GPU is a worker, one that only reads loads data; of two on one GPU the second is
 * not of this run. On no GPU, and in runs of DLIO, all that read are workers. A loader's worker is its nearest ancestor
 * where that is known, else loaders take turns, as in the study. False only for want of memory and failed reading. */
bool roles_find(struct roles *roles, const struct study *study, struct error *err);

/* NULL: not of this run. */
const struct role *roles_of(const struct roles *roles, int64_t pid);

void roles_release(struct roles *roles);

#endif
