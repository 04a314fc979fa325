/* The cause or a remedy where a question has no answer, and plans that are simpler than the best one. */
#ifndef REHEARSE_PLAN_SPLIT_ADVICE_ADVICE_H
#define REHEARSE_PLAN_SPLIT_ADVICE_ADVICE_H

#include "plan/split/search.h"

/* For a question that job_search answered with ERROR_INFEASIBLE, adds to err->text the cause or a remedy: the rule that
 * forbids a given value with the nearest that is allowed, or else the changes that let it be answered, each tried by a
 * search: a given dimension left open, no memory kept free, more devices. The cheapest (the fastest plan on the same
 * devices, then the smallest larger cluster) comes first. */
void job_advise(const struct job_question *question, struct parallel *pool, struct error *err);

#define JOB_HARDLY_SLOWER 0.01 /* of the best plan's time: less than the formulas' own error */

/* Finds the fastest plan without the best one's context parallelism, pipeline and tensor parallelism, each of which is
 * left out in this order if a plan without it, and without those left out before, is hardly slower. Sets *simpler,
 * whose layout of stages is not set. `fastest`: found for the question. False: there is none, or memory ran out. */
bool job_find_simpler(struct job_choice *simpler, const struct job_question *question,
                      const struct job_search *fastest, struct parallel *pool);

#endif
