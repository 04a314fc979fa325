/* Separates a trace's processes into workers and their data loaders. */
#ifndef REHEARSE_TRACE_ROLES_H
#define REHEARSE_TRACE_ROLES_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct role {
    int64_t pid;
    int worker; /* its own number, or that of its worker */
    bool loads;
};

struct roles {
    struct role *roles; /* by pid */
    int count, workers, loaders;
};

struct roles_rules {
    const struct trace_reader *reader;
    const char *workload; /* "dlio": no loaders; "bert": loaders are not part of the run; NULL: another */
    bool turns;           /* as in the VLDB study: loaders are assigned in turn, whatever their parents */
};

/* Assigns roles to the given processes. A process on a GPU is a worker, the others load data; the second
 * process on a GPU is not part of the run. If none is on a GPU, all are workers. A loader belongs to its
 * nearest known ancestor among the workers, else loaders are assigned in turn by pid. False only without
 * memory. */
bool roles_find(struct roles *roles, const struct roles_rules *rules, const int64_t *pids, int count,
                struct error *err);

/* NULL: not part of the run. */
const struct role *roles_of(const struct roles *roles, int64_t pid);

void roles_release(struct roles *roles);

#endif
