/* Runs a workload on emulated accelerators (epochs, steps, evaluations, checkpoints) and returns its metrics.
 *
 * Every process has the same number of accelerators; those of process r start at r × count. A step of an
 * accelerator waits for the batch, copies it, computes until an absolute deadline and meets the others
 * (barrier). */
#ifndef REHEARSE_FEED_RUN_H
#define REHEARSE_FEED_RUN_H

#include "comm/comm.h"
#include "feed/checkpoint/checkpoint.h"
#include "feed/limits.h"
#include "feed/loader/accelerator.h"
#include "feed/loader/order.h"
#include "feed/origin.h"
#include "feed/result/metrics.h"
#include "feed/result/steps.h"
#include "feed/watch.h"
#include "feed/workload/workload.h"

enum run_drop { RUN_DROP_NOTHING, RUN_DROP_FILES, RUN_DROP_SYSTEM };

struct run_options {
    const struct workload *workload;
    /* layout, storage (names are relative to the data folder), max_threads, decode, verify and exact; the run sets the
     * rest */
    struct loader_options loader;
    struct comm *comm;
    int accelerators;                 /* of this process */
    struct accelerators_options step; /* copy_rate, no_barrier, each, watch and stop; the run sets the rest */
    enum run_drop drop;               /* drop from the page cache before every epoch */
    uint64_t entropy;                 /* for shuffle: random */
    int64_t epochs;                   /* replaces the workload's number; 0: the workload's */

    /* NULL: none, whatever the workload says; its peers are checkpoint_peers_of(comm). */
    struct checkpoint *checkpoint;
    bool force; /* save checkpoints even if there seems to be no room */
};

/* Files whose pages were looked up in the page cache. */
struct run_look {
    bool known; /* the page cache could be inspected */
    int64_t files, bytes;
    int64_t resident; /* bytes in the page cache; in results -1, as `bytes`, if unknown */
};

/* Page cache of the files that an epoch reads, on the host of rank 0. */
struct run_resident {
    struct run_look before; /* for the first epoch */
    struct run_look after;  /* for the last epoch */
};

struct run_result {
    struct metrics metrics;        /* of this process's accelerators, with their blocks */
    struct metrics whole;          /* of all accelerators; on rank 0 only */
    struct order train, eval;      /* steps: 0 if there is none */
    int64_t full_steps;            /* of a training epoch without the limit */
    int64_t short_samples;         /* in the last file, unread because it has fewer samples than the others */
    int64_t steps[METRICS_PHASES]; /* planned steps, per epoch and evaluation */
    int epochs;
    bool complete;                /* false: the run was stopped, figures cover a part */
    int64_t start, end, realtime; /* nanoseconds; result_time */
    struct histogram late;        /* of this process: delay in nanoseconds of noticing the end of a compute */
    struct loader_counts counts;  /* of this process */
    struct run_resident resident; /* on rank 0 */
    struct origin origin;         /* of the training data; on rank 0 */
    bool device_counted;
    int64_t device_read, device_written; /* bytes of the device under the data during the run */
    struct limits_look seen;             /* by this process, sum over the training of all epochs */
    double cpu_seconds;                  /* of this process */
    double throttled; /* seconds that control groups throttled it, sum over its processors */
    /* The run was stopped while threads waited for storage. They use the objects in the options until the
     * program ends, so these must not be freed. */
    bool abandoned;
    int64_t memory; /* maximum resident bytes of this process */
};

/* Runs the workload; all ranks call it. The caller releases the result; on failure there is none. */
bool run_workload(const struct run_options *options, struct run_result *result, struct error *err);
void run_release(struct run_result *result);

/* Returns true if each complete epoch read every sample once. On rank 0. Epochs from 0. */
bool run_check_samples(const struct run_result *result, struct error *err);

#endif
