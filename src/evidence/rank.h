/* How well predictions rank the measured splits of a job: what a choice between splits depends on.
 *
 * Runs are of one job if source, software, devices, model, batch, sequence and precision are equal. Its splits differ
 * in degrees, chunks, sharding, micro-batch, recomputation or techniques. */
#ifndef REHEARSE_EVIDENCE_RANK_H
#define REHEARSE_EVIDENCE_RANK_H

#include "evidence/validate.h"

/* Two splits are ranked right or wrong, and nothing between: jobs with fewer splits are left out. */
#define RANK_MIN_SPLITS 3

struct ranked_split {
    const struct run *run; /* its first one */
    int runs;              /* measured runs of this split */
    double measured;       /* seconds: the median of its runs */
    double spread;         /* slowest / fastest of its runs - 1 */
};

struct ranked_job {
    struct ranked_split *splits; /* [count], the fastest measured first */
    int count;
    double
        correlation; /* of the ranks of measured and predicted seconds (Spearman); 0 if all predictions are equal */
    double
        regret; /* measured seconds of the split with the shortest predicted time / shortest measured - 1; of equal
                      predictions the mean */
    double spread; /* slowest / fastest split - 1 */
};

struct ranking {
    struct arena arena;
    struct ranked_job
        *jobs; /* those with RANK_MIN_SPLITS or more, in the order of sources, devices and models */
    int count;
    double correlation, regret; /* means over jobs */
    int repeated;               /* splits that were measured more than once, in any job; */
    double repeat_spread; /* the median of their slowest / fastest - 1: no prediction ranks below that */
};

/* Ranks the scored runs of a validation, which must have been predicted and must outlive the ranking. False: out of
 * memory; *ranking is then empty. The caller ends it with ranking_release. */
bool ranking_make(struct ranking *ranking, const struct validation *validation, struct error *err);
void ranking_release(struct ranking *ranking);

#endif
