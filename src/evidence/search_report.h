/* The report of a search for the split of a job, for people. */
#ifndef REHEARSE_EVIDENCE_SEARCH_REPORT_H
#define REHEARSE_EVIDENCE_SEARCH_REPORT_H

#include "evidence/interval.h"
#include "plan/split/plan.h"

struct job_search_report {
    struct job_answer answer;
    struct estimate estimate; /* of the best plan: one factor for all plans of an answer */
    bool no_neighbours;       /* its factor is not used */
    const struct plan_nearest *nearest;
    bool explain;                     /* name its known runs */
    bool explain_memory;              /* and the terms of its memory */
    const struct plan_budget *budget; /* of the best plan; NULL: not asked for */
    const struct job_choice *simpler; /* a plan that is hardly slower; NULL: none */
};

/* Stages of the same size, in a row. */
void job_search_print(const struct job_search_report *report, struct text *out);

#endif
