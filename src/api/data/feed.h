/* rh_feed, inside. */
#ifndef REHEARSE_API_DATA_FEED_H
#define REHEARSE_API_DATA_FEED_H

#include "api/command.h"
#include "api/data/feed_metrics.h"
#include "api/data/workload.h"
#include "core/progress.h"
#include "core/text.h"
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
    bool quiet;                     /* the workload's warnings were given before */
    const struct feed_point *point; /* of a grid; NULL: it is none */
    char digest[32];                /* of that point: all that was asked */
    struct workload workload;
    struct workload_overrides overrides;
    struct session session;
    struct watch watch;
    struct progress progress;
    struct feed_metrics metrics;
    int behind[WATCH_LAGGARDS], behind_count; /* ranks that were said to be behind */
};

/* The rows of its table that are looked at by number. */
enum { FEED_WORKLOAD, FEED_FROM, FEED_KEEP, FEED_ACCELERATORS, FEED_METHOD, FEED_TARGET, FEED_DROP };

/* A point of a grid. Its run is kept where it is there already. */
struct feed_point {
    const char *folder;
    bool *kept; /* NULL: its workload is opened and nothing else */
};

/* Runs the request job->asked and releases all resources, unless job->abandoned. */
bool feed_together(struct feed_job *job, struct error *err);

/* Looks for the result of a point, with the workload open, and sets job->digest and *kept. Fails if another run's
 * result is there. */
bool feed_grid_look(struct feed_job *job, bool *kept, struct error *err);

/* Runs each point of asked->vary into a folder of its own. Returns the table, or NULL and an error. */
rh_handle *feed_grid(const struct rh_feed_request *asked, const struct api_call *call, struct comm *comm,
                     struct error *err);

/* The report of `rehearse feed` for people. */

void feed_report(const struct session *session, struct text *out);
void feed_report_max(const struct session_max *max, struct text *out);

#endif
