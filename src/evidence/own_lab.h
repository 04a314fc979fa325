/* Runs of the user's own: what their times say of other jobs of the same lab.
 *
 * A lab's jobs share clocks, hosts and a network, and so three numbers: the time of kernels, that of transfers that
 * stay exposed, both as shares of the expected ones, and seconds that each block and micro-batch take in addition (a
 * host that launches slowly, a kernel that is missing). They are the most probable ones given the runs and what is
 * usual (a normal prior for each), so that few runs or runs that do not tell the three apart move them little. Then they are
 * shrunk by what they are worth: of five shares of them, including none, the one that predicts jobs left out best, by
 * more than chance, and not worse at the 90th percentile, times n / (n + 3). A job of other software counts on them as
 * far as software is alike (likeness_support). */
#ifndef REHEARSE_EVIDENCE_OWN_LAB_H
#define REHEARSE_EVIDENCE_OWN_LAB_H

#include "core/statistics.h"
#include "evidence/interval.h"

#define OWN_LAB_LEAST 3 /* runs */

/* A run to learn from, or to predict. */
struct own_lab_run {
    double kernels, transfers; /* shares of the predicted time */
    double blocks;             /* of a pipeline's stage, all its micro-batches, per predicted second */
    double error;              /* ln(measured / expected) */
    uint64_t job; /* equal for runs that differ in their split alone, which are left out together */
};

/* Returns a run that was predicted. `factor`: what known runs make of the prediction. */
struct own_lab_run own_lab_run_of(const struct job *job, const struct job_time *time, double seconds,
                                  double factor);

/* Returns ln of what a lab makes of an expected time. */
double own_lab_effect(const struct own_lab *lab, const struct own_lab_run *run);

/* What is learned, and how near jobs are that were left out, before and after. */
struct own_lab_fit {
    struct own_lab lab; /* `software` stays open */
    struct error_score before, after;
};

/* False: out of memory, or fewer than OWN_LAB_LEAST runs (ERROR_INFEASIBLE). */
bool own_lab_learn(struct own_lab_fit *fit, const struct own_lab_run *runs, int count, struct error *err);

/* Corrects an estimate of a job by the lab in its calibration, if there is one. */
void own_lab_apply(struct estimate *estimate, const struct job *job, const struct job_time *time);

#endif
