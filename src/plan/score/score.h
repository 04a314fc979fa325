/* What a plan takes, and what the best plan for the same question takes.
 *
 * An objective is one entry of a table: how its question is made from the plan and from files, how the plan is scored, and how
 * the best one is found. To add one, write these functions in a file of its own and add an entry to score.c. */
#ifndef REHEARSE_PLAN_SCORE_SCORE_H
#define REHEARSE_PLAN_SCORE_SCORE_H

#include "plan/plan.h"
#include "plan/score/options.h"

struct score {
    struct plan plan;    /* complete: seconds, bytes and devices of all stages */
    struct plan best;    /* for the same question; its pipeline_count is 0 where none was found */
    const char *beyond;  /* what a plan may do that no plan of the search does */
    struct error misfit; /* text "": the plan fits into memory */
    struct error none;   /* text: why there is no best plan */
};

/* ERROR_INPUT or ERROR_INFEASIBLE where the plan cannot be run; ERROR_USAGE where an option is missing. On failure *score
 * holds nothing; on success the caller ends it with score_release. `plan` must live as long. */
bool score_plan(struct score *score, struct plan *plan, const struct score_options *options,
                struct error *err);
void score_release(struct score *score);

/* iteration_time / that of the best plan - 1; NAN: there is none. */
double score_excess(const struct score *score);

#endif
