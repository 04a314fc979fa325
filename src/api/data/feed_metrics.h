/* The file of --prometheus. */
#ifndef REHEARSE_API_DATA_FEED_METRICS_H
#define REHEARSE_API_DATA_FEED_METRICS_H

#include "api/data/feed.h"

/* Writes what is seen, at most every few seconds. NULL: it begins, and a file that cannot be written is found early. */
bool feed_metrics_show(struct feed_job *job, const struct watch_view *view, struct error *err);

/* Writes the numbers of the answer, or removes the file of a run that failed. Returns whether all is done. All ranks may
 * call it; the first one writes. */
bool feed_metrics_end(const struct feed_job *job, bool done, struct error *err);

#endif
