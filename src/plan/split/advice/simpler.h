/* Plans that are simpler than the best one, and hardly slower. */
#ifndef REHEARSE_PLAN_SPLIT_ADVICE_SIMPLER_H
#define REHEARSE_PLAN_SPLIT_ADVICE_SIMPLER_H

#include "plan/split/search.h"

#define JOB_HARDLY_SLOWER 0.01 /* of the best plan's time: less than the formulas' own error */

/* Finds the fastest plan without the best one's context parallelism, pipeline and tensor parallelism, each of which is left
 * out in this order if a plan without it, and without those left out before, is hardly slower. Sets *simpler, whose layout of
 * stages is not set. False: there is none, or memory ran out. */
bool job_find_simpler(struct job_choice *simpler, const struct job_question *question,
                      const struct job_choice *best, struct parallel *pool);

#endif
