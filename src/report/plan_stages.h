#ifndef REHEARSE_REPORT_PLAN_STAGES_H
#define REHEARSE_REPORT_PLAN_STAGES_H

#include "core/text.h"
#include "plan/plan.h"

/* Adds a table of the stages of each pipeline: a column for all that one of them has. */
void report_pipelines(const struct plan *plan, struct text *out);

#endif
