/* The file of --prometheus. */
#ifndef REHEARSE_API_DATA_FEED_METRICS_H
#define REHEARSE_API_DATA_FEED_METRICS_H

#include "core/error.h"
#include "core/text.h"
#include "feed/watch.h"

struct feed_metrics {
    const char *path; /* NULL: none is asked for, or this rank is not the first */
    const char *workload;
    int64_t accelerators; /* of all processes */
    double shown;         /* clock_now */
};

/* Writes what is seen, at most every few seconds. NULL: it begins, and a file that cannot be written is found early. */
bool feed_metrics_show(struct feed_metrics *metrics, const struct watch_view *view, struct error *err);

/* Writes the numbers of the answer, or removes the file of a run that failed. Returns whether all is done. */
bool feed_metrics_end(const struct feed_metrics *metrics, bool done, const struct text *answer,
                      struct error *err);

#endif
