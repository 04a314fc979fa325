/* What `rehearse validate` says about a table of runs. */
#ifndef REHEARSE_CLI_VALIDATE_REPORT_H
#define REHEARSE_CLI_VALIDATE_REPORT_H

#include "cli/validate/best.h"
#include "core/error.h"
#include "core/text.h"
#include "evidence/interval.h"
#include "evidence/validate.h"

#include <stdbool.h>

struct validate_report {
    struct validation validation;
    struct interval *intervals; /* of modelled runs */
    struct better *betters;     /* NULL: not asked for */
    int covered, extrapolated;  /* of scored ones */
    bool rows;                  /* all of them are wanted */
};

bool validate_find_intervals(struct validate_report *report, struct error *err);
void validate_print(const struct validate_report *report, struct text *out);
void validate_write(const struct validate_report *report, struct text *out); /* JSON */

/* Who published the runs, each once. */
void validate_name_sources(const struct validation *validation, struct text *out);

#endif
