/* rh_feed, inside. */
#ifndef REHEARSE_API_DATA_FEED_H
#define REHEARSE_API_DATA_FEED_H

#include "api/command.h"
#include "api/data/workload.h"
#include "core/progress.h"
#include "feed/demand.h"
#include "feed/session.h"
#include "feed/watch.h"

/* All that a run uses: on the heap, as threads that wait for storage may use it until the program ends. */
struct feed_job {
    struct rh_feed_request asked;
    const struct api_call *call;
    struct api_report *report;
    struct comm *comm;
    struct plan plan;
    struct feed_demand demand;
    int savers; /* ranks per process that save checkpoints; 0: as many as accelerators */
    bool has_plan, has_workload, abandoned;
    struct workload workload;
    struct workload_overrides overrides;
    struct session session;
    struct watch watch;
};

/* Adds what callers can ask of a run that was judged, on rank 0: passed, verdict, and figures of training and
 * evaluation. */
void feed_add_values(const struct session *session, rh_handle *handle);

void feed_add_max(const struct session_max *max, double target, int processes, rh_handle *handle);

/* Adds lists steps.*: all steps of this process's accelerators. */
bool feed_keep_steps(struct session *session, struct api_report *report, struct error *err);

#endif
