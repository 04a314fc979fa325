/* Pictures of plans. */
#ifndef REHEARSE_FIGURE_PLAN_H
#define REHEARSE_FIGURE_PLAN_H

#include "core/error.h"
#include "plan/plan.h"

#include <stdbool.h>

/* A bar for each stage of each pipeline: forward, and the rest of what it does for a micro-batch, coloured by device type,
 * with a dashed line at the slowest. A plan with alternatives is drawn as the parts of an iteration under each of them. The
 * ending of `path` (.svg, .png, .pdf) chooses the format. */
bool figure_plan(const char *path, const struct plan *plan, struct error *err);

#endif
