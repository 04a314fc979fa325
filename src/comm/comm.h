/* The processes of a run: one, or as many as mpirun or srun has started.
 *
 * All ranks call every function except the getters in the same order, from one thread each. Calls time out
 * after `timeout` seconds with an error that names the missing ranks; then only comm_close may be called.
 * With one process they do nothing and cost nothing.
 *
 * MPI is a separate module (comm/module.h), loaded only if a launcher has started more than one
 * process: loading libmpi takes longer than the rest of a start. */
#ifndef REHEARSE_COMM_COMM_H
#define REHEARSE_COMM_COMM_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comm;

enum comm_operation { COMM_SUM, COMM_MAX, COMM_MIN };

#define COMM_TIMEOUT 600.0 /* seconds; a step may wait long for its storage */

/* Returns the number of processes that the launcher claims; 1 without a launcher. */
int comm_launched(void);

/* Connects the processes; comm_close ends it. timeout 0: COMM_TIMEOUT. NULL on failure. */
struct comm *comm_open(double timeout, struct error *err);

/* NULL is allowed. */
void comm_close(struct comm *comm);

int comm_rank(const struct comm *comm);
int comm_size(const struct comm *comm);
const char *comm_host(const struct comm *comm, int rank);
int comm_hosts(const struct comm *comm); /* number of different hosts */

double comm_timeout(const struct comm *comm); /* seconds */

/* Return rank and size within the host. */
int comm_local_rank(const struct comm *comm);
int comm_local_size(const struct comm *comm);

/* Puts sum, maximum or minimum into values. `what` is for errors: "the start of epoch 2". */
bool comm_reduce_integers(struct comm *comm, enum comm_operation operation, int64_t *values, int count,
                          const char *what, struct error *err);

/* From rank 0 to all. */
bool comm_broadcast(struct comm *comm, void *bytes, size_t length, const char *what, struct error *err);

/* Passes the bytes of all ranks, including its own, to rank 0's `visit`, in order and one at a time to save
 * memory. Other ranks do not call `visit`. If it fails, so does rank 0, after receiving the rest. */
typedef bool comm_visit(void *context, int rank, const char *bytes, size_t length, struct error *err);
bool comm_gather(struct comm *comm, const void *bytes, size_t length, comm_visit *visit, void *context,
                 const char *what, struct error *err);

/* Returns true on all ranks if all came with `ok`, else false on all. *err is then the error of the lowest
 * failed rank, with its name. */
bool comm_vote(struct comm *comm, bool ok, const char *what, struct error *err);

/* The same. The static analyser, which cannot look into other files, sees that it returns false without `ok`. */
static inline bool comm_agree(struct comm *comm, bool ok, const char *what, struct error *err)
{
    return comm_vote(comm, ok, what, err) && ok;
}

/* Returns true if all ranks have the same bytes; else false on all, and the error names the rank. */
bool comm_same(struct comm *comm, const void *bytes, size_t length, const char *what, struct error *err);

#endif
