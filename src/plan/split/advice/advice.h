/* The cause or a remedy where a question has no answer. */
#ifndef REHEARSE_PLAN_SPLIT_ADVICE_ADVICE_H
#define REHEARSE_PLAN_SPLIT_ADVICE_ADVICE_H

#include "plan/split/search.h"

/* For a question that job_search answered with ERROR_INFEASIBLE, adds to err->text the cause or a remedy: the rule that
 * forbids a given value with the nearest that is allowed, or else the changes that let it be answered, each tried by a
 * search: a given dimension left open, no memory kept free, more devices. The cheapest (the fastest plan on the same
 * devices, then the smallest larger cluster) comes first. */
void job_advise(const struct job_question *question, struct parallel *pool, struct error *err);

#endif
