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
 * The interval is conformal (Vovk et al., "Algorithmic learning in a random world", 2005): a quantile of the errors
 * that were left in the nearest runs when all runs of the same job were unknown, weighted by their correlation,
 * together with a few errors of whole sources that were left out, whose weight is fixed: the fewer runs are near, the
 * more of these count. Of a device that is known from its data sheet alone, without any run, the errors are those of such
 * devices whose runs were left out. */
#ifndef REHEARSE_EVIDENCE_NEIGHBOURS_H
#define REHEARSE_EVIDENCE_NEIGHBOURS_H

#include "core/arena.h"
#include "core/error.h"
#include "evidence/likeness.h"

#define NEIGHBOURS_MAX 24
#define UNSEEN_COUNT   8

/* A known run. */
struct residual {
    struct likeness likeness;
    const char *id, *source, *model;
    double seconds;   /* measured, per iteration */
    double rate;      /* measured flops of the model per second and device */
    double log_ratio; /* ln(measured / predicted) */
    double left;      /* of it, without the runs of the same job; set by residuals_leave_out */
};

struct residuals {
    int count;
    const struct residual *rows;
    double unseen
        [UNSEEN_COUNT]; /* |errors| of sources left out: quantiles at (i + 0.5) / count, each source counting once */
    double
        sheets[UNSEEN_COUNT]; /* the same of devices left out that are known from their data sheets alone */
};

struct neighbour {
    const struct residual *row;
    double correlation;
    double moved; /* what the run adds to ln(factor) */
};

struct estimate {
    double factor;    /* expected measured time / predicted time */
    double own;       /* the part of it that a run of the user's own adds (own_run.h); 1: none */
    double low, high; /* 80 % interval, as shares of the predicted time */
    double
        unexplained; /* variance that is left, as a share of that without known runs: 1 where none is near */
    const struct residual *nearest; /* the nearest similar run (likeness.h); NULL: none */
    bool extrapolates; /* no similar run, neither a published one nor the user's own; or `sheet` */
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

/* Makes the known runs of rows with all but `left`: sets that, `unseen` and `sheets`. False: out of memory. */
bool residuals_leave_out(struct residuals *residuals, struct residual *rows, struct error *err);

/* Filters whose context is another run. */
residual_filter residual_same_source, residual_same_device, residual_same_job;

/* The published runs (data/runs.csv) and today's errors; computed while the program is built (residuals_make.c). */
extern const struct residuals residuals_known;

/* Returns how many of them ran on a device. */
int residuals_on(const struct cost_device *device);

#endif
