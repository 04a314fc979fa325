/* Runs of a table, each judged by the known runs without those that would give its time away. */
#ifndef REHEARSE_EVIDENCE_JUDGE_H
#define REHEARSE_EVIDENCE_JUDGE_H

#include "evidence/interval.h"
#include "evidence/own_lab.h"
#include "evidence/validate.h"

/* Which known runs do not count. */
enum run_part {
    PART_ITSELF, /* the run, in whatever table it is */
    PART_JOB,    /* the runs of its source, model, device type and number of devices */
    PART_SOURCE, /* the rounds of MLPerf are one source */
    PART_SOFTWARE,
    PART_FAMILY, /* of software; what the formula learned from them is left out, too */
    PART_GPU,
    PART_MODEL, /* those with as many parameters */
    PART_SIZE,  /* those of about their size (judge_size) */
    RUN_PARTS   /* each of these in turn */
};
extern const char *const run_part_names[]; /* "nothing", "job", "source", …, "group", ended by NULL */

/* Returns in which of six sizes a model is. */
int judge_size(const struct likeness *likeness);

/* Returns the residual of a run that was predicted, with the run's strings. `left` is 0. */
struct residual residual_of(const struct run *run);

/* Returns what the known runs but for a part say of a run that was predicted: no correction where its device has a
 * calibration of its own. */
struct estimate run_judge(const struct run *run, enum run_part without);

/* Returns the seconds of the nearest known run, scaled by the model's flops per device: what a user without a formula
 * would take. 0: there is none. */
double run_by_nearest(const struct run *run, const struct estimate *estimate);

/* Learns from the scored runs of a table on devices of a generation. `source` is named in messages. */
bool judge_learn_lab(struct own_lab_fit *fit, struct validation *validation, const char *generation,
                     const char *source, struct error *err);

#endif
