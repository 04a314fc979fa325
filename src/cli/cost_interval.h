/* How far off the computed times of a model's layers may be. */
#ifndef REHEARSE_CLI_COST_INTERVAL_H
#define REHEARSE_CLI_COST_INTERVAL_H

#include "core/error.h"
#include "cost/model_profile.h"

/* Adds to the profile's source, per device, between which shares of its computed times eight in ten published runs
 * like it were measured, and whether no published run is like it. */
bool cost_interval_note(struct profile *profile, const struct architecture *model,
                        const struct cost_device *const *devices, const struct model_options *options,
                        struct error *err);

#endif
