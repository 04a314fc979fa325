/* Groups the processes of a trace into rows. */
#ifndef REHEARSE_FIGURE_TRACE_WORKERS_H
#define REHEARSE_FIGURE_TRACE_WORKERS_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stdint.h>

/* Parents are the workers of trace/roles.h and all processes that are neither worker nor loader. */
enum trace_grouping {
    TRACE_ALL_WORKERS, /* one row */
    TRACE_EACH,        /* a row for every process */
    TRACE_PARENTS,     /* a row for every parent with its loaders */
    TRACE_FAMILIES,    /* two rows for every parent: itself, its loaders */
    TRACE_ROLES,       /* two rows: parents, loaders */
};
extern const char *const trace_grouping_names[]; /* ended by NULL */

#define TRACE_MAX_WORKERS 512 /* maximum number of rows; further processes are counted as one */
#define TRACE_MAX_ROWS    24

/* A process that does I/O; its threads count as one. */
struct trace_worker {
    int64_t pid;     /* TRACE_NONE: not known */
    int64_t process; /* latest id of the process; where threads are told apart, of its first thread */
    int64_t calls;
    int row; /* that trace_workers_group chose */
};

struct trace_workers {
    struct trace_worker items[TRACE_MAX_WORKERS + 1]; /* the last: all further ones */
    int count;
    int16_t *of_process; /* index + 1 in items, by id of process; 0: not seen yet */
    int64_t processes;
    int rows;
    char (*titles)[96]; /* of the rows */
};

bool trace_workers_init(struct trace_workers *workers, const struct trace_reader *reader, struct error *err);
void trace_workers_release(struct trace_workers *workers);

/* Returns the index of a process (id) in items, adding new ones. Called for each call, in order of time. */
int trace_workers_find(struct trace_workers *workers, const struct trace_reader *reader, int64_t process);

/* Gives every worker its row, 0..rows-1, and the rows their titles. Rows with up to
 * a hundredth of all calls, and the smallest ones where there are too many to draw, become one row at the end. */
bool trace_workers_group(struct trace_workers *workers, const struct trace_reader *reader,
                         enum trace_grouping grouping, struct error *err);

#endif
