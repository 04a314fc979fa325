/* A timeline: which device did which task when. What is played and what is replayed give their tasks to a sink, one at
 * a time; writers (Chrome trace, CSV, figures, shares of time) are sinks, so that no run has to be held in memory. */
#ifndef REHEARSE_SIM_TIMELINE_H
#define REHEARSE_SIM_TIMELINE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct timeline_store;

enum timeline_stream {
    STREAM_COMPUTE,
    STREAM_COLLECTIVE,
    STREAM_SEND,
    STREAM_RECEIVE,
    STREAM_HOST, /* copies to and from the host, loading, checkpoints */
    STREAM_KINDS
};

enum timeline_kind {
    TASK_FORWARD,
    TASK_INPUT,  /* gradient of a stage's input */
    TASK_WEIGHT, /* gradients of its weights */
    TASK_BACKWARD,
    TASK_RECOMPUTE,
    TASK_SEND,
    TASK_RECEIVE,
    TASK_COLLECTIVE,
    TASK_OPTIMIZER,
    TASK_LOAD, /* of training data */
    TASK_SAVE, /* of a checkpoint */
    TASK_OTHER,
    TASK_KINDS
};

/* Of a task that can begin once others have ended, `cause` is the one that ended last: the way from the last task of a
 * run back along causes is its critical path. Ids count from 0 in the order of calls. */
struct timeline_task {
    int64_t id,
        cause; /* cause -1: none, the task begins with the run or with the end of the task before it */
    int device, stream; /* stream: enum timeline_stream, or the number of a recorded stream */
    enum timeline_kind kind;
    int stage, layer;   /* -1: none */
    int64_t microbatch; /* -1: none */
    double begin, end;  /* seconds from the beginning of the run */
    double bytes;       /* moved; 0: none */
    const char *name;   /* "all-reduce of gradients"; valid during the call */
    int64_t message;    /* of a send and its receive, the same number; 0: none */
    int peer;           /* of a message: 1 + the other device; 0: unknown */
    int group;          /* of a collective: the number of its timeline_group; 0: unknown */
};

/* Devices that meet in collectives, told before the first task; valid during the call. */
struct timeline_group {
    int number;       /* from 1 */
    const char *name; /* what for: "gradients" */
    const char *what; /* "allreduce", as NCCL's traces write it; NULL: unknown */
    const int *ranks; /* sorted */
    int count;
};

/* Memory of a device from a time on, in bytes, by its parts; valid during the call. */
struct timeline_memory {
    int device;
    double time, parameters, gradients, optimizer, activations, working;
};

/* A link from a time on; valid during the call. */
struct timeline_link {
    int number;                  /* of the link */
    int device;                  /* that uses it, by whose tracks it is shown */
    const char *name;            /* "card 0 of node 3, out" */
    double time, rate, capacity; /* bytes/s */
};

/* Each function may be NULL. False ends the run with *err. */
struct timeline_sink {
    void *context;
    bool (*task)(void *context, const struct timeline_task *task, struct error *err);
    bool (*memory)(void *context, const struct timeline_memory *memory, struct error *err);
    bool (*link)(void *context, const struct timeline_link *link, struct error *err);
    bool (*group)(void *context, const struct timeline_group *group, struct error *err);
};

/* Several sinks as one; each task goes to all of them. */
#define TIMELINE_MAX_SINKS 8
struct timeline_sinks {
    struct timeline_sink sinks[TIMELINE_MAX_SINKS];
    int count;
};
void timeline_add_sink(struct timeline_sinks *sinks, struct timeline_sink sink);

/* Returns a sink that gives everything to all of them; they must stay as long. */
struct timeline_sink timeline_to_all(struct timeline_sinks *sinks);

/* "forward", "input gradient", …; "compute", "collective", … */
extern const char *const timeline_kind_names[TASK_KINDS], *const timeline_stream_names[STREAM_KINDS];

/* The tasks of a timeline as a table: comma-separated values, a line for each task, in the order in which they come. */

/* Writes the header line and returns a sink that writes the tasks; the stream must stay open as long. Failures to write
 * are left to the stream, which is checked where it is closed. */
struct timeline_sink timeline_csv(FILE *out);

/* The tasks of a timeline as a trace (trace/store/store.h), so that what was played, what was simulated and what was
 * recorded can be compared. A device is a process; what it computes is a call of class `other` without a file; messages
 * and collectives are written to and read from a socket, training data and checkpoints from and to a file. */

/* `origin`: nanoseconds since 1970 of the timeline's second 0. NULL on failure. */
struct timeline_store *timeline_store_open(const char *path, int64_t origin, struct error *err);
struct timeline_sink timeline_store_sink(struct timeline_store *store);

/* Completes the file if `done`, else removes it. Returns false if it is not complete. NULL is allowed. */
bool timeline_store_close(struct timeline_store *store, bool done, struct error *err);

#endif
