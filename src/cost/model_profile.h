/* A profile of a model without measurements: every layer's kernels, priced for each device type. */
#ifndef REHEARSE_COST_MODEL_PROFILE_H
#define REHEARSE_COST_MODEL_PROFILE_H

#include "core/error.h"
#include "cost/profile_devices.h"
#include "cost/transformer.h"
#include "devices/architecture.h"
#include "devices/device.h"
#include "devices/precision.h"
#include "devices/tables.h"
#include "model/profile.h"

struct model_options {
    int64_t microbatch; /* sequences */
    int64_t sequence;   /* tokens; 0: the model's */
    enum model_precision precision;
    int tensor; /* tensor parallel degree, within a node */
    enum recompute recompute;
    const struct software *software;
    struct profile_reach reach;
    const struct tables *tables; /* the user's; NULL: none */
};

/* Checks that a device has the type that a precision names; `mixed` and `fp32` are what it has. */
bool model_check_precision(const struct cost_device *device, enum model_precision precision,
                           struct error *err);

/* Returns the type of a device's products under this precision, or the usual replacement. */
enum cost_type model_type(const struct cost_device *device, enum model_precision precision);

/* The layers of a model as profiles have them (embedding, blocks, head), and the kernels of one of them. */
int model_layer_count(const struct architecture *model);
void model_layer_work(struct layer_work *work, const struct architecture *model, int layer,
                      const struct layer_split *split);

/* Makes a profile with layers embedding, blocks, head. On failure *profile holds nothing; on success the
 * caller releases it with profile_release. */
bool model_profile(struct profile *profile, const struct architecture *model,
                   const struct cost_device *const *devices, int device_count,
                   const struct model_options *options, struct error *err);

#endif
