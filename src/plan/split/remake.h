/* Reconstructs the job of a plan over identical devices from the plan alone. */
#ifndef REHEARSE_PLAN_SPLIT_REMAKE_H
#define REHEARSE_PLAN_SPLIT_REMAKE_H

#include "plan/parts.h"
#include "plan/split/job.h"

/* Returns whether one job describes the plan: one kind of pipeline, equal degrees, one device type, a
 * model. */
bool plan_is_job(const struct plan *plan);

/* Sets the type of matrix products on a device: the plan's, or mixed precision. */
bool plan_precision_of(const struct plan *plan, const struct cost_device *device, enum cost_type *type,
                       struct error *err);

/* Remakes the job. Its micro-batches follow from degrees and global batch. Its device, links and layout live as
 * long as the plan. */
bool job_remake(struct job *job, struct plan *plan, const struct plan_parts *given, struct error *err);

#endif
