/* Who did what when, as spans in DFTracer's format, which Perfetto and `rehearse trace import` read: of each accelerator
 * the parts of every step and its checkpoints; of the run its phases. */
#ifndef REHEARSE_FEED_RESULT_TIMELINE_H
#define REHEARSE_FEED_RESULT_TIMELINE_H

#include "core/error.h"
#include "feed/result/metrics.h"
#include "feed/result/steps.h"

struct result_timeline {
    int64_t start;    /* of INIT; nanoseconds as in feed/metrics.h */
    int64_t realtime; /* to be added to these for nanoseconds since 1970 */
};

/* Writes folder/R_timeline.pfw for each accelerator R of `metrics`; the run's phases are in that of accelerator 0. */
bool result_timeline_save(const char *folder, const struct metrics *metrics, const struct result_steps *steps,
                          const struct result_timeline *facts, struct error *err);

#endif
