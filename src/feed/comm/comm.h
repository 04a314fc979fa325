/* The processes of a run: one, or as many as mpirun or srun has started.
 *
 * Every function but comm_rank and its like is called by all ranks in the same order, by one thread of each. They give
 * up after `timeout` seconds with an error that names the ranks that did not come; after that only comm_abort and
 * comm_close make sense. With one process they do nothing and cost nothing.
 *
 * MPI lies in a module of its own (feed/comm/module.h), which is loaded when a launcher has started more than one process:
 * libmpi takes longer to load than all the rest of a start. */
#ifndef REHEARSE_FEED_COMM_COMM_H
#define REHEARSE_FEED_COMM_COMM_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comm;

enum comm_operation { COMM_SUM, COMM_MAX, COMM_MIN };

#define COMM_TIMEOUT 600.0 /* seconds; a step may wait long for its storage */

/* How many processes the launcher says that it has started; 1 without one. */
int comm_launched(void);

/* timeout 0: COMM_TIMEOUT. */
struct comm *comm_open(double timeout, struct error *err);

/* NULL is allowed. After an error other ranks may still be waiting: see comm_abort. */
void comm_close(struct comm *comm);

int comm_rank(const struct comm *comm);
int comm_size(const struct comm *comm);
const char *comm_host(const struct comm *comm, int rank);
int comm_hosts(const struct comm *comm); /* how many different ones */

/* Among the ranks of its host. */
int comm_local_rank(const struct comm *comm);
int comm_local_size(const struct comm *comm);

const char *comm_library(const struct comm *comm); /* "Open MPI v4.1.4, …"; NULL: one process */

/* `what` is for messages: "the start of epoch 2". Values are replaced by their sum, greatest or least. */
bool comm_barrier(struct comm *comm, const char *what, struct error *err);
bool comm_reduce_integers(struct comm *comm, enum comm_operation operation, int64_t *values, int count,
                          const char *what, struct error *err);
bool comm_reduce_numbers(struct comm *comm, enum comm_operation operation, double *values, int count,
                         const char *what, struct error *err);

/* From rank 0 to all. */
bool comm_broadcast(struct comm *comm, void *bytes, size_t length, const char *what, struct error *err);

/* Rank 0 is shown the bytes of all ranks, its own among them, in order; one after the other, so that it needs memory
 * for one. `visit` is not called on other ranks. When it fails, so does rank 0, after it has received the rest. */
typedef bool comm_visit(void *context, int rank, const char *bytes, size_t length, struct error *err);
bool comm_gather(struct comm *comm, const void *bytes, size_t length, comm_visit *visit, void *context,
                 const char *what, struct error *err);

/* True on all ranks or on none: did all come with `ok`? Else *err is that of the lowest rank that failed, behind its
 * name where it is another. */
bool comm_agree(struct comm *comm, bool ok, const char *what, struct error *err);

/* Have all ranks the same bytes? False on all where one has others; it is named. */
bool comm_same(struct comm *comm, const void *bytes, size_t length, const char *what, struct error *err);

/* Ends the program of every rank with this exit status. Returns where there is one process only. */
void comm_abort(struct comm *comm, int status);

#endif
