/* Rows of a table of runs; what the columns are is told in evidence/validate.h. */
#ifndef REHEARSE_EVIDENCE_RUNS_READ_H
#define REHEARSE_EVIDENCE_RUNS_READ_H

#include "evidence/validate.h"

/* What a cell of the column `precision` or `recompute` says; false: nothing that is known. */
bool run_type_named(const char *text, enum cost_type *type);
bool run_recompute_named(const char *text, enum recompute *recompute);

#endif
