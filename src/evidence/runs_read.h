/* Rows of a table of runs; what the columns are is told in job/validate.h. */
#ifndef REHEARSE_EVIDENCE_RUNS_READ_H
#define REHEARSE_EVIDENCE_RUNS_READ_H

#include "evidence/validate.h"

/* Fills the run of this row of validation->csv. A row that cannot be modelled has a reason. */
void run_read(struct validation *validation, const struct validation_defaults *defaults, int row);

/* What a cell of the column `precision` or `recompute` says; false: nothing that is known. */
bool run_type_named(const char *text, enum cost_type *type);
bool run_recompute_named(const char *text, enum recompute *recompute);

#endif
