/* A readable report on pipelines over several device types. */
#ifndef REHEARSE_PLAN_FLEET_REPORT_H
#define REHEARSE_PLAN_FLEET_REPORT_H

#include "core/text.h"
#include "plan/fleet/of_job.h"
#include "plan/plan.h"

/* `plan`: made of the answer; names of model, software and device types, memory, batch and sequence are its own. */
void fleet_print(const struct fleet_answer *answer, const struct plan *plan, struct text *out);

/* Returns the number of devices of a type that no pipeline uses. */
int fleet_idle(const struct fleet_answer *answer, int type);

#endif
