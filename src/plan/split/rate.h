/* How many sequences devices can train by a deadline: an upper bound over all splits, for searches that share a batch
 * out over several groups of devices.
 *
 * A split with p stages and d copies does a micro-batch of b sequences on each copy in `each` seconds: at least the
 * mean of its stages, and its slowest stage under the best layout. Before that its pipeline fills, and afterwards
 * gradients are exchanged, at least with one other pipeline over the slowest link (company.h). So it does d b x
 * floor((T - filling) / each) sequences by T. Where pipelines fill sooner with chunks, micro-batches are a multiple of
 * p, and where they hold only one micro-batch, fewer than p: these are splits of their own. The number of copies is the
 * maximum that the devices allow, and the exchange is that of the minimum. All jobs of a run have the same micro-batch,
 * sharding and chunks: its class.
 *
 * Splits are many, and few decide: each has a line that is quickly found, with the mean of its stages and regardless of
 * its memory, and is priced when no other line does more by a deadline asked for. */
#ifndef REHEARSE_PLAN_SPLIT_RATE_H
#define REHEARSE_PLAN_SPLIT_RATE_H

#include "plan/split/job.h"

/* The lines of the splits of some devices. */
struct job_rates;

/* Lists them for the question's devices beside others behind this link; its batch only limits the micro-batches. None
 * if nothing is allowed. NULL: out of memory. The caller frees them with job_rates_free. */
struct job_rates *job_rates_new(const struct job_question *question, const struct cost_link *across,
                                struct error *err);
void job_rates_free(struct job_rates *rates);

int job_class_count(const struct job_rates *rates);
int64_t job_class_of(const struct job_rates *rates, int index); /* ascending */

/* Returns the maximum number of sequences by a deadline with splits of a class; 0: there is none. */
double job_sequences_by(struct job_rates *rates, int64_t class, double deadline);

/* The split that does so many: `filling` + m `each` seconds for m micro-batches, a multiple of `step` and `max` at
 * most. Its job has the maximum data parallel degree, and no layout. */
struct job_line {
    struct job job;
    double filling, each;
    int64_t step, max;
};

/* Sets the split of a class that does most; false: there is none. */
bool job_rates_best(struct job_rates *rates, int64_t class, double deadline, struct job_line *found);

/* Fills in the splits of a class that do at least so many; returns their number. If it is above `max` there may be
 * more. */
int job_rates_list(struct job_rates *rates, int64_t class, double deadline, double least,
                   struct job_line *found, int max);

#endif
