/* Fitting a link to measured collectives. */
#ifndef REHEARSE_COST_CALIBRATE_LINKS_H
#define REHEARSE_COST_CALIBRATE_LINKS_H

#include "core/arena.h"
#include "core/csv.h"
#include "core/error.h"
#include "core/text.h"
#include "cost/collective.h"

#include <stdbool.h>

#define LINK_FIT_FOLDS 5
#define LINK_FIT_MIN   12 /* rows of a kind; of fewer its parameters are those of the start */

struct link_sample {
    enum collective_kind kind;
    int devices, nodes;
    double bytes; /* as in cost/link.h */
    double seconds;
};

struct link_samples {
    struct arena arena;
    const char *path;
    int count, skipped; /* skipped: one device, or no bytes or no time */
    struct link_sample *samples;
};

/* Columns, by their names: collective or opcode; ranks or devices; bytes; time_us, time_ms or seconds; where there are,
 * nodes (else 1) and gpu or device. Rows of another device than `device` are left out; NULL takes all, and is an error
 * where the table has several. On failure *samples holds nothing. */
bool link_samples_read(struct link_samples *samples, const struct csv *csv, const char *device,
                       struct error *err);
void link_samples_release(struct link_samples *samples);

/* Errors as shares: 0.05 is 5 %. */
struct link_error {
    int rows;
    double median, mean, p90;
};

struct link_fit {
    struct arena arena;
    struct cost_link link;
    struct link_error kinds[COLLECTIVE_KINDS]; /* on rows left out of the fit; rows 0: not fitted */
    struct link_error all;
};

/* Fits the parameters of `start` (its bandwidth stays: rates are shares of it) to the samples, kind by kind: to those
 * of one node, or, when `inside` is given, those of several, as the link between nodes. The errors are those of
 * LINK_FIT_FOLDS fits, each judged on the rows it did not see. The caller ends it with link_fit_release. */
bool link_fit_samples(struct link_fit *fit, const struct link_samples *samples, const struct cost_link *start,
                      const struct cost_link *inside, const char *name, struct error *err);
void link_fit_release(struct link_fit *fit);

/* How far the link's times are from the samples of a kind; `inside` as above. */
bool link_error_of(struct link_error *error, const struct link_samples *samples, enum collective_kind kind,
                   const struct cost_link *link, const struct cost_link *inside, struct error *err);

#endif
