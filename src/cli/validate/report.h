/* The report of `rehearse validate` on a table of runs. */
#ifndef REHEARSE_CLI_VALIDATE_REPORT_H
#define REHEARSE_CLI_VALIDATE_REPORT_H

#include "core/error.h"
#include "core/text.h"
#include "evidence/better.h"
#include "evidence/interval.h"
#include "evidence/validate.h"

#include <stdbool.h>

struct validate_report {
    struct validation validation;
    struct interval *intervals; /* of modelled runs */
    struct better *betters;     /* NULL: not asked for */
    int covered, extrapolated;  /* of scored ones */
    bool rows, wide;            /* print every run, with all columns */
};

/* Makes the intervals of all runs that were predicted, and counts the scored runs inside. */
bool validate_find_intervals(struct validate_report *report, struct error *err);
void validate_print(const struct validate_report *report, struct text *out);
void validate_write(const struct validate_report *report, struct text *out); /* JSON */

/* Names the sources of the runs, each once. */
void validate_name_sources(const struct validation *validation, struct text *out);

struct validate_mixed {
    const char *plans, *layers, *setup; /* files */
    const char *output;                 /* NULL: standard output */
    bool rows, wide, json;
};

bool validate_mixed(const struct validate_mixed *given, struct error *err);

#endif
