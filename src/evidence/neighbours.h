/* What known runs say about a prediction: the physics first, then the neighbours.
 *
 * A formula's error is ln(measured / predicted), a random function of the job's features with mean 0 and the
 * correlation of likeness.h, plus noise of each measurement. Its expected value at a job, given the errors of the
 * nearest runs, is simple kriging (Matheron, "Principles of geostatistics", Economic Geology 58, 1963): weights w = k
 * (C + noise I)^-1, where C are the correlations between the runs and k those with the job. Near twins share their
 * weight, and where no run is near, all weights go to 0 and the factor to 1. The noise is that of a measurement, a few
 * per cent, in units of the formula's error around the job: where it is wrong by a third for a page of runs, a run of
 * that page is worth more than where it is wrong by a fiftieth.
 *
 * Expected errors are shrunk once more where the runs explain less than 80 % of the variance: without that, runs that
 * were left out by source, device or model were worse than by the formula alone (tests/evidence/harm_test.c).
 *
 * The interval. What it has to hold is the error of a job of a group (a source, a software, a kind of job) that nobody
 * has seen; the errors of known runs show that of groups that the formula's own numbers were fitted to. Two sets of
 * errors are exchangeable with a new one, each under its own assumption, and the interval is conformal (Vovk et al.,
 * "Algorithmic learning in a random world", 2005), from both:
 *
 * - as like known runs: errors that were left in the nearest runs when the runs of the same job were unknown, weighted
 *   by their correlation, with a few of whole sources that were left out. Assumes that the formula's numbers are as
 *   right for the job as for these.
 * - as unlike them: errors of families of software that were left out with all that the formula learned from them,
 *   each family counting once: such a job is priced as by all other families, and its error counts in units of the
 *   spread of their prices. The spread of the job's own prices makes seconds of it again: small where kernels and links
 *   decide, large where the host does. Assumes that a job's unknown software is to the known families as one of
 *   these is to the others.
 *
 * The weight of the second set is 1 - exp(-s), s being the mean distance of the three runs that support the job best
 * (likeness_support): the farther they are, the wider the interval. Of a device that is known from its data sheet
 * alone, without any run, the first set is that of such devices whose runs were left out.
 *
 * Errors of few runs lie too near to each other, or too far apart. So the quantiles are not 10 and 90 %, but those
 * between which 80 % of the known runs lie when their sources, and then their families, are left out, each group counting once
 * (distributional conformal prediction, Chernozhukov et al., PNAS 118, 2021): `level` is the least share of the middle
 * that has a run.
 *
 * Checked by leaving out jobs, sources, software, families, GPUs, models and sizes, each time with the errors of all
 * other groups alone (docs/job.md, tests/evidence/neighbours_test.c). A family (residual_same_family) is left out with
 * all that the formula knows of it: its jobs are predicted as by all other families. The other groups leave the
 * formula's numbers as they are, which were fitted to them, too: their errors are smaller than those of something
 * new. */
#ifndef REHEARSE_EVIDENCE_NEIGHBOURS_H
#define REHEARSE_EVIDENCE_NEIGHBOURS_H

#include "core/arena.h"
#include "core/error.h"
#include "evidence/likeness.h"
#include "plan/plan.h"

#define NEIGHBOURS_MAX 24
#define UNSEEN_COUNT   8
#define UNLIKE_COUNT   16

/* A known run. */
struct residual {
    struct likeness likeness;
    const char *id, *source, *model;
    double seconds;   /* measured, per iteration */
    double rate;      /* measured flops of the model per second and device */
    double log_ratio; /* ln(measured / predicted) */
    /* set by residuals_leave_out: */
    double left;   /* of log_ratio, without the runs of the same job, */
    double apart;  /* without those of the same source */
    double unlike; /* ln(measured / priced as by other families), as a share of the spread of their prices */
    double of_source, of_family; /* 1 / the number of runs of its source and family */
    double of_kind;              /* of its source that are of its kind (dense, experts) */
    double level_apart,
        level_unlike; /* without its source, without its family: the share of the middle that has it */
};

struct residuals {
    int count;
    const struct residual *rows;
    double unseen
        [2][UNSEEN_COUNT]; /* |errors| of sources left out, of models without and with experts: quantiles at
                                       (i + 0.5) / count, each source counting once */
    double
        sheets[UNSEEN_COUNT]; /* the same of devices left out that are known from their data sheets alone */
    double unlike[UNLIKE_COUNT]; /* of `unlike` of families left out: quantiles, each family counting once */
    double share;                /* of the middle of a job's errors that is its 80 % interval */
};

struct neighbour {
    const struct residual *row;
    double correlation;
    double moved; /* what the run adds to ln(factor) */
};

struct estimate {
    double factor;               /* expected measured time / predicted time */
    double own;                  /* the part of it that a run of the user's own adds (own_run.h); 1: none */
    struct plan_interval shares; /* 80 % interval, as shares of the predicted time */
    double distance;             /* s: how far the runs are that support it */
    double
        unexplained; /* variance that is left, as a share of that without known runs: 1 where none is near */
    const struct residual *nearest; /* the nearest similar run (likeness.h); NULL: none */
    bool extrapolates; /* no similar run, neither a published one nor the user's own; or `sheet` */
    bool forgotten;    /* what the formula knows of the software's family does not count, either */
    bool sheet;        /* the device is known from its data sheet alone, without a run */
    struct likeness job;
    int count;
    struct neighbour neighbours[NEIGHBOURS_MAX]; /* the nearest first */
};

/* Which known runs do not count; NULL: all count. */
typedef bool residual_filter(const struct residual *row, const void *context);

/* Returns what the known runs say. A job whose release is not known is taken to be of the newest one
 * that is known of its framework, or else its software, on its device if there is one. */
struct estimate neighbours_estimate(const struct residuals *known, const struct likeness *likeness,
                                    residual_filter *left_out, const void *context);

/* Makes the known runs of rows with their likeness and log_ratio: sets the rest. False: out of memory. */
bool residuals_leave_out(struct residuals *residuals, struct residual *rows, struct error *err);

/* Filters whose context is another run. */
residual_filter residual_same_source, residual_same_device, residual_same_job, residual_same_family;

/* The published runs (data/runs.csv) and today's errors; computed while the program is built (residuals_make.c). */
extern const struct residuals residuals_known;

/* Returns how many of them ran on a device. */
int residuals_on(const struct cost_device *device);

#endif
