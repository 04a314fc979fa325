/* What the known runs say of a run when all runs like it are left out: of its source, its software, its GPU or its
 * model. That is what a user of something new gets. */
#ifndef REHEARSE_EVIDENCE_LEFT_OUT_H
#define REHEARSE_EVIDENCE_LEFT_OUT_H

#include "core/error.h"
#include "evidence/judge.h"

/* One part that was left out, or all of them together (name NULL). */
struct left_out {
    const char *name;
    struct error_score errors;
    struct error_score formula; /* errors of the formula alone */
    int inside;                 /* runs within their 80 % intervals, */
    double groups;              /* their share, each group counting once, */
    int like, unlike;           /* and within those as like known runs, and as unlike them */
    int extrapolated;           /* runs like none of those that were left */
    double width;               /* median of high / low */
};

/* Leaves out each part that has scored runs, and all in turn: (*list)[*count - 1] is their sum, the parts before it
 * have the most runs first. RUN_PARTS: each way of leaving out in turn, of which the list has the sums, named as in
 * run_part_names. Known are the runs that come with the program. `formula`: errors are
 * those of the formula alone. The caller frees *list; texts belong to the validation, which was
 * predicted. */
bool left_out_make(const struct validation *validation, enum run_part part, bool formula,
                   struct left_out **list, int *count, struct error *err);

#endif
