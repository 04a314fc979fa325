/* The results that ranks send to rank 0 after a run. Private to run. */
#ifndef REHEARSE_RUN_REPORT_H
#define REHEARSE_RUN_REPORT_H

#include "run/player.h"
#include "run/run.h"

/* Returns by how much a clock must be corrected, seconds a second, whose difference to rank 0's has changed by so much
 * during the run: 0 unless it is more than both comparisons can be wrong. */
double run_drift(double change, double uncertain, double seconds);

/* All ranks call it; rank 0 fills in the result and gives the tasks to the sink (NULL: none). */
bool report_gather(struct player *player, double processor, const struct timeline_sink *sink,
                   struct run_result *result, struct error *err);

#endif
