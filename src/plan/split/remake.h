/* The job of a plan over devices that are alike, made again from the plan alone. */
#ifndef REHEARSE_PLAN_SPLIT_REMAKE_H
#define REHEARSE_PLAN_SPLIT_REMAKE_H

#include "plan/parts.h"
#include "plan/split/job.h"

/* The job points into the machine: do not copy it. */
struct job_remade {
    struct plan_machine machine;
    struct job job;
};

/* Can a job be all of this plan? One kind of pipeline whose stages have the same degrees, on one device type, of a model. */
bool plan_is_job(const struct plan *plan);

/* How devices of a type multiply: what the plan says, or mixed precision. */
bool plan_precision_of(const struct plan *plan, const struct cost_device *device, enum cost_type *type,
                       struct error *err);

/* The degrees count: the global batch decides how many micro-batches there are. The job's layout lives as long as the
 * plan. */
bool job_remake(struct job_remade *made, struct plan *plan, const struct plan_parts *given,
                struct error *err);

#endif
