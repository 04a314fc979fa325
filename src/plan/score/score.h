/* The time of a plan, and of the best plan for the same question.
 *
 * An objective is one entry of a table: it makes its question from the plan and from files, scores the plan,
 * and finds the best one. To add one, write these functions in a file of its own and add an entry to
 * score.c. */
#ifndef REHEARSE_PLAN_SCORE_SCORE_H
#define REHEARSE_PLAN_SCORE_SCORE_H

#include "core/text.h"
#include "plan/plan.h"
#include "plan/score/options.h"

struct score {
    struct plan plan; /* complete: seconds, bytes and devices of all stages */
    struct plan best; /* for the same question; pipeline_count 0: none found */
    const char
        *beyond; /* features of plans that the search does not consider; NULL: best.proof_over says them */
    struct text differs; /* fields of the given plan that do not follow from its decisions; empty: none */
    struct error misfit; /* text "": the plan fits into memory */
    struct error none;   /* text: reason that there is no best plan */
};

/* Scores a plan, which must outlive *score. ERROR_INPUT or ERROR_INFEASIBLE if it cannot be run; ERROR_USAGE
 * for a missing option. On failure *score holds nothing; the caller ends it with score_release. */
bool score_plan(struct score *score, struct plan *plan, const struct score_options *options,
                struct error *err);
void score_release(struct score *score);

/* iteration_time / that of the best plan - 1; NAN: there is none. */
double score_excess(const struct score *score);

#endif
