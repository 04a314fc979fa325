/* Rows of a table of runs; evidence/validate.h describes the columns. */
#ifndef REHEARSE_EVIDENCE_RUNS_READ_H
#define REHEARSE_EVIDENCE_RUNS_READ_H

#include "evidence/validate.h"

/* Read a cell of the column `precision` or `recompute`. False: it is unknown. */
bool run_type_named(const char *text, enum cost_type *type);
bool run_recompute_named(const char *text, enum recompute *recompute);

#endif
