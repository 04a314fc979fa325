/* A run of the user's own: what its time, beside the expected one, says of other jobs of the same lab.
 *
 * The published runs of single labs answer that (each lab's runs judged as if no run of its source were known): a job
 * much like the run shares most of its deviation, and another job next to none of it. It is the deviation of a kernel,
 * a layout, a version, and no constant of the lab. So the deviation counts with the share OWN_SHARE * exp(-d /
 * OWN_REACH), d being the distance of likeness.h, and the interval moves with it. own_run_score repeats that on the
 * published runs. */
#ifndef REHEARSE_EVIDENCE_OWN_RUN_H
#define REHEARSE_EVIDENCE_OWN_RUN_H

#include "devices/calibration.h"
#include "evidence/neighbours.h"

#define OWN_SHARE 0.6
#define OWN_REACH 0.4
#define OWN_NEAR  1.0 /* jobs further away than that gain nothing */

/* Returns the run of a job that was predicted and took `seconds`, with the job's strings. `expected`: seconds that the
 * known runs make of the prediction. */
struct own_run own_run_of(const struct job *job, const struct job_time *time, double seconds,
                          double expected);

/* Corrects an estimate of a job by the run; nothing changes if there is none (title NULL). `predicted`: the job's
 * seconds by the formula. The very same job takes what was measured. */
void own_run_apply(struct estimate *estimate, const struct own_run *run, const struct likeness *likeness,
                   double predicted);

/* Returns the estimate of a job from the published runs, corrected by the run of the user's own in its calibration;
 * factor 1 for a job with fitted parameters of its own, to whose errors the published runs say nothing. */
struct estimate own_run_estimate(const struct job *job, const struct job_time *time);

#endif
