/* What a search found, for people and for programs. */
#ifndef REHEARSE_EVIDENCE_SEARCH_REPORT_H
#define REHEARSE_EVIDENCE_SEARCH_REPORT_H

#include "core/json.h"
#include "evidence/interval.h"
#include "plan/split/search.h"
#include "plan/split/sensitivity.h"

struct job_search_report {
    const struct job_question *question;
    const struct job_search *search;
    const struct job_search *front;            /* NULL: not asked for */
    struct interval interval;                  /* of the best plan */
    const struct job_sensitivity *sensitivity; /* [JOB_RESOURCES]; NULL: not asked for */
    double more;                               /* that it was asked for */
};

/* Stages of the same size, in a row. */
void job_search_print(const struct job_search_report *report, struct text *out);

/* rehearse-plan/1, objective "iteration"; docs/plan.md. */
void job_search_write_json(const struct job_search_report *report, struct json *json, const char *key);

/* The share of the devices' peak that the model's own arithmetic takes (model flops utilisation). */
double job_utilisation(const struct job_choice *plan);

#endif
