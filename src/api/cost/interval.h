/* Intervals of the computed times of a model's layers. */
#ifndef REHEARSE_API_COST_INTERVAL_H
#define REHEARSE_API_COST_INTERVAL_H

#include "core/error.h"
#include "cost/layer.h"
#include "cost/model_profile.h"
#include "evidence/interval.h"

/* Adds the 80 % interval of each device type, as shares of its computed times, to the profile's source, and whether it
 * is extrapolated. */
bool cost_interval_note(struct profile *profile, const struct architecture *model,
                        const struct cost_device *const *devices, const struct model_options *options,
                        struct error *err);

/* The same for a profile of files, which name no model: of all runs on the devices' generations, wider where kernels
 * are modelled roughly, and without an upper end where loops of unknown length run once. */
bool cost_interval_note_files(struct profile *profile, const struct cost_device *const *devices,
                              const struct layer_doubts *doubts, struct error *err);

/* Widens an interval of shares: this share of the time belongs to kernels that are modelled roughly. */
void cost_interval_widen(struct plan_interval *interval, double rough);

/* As shares of a device's computed times: of the runs in the middle of those of its generation. */
struct plan_interval cost_interval_of_device(const struct cost_device *device);

#endif
