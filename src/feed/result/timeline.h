/* Writes a timeline as spans in DFTracer's format, which Perfetto and `rehearse trace import` read: the parts
 * of every step and the checkpoints of each accelerator, and the run's phases. */
#ifndef REHEARSE_FEED_RESULT_TIMELINE_H
#define REHEARSE_FEED_RESULT_TIMELINE_H

#include "core/error.h"
#include "feed/result/metrics.h"
#include "feed/result/steps.h"

struct result_timeline {
    int64_t start;    /* of INIT; nanoseconds as in feed/metrics.h */
    int64_t realtime; /* offset to nanoseconds since 1970 */
};

/* Writes folder/R_timeline.pfw per accelerator R of `metrics`; accelerator 0's has the phases. */
bool result_timeline_save(const char *folder, const struct metrics *metrics, const struct result_steps *steps,
                          const struct result_timeline *facts, struct error *err);

#endif
