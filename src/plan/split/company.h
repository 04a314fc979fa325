/* A job among others that train the same model on other groups of devices: gradients go round the pipelines of all of
 * them, and devices wait for the nodes of all. */
#ifndef REHEARSE_PLAN_SPLIT_COMPANY_H
#define REHEARSE_PLAN_SPLIT_COMPANY_H

#include "plan/split/job.h"

struct job_company {
    int jobs, pipelines; /* of all, this one included */
    int together; /* copies of the job that may share a node; 0: its own, as those of other jobs are elsewhere */
    double nodes; /* of all */
    const struct cost_link *across;
};

/* Sets the job's time; returns its seconds after all micro-batches, except the optimizer's. */
double job_time_among(const struct job *job, const struct job_layers *layers,
                      const struct job_company *company, struct job_time *time);

#endif
