/* Pictures of plans. */
#ifndef REHEARSE_FIGURE_PIPELINE_H
#define REHEARSE_FIGURE_PIPELINE_H

#include "core/error.h"
#include "plan/plan.h"

#include <stdbool.h>

/* One bar per stage: forward and backward time of a micro-batch, coloured by device type, and a line at the
 * slowest. The ending of `path` chooses the format. */
bool figure_pipeline(const char *path, const struct plan *plan, const struct plan_problem *problem,
                     struct error *err);

/* Is the ending one that can be written? For telling so before the work is done. */
bool figure_can_write(const char *path, struct error *err);

#endif
