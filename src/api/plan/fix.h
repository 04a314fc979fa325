/* `--fix tp=8,pp=2..16,recompute=full`: what a search over training jobs may not choose itself. */
#ifndef REHEARSE_API_PLAN_FIX_H
#define REHEARSE_API_PLAN_FIX_H

#include "api/option.h"
#include "plan/split/search.h"

/* Each item of the list is one or several NAME=VALUE or NAME=LEAST..MOST, or NAME=WORD/WORD (to choose from), with
 * commas between them. A dimension that is said twice is an error. `choices`: NULL where there is nothing to choose. */
bool fix_parse(const char *option, const struct rh_list *list, struct job_range ranges[JOB_DIMENSIONS],
               unsigned choices[TECHNIQUE_COUNT], struct error *err);

#endif
