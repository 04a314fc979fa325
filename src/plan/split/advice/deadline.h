/* The cheapest plan of a training that must end in time.
 *
 * Problem. Given the most devices and some global batches, find the plan of the least money whose training ends in
 * time. Devices are alike and only those in use are paid for, so money is device-seconds: whole iterations of a batch,
 * times the seconds of one, times the devices of the plan.
 *
 * Search. For each batch the time that is left for an iteration is known, and job_search finds the cheapest plan within
 * it, over every number of devices up to the most: plans on fewer devices are those on all of them with the others
 * idle. So no plan of the searched space is cheaper. Checked by brute force (tests/plan/split/split_search_test.c,
 * tests/plan/budget_test.c). */
#ifndef REHEARSE_PLAN_SPLIT_ADVICE_DEADLINE_H
#define REHEARSE_PLAN_SPLIT_ADVICE_DEADLINE_H

#include "plan/split/search.h"

struct job_deadline {
    double tokens, seconds; /* of the training: at most these seconds */
    int batch_count;
    const int64_t *batches;
};

/* Finds the cheapest plan, of equally cheap ones the fastest, on at most question->job.devices devices; then the
 * question has its batch and its number of devices. The caller releases *search. ERROR_INFEASIBLE: nothing fits, or no
 * plan is in time: the text names the fastest one. */
bool job_cheapest_in_time(struct job_search *search, struct job_question *question,
                          const struct job_deadline *deadline, const struct job_search_options *options,
                          struct error *err);

#endif
