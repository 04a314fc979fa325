/* Fitting a link to measured collectives. */
#ifndef REHEARSE_COST_CALIBRATE_LINKS_H
#define REHEARSE_COST_CALIBRATE_LINKS_H

#include "core/arena.h"
#include "core/error.h"
#include "core/statistics.h"
#include "core/text.h"
#include "cost/calibrate/samples.h"

#include <stdbool.h>

#define LINK_FIT_FOLDS 5
#define LINK_FIT_MIN   12 /* minimum rows of a kind; with fewer its parameters stay unchanged */

struct link_fit {
    struct arena arena;
    struct cost_link link;
    struct error_score kinds[COLLECTIVE_KINDS]; /* on rows held out of the fit; rows 0: not fitted */
    struct error_score all;
};

/* Fits the parameters of `start` (its bandwidth stays: rates are shares of it) to the samples, kind by kind:
 * of one node, or, if `inside` is given, of several, as the link between nodes. Errors are those of
 * LINK_FIT_FOLDS fits on their held-out rows. The caller releases it with link_fit_release. */
bool link_fit_samples(struct link_fit *fit, const struct link_samples *samples, const struct cost_link *start,
                      const struct cost_link *inside, const char *name, struct error *err);
void link_fit_release(struct link_fit *fit);

/* Computes the errors of the link's times on the samples of a kind, with neighbours (collective_time_near); `inside` as
 * above. */
bool link_error_of(struct error_score *error, const struct link_samples *samples, enum collective_kind kind,
                   const struct cost_link *link, const struct cost_link *inside, struct error *err);

#endif
