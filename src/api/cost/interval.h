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

/* The same for a profile of files: of their kernels alone, without an upper end where loops of unknown length run
 * once. */
bool cost_interval_note_files(struct profile *profile, const struct cost_device *const *devices,
                              const struct layer_doubts *doubts, struct error *err);

/* As shares of the seconds of kernels on a device. */
struct plan_interval cost_interval_of_kernels(const struct kernel_time *times,
                                              const struct cost_device *device);

#endif
