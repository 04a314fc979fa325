/* The links of a study, fitted as `rehearse calibrate` fits tables of collectives: inside hosts, and between them. */
#ifndef REHEARSE_MEASURE_LINKS_FIT_H
#define REHEARSE_MEASURE_LINKS_FIT_H

#include "cost/calibrate/links.h"
#include "measure/links/study.h"

struct study_fits {
    bool has_inside, has_across;
    bool
        /* fitted to the shortest times instead of medians: other load disturbed most samples of many rows */
        is_shortest;
    struct link_fit inside, across;
    struct link_samples inside_samples, across_samples;
    struct error_score all; /* of the left-out rows of both */
};

/* Fits the links for which there are at least LINK_FIT_MIN rows; the others have no result. `source`: for the files.
 * The caller releases it. */
bool study_fit(struct study_fits *fits, const struct study *study, const char *source, struct error *err);
void study_fits_release(struct study_fits *fits);

#endif
