/* Sizes that files of StableHLO leave open, by --dim. */
#ifndef REHEARSE_API_COST_DIMS_H
#define REHEARSE_API_COST_DIMS_H

#include "api/option.h"
#include "hlo/module.h"

/* Reads "b=8" or "2.0=8", one for each --dim. The caller ends *dims, also after a failure, with cost_dims_release. */
bool cost_dims_read(struct hlo_dims *dims, const struct rh_list *list, struct error *err);
void cost_dims_release(struct hlo_dims *dims);

/* Checks, after all files were read, that each size is one of a file. */
bool cost_dims_check(const struct hlo_dims *dims, struct error *err);

#endif
