/* What one known run of a lab says of its other runs: measured on the published ones (own_run.h). */
#ifndef REHEARSE_EVIDENCE_OWN_RUN_SCORE_H
#define REHEARSE_EVIDENCE_OWN_RUN_SCORE_H

#include "core/error.h"

/* Which labs count: all, or one of two halves, drawn by their names. */
enum own_labs { OWN_LABS_ALL, OWN_LABS_EVEN, OWN_LABS_ODD };

/* How well the published runs of a lab are predicted when one other run of the same lab and device is known, and when
 * none is. Each lab counts once, so that errors are means over labs. */
struct own_score {
    int labs, runs;       /* runs: with another one that is near */
    double before, after; /* mean error of jobs near the run */
    double inside;        /* share of these within their 80 % intervals, after */
    double far;           /* mean error of the other jobs: a run says nothing of them */
};

/* `share`, `reach`: instead of OWN_SHARE and OWN_REACH. False: out of memory. */
bool own_run_score(struct own_score *score, enum own_labs labs, double share, double reach,
                   struct error *err);

#endif
