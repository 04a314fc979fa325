/* A profile from a model's and a device's published numbers: the roofline.
 *
 * A layer takes as long as its arithmetic or its memory traffic, whichever is longer, plus the launch of its
 * kernels:
 *     seconds = max(flops / (efficiency x peak), bytes / bandwidth) + kernels x launch
 * (Williams, Waterman, Patterson 2009, "Roofline"). See docs/cost.md for what is counted and what it is
 * worth. */
#ifndef REHEARSE_COST_ROOFLINE_H
#define REHEARSE_COST_ROOFLINE_H

#include "core/error.h"
#include "cost/device.h"
#include "cost/model.h"
#include "model/profile.h"

/* Half of the peak: Megatron-LM reaches 44 % to 52 % on A100 (Narayanan et al. 2021, arXiv:2104.04473, table
 * 1). */
#define COST_EFFICIENCY 0.5
#define COST_LAUNCH     5e-6 /* seconds from the launch of a kernel to the next */

struct cost_options {
    int microbatch_size;
    int sequence; /* tokens; 0: the model's */
    enum cost_type precision;
};

/* What a layer does and holds, on any device; one micro-batch. */
struct cost_layer {
    double flops; /* forward */
    double bytes; /* moved to and from memory, forward */
    int kernels;  /* launched, forward */
    double parameters;
    double activation_bytes;
    double output_bytes;
};

struct cost_layer cost_embedding(const struct cost_model *model, const struct cost_options *options);
struct cost_layer cost_block(const struct cost_model *model, const struct cost_options *options);
struct cost_layer cost_head(const struct cost_model *model, const struct cost_options *options);

/* Seconds of the forward pass. */
double cost_seconds(const struct cost_layer *layer, const struct cost_device *device,
                    enum cost_type precision);

/* Layers: embedding, blocks, head. Without all-reduce times: those depend on the cluster's links. On failure
 * *profile holds nothing; on success the caller ends it with profile_release. */
bool cost_profile(struct profile *profile, const struct cost_model *model,
                  const struct cost_device *const *devices, int device_count,
                  const struct cost_options *options, struct error *err);

#endif
