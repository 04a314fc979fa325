/* Runs a workload: epochs, steps, evaluations and checkpoints on emulated accelerators, and what came of it.
 *
 * Of every process the same number of accelerators; process r has accelerators r × count and following. A step of an
 * accelerator is: wait for the batch, copy it, compute until an absolute deadline, meet the others (barrier). */
#ifndef REHEARSE_FEED_RUN_H
#define REHEARSE_FEED_RUN_H

#include "feed/checkpoint/checkpoint.h"
#include "feed/comm/comm.h"
#include "feed/loader/loader.h"
#include "feed/loader/order.h"
#include "feed/origin.h"
#include "feed/result/metrics.h"
#include "feed/result/steps.h"
#include "feed/watch.h"
#include "feed/workload/workload.h"

#include <stdatomic.h>

enum run_drop { RUN_DROP_NOTHING, RUN_DROP_FILES, RUN_DROP_SYSTEM };

struct run_options {
    const struct workload *workload;
    const struct dataset_layout *layout;
    struct storage *storage; /* names are relative to the data folder */
    struct comm *comm;
    int accelerators; /* of this process */

    int threads_most;                 /* of this process; 0: LOADER_THREADS */
    bool decode, verify, hold, exact; /* of struct loader_options */
    double copy_rate;                 /* bytes/s from host to device; 0: copies take no time */
    bool no_barrier;                  /* accelerators wait for each other at the end of a block only */
    enum run_drop drop;               /* from the page cache, before every epoch */
    uint64_t entropy;                 /* for shuffle: random */
    int64_t steps;                    /* at most so many of an epoch; 0: all */
    int64_t epochs;                   /* instead of the workload's; 0: those */

    /* NULL: none, whatever the workload says; its peers are checkpoint_peers_of(comm). */
    struct checkpoint *checkpoint;
    bool force;                /* save checkpoints also where there seems to be no room for them */
    struct result_steps *each; /* every step is added to it; may be NULL */
    struct watch *watch;       /* may be NULL */
    const atomic_bool *stop;   /* set (SIGINT): end after the step; may be NULL */
};

/* Files that were looked at. */
struct run_look {
    bool known; /* what is in the page cache */
    int64_t files, bytes;
    int64_t resident; /* of these bytes */
};

/* Of the files that an epoch reads, on the host of rank 0. */
struct run_resident {
    struct run_look before; /* the first epoch */
    struct run_look after;  /* the last */
};

struct run_result {
    struct metrics metrics;   /* of this process's accelerators, with their blocks */
    struct metrics whole;     /* of all; on rank 0 only */
    struct order train, eval; /* steps are 0 where there is none */
    int64_t full_steps;       /* of an epoch of training, were it not shortened */
    int64_t short_samples;    /* in the last file, which nobody reads because it has fewer than the others */
    int64_t steps[METRICS_PHASES]; /* that were to be run, per epoch and evaluation */
    int epochs;
    bool complete;                /* false: it was stopped, figures are of a part */
    int64_t start, end, realtime; /* nanoseconds; result_dlio.h */
    struct histogram late;       /* of this process: nanoseconds that the end of a compute was noticed late */
    struct loader_counts counts; /* of this process */
    struct run_resident resident; /* on rank 0 */
    struct origin origin;         /* of what was trained on; on rank 0 */
    bool device_counted;
    int64_t device_read, device_written; /* bytes, while the run went on, of the device under the data */
    double cpu_seconds;                  /* of this process */
    double throttled; /* seconds that control groups kept it from running, on all its processors together */
    /* It was stopped while threads waited for storage: they use what the options name until the program ends, which must
     * not be freed. */
    bool abandoned;
    int64_t memory; /* bytes of this process that were resident at most, since it began */
};

/* All ranks call it. On failure everything is released already. */
bool run_workload(const struct run_options *options, struct run_result *result, struct error *err);
void run_release(struct run_result *result);

/* Did each epoch that ran to its end read every sample that it should, once? On rank 0. Epochs from 0. */
bool run_check_samples(const struct run_result *result, struct error *err);

#endif
