/* The checkpoint shards of a planned job. */
#ifndef REHEARSE_FEED_CHECKPOINT_PLAN_H
#define REHEARSE_FEED_CHECKPOINT_PLAN_H

#include "core/error.h"
#include "devices/architecture.h"
#include "feed/checkpoint/shards.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct checkpoint_of_plan {
    int64_t devices;                     /* used by the plan */
    bool sized;                          /* the plan has enough data for the rest */
    char why[256];                       /* if not: the missing data */
    double parameters;                   /* of the model */
    double model_bytes, optimizer_bytes; /* of a checkpoint of all devices */
    struct checkpoint_shards shards;
};

/* Sizes are known of a plan for devices that are alike, whose stages have the same degrees. `ranks`: that
 * run, the first of the plan's devices; 0: all. `model`: NULL: the built-in one of the name that the plan
 * gives.
 *
 * Weights are in the precision of the products, but 2 bytes at least (8-bit products keep weights of 16
 * bit); the optimizer's two moments in fp32 and, beside weights of 16 bit, a master copy: 12 bytes per
 * parameter, else 8. Those are the 14 bytes of MLPerf Storage's checkpoints. Ranks of a context parallel
 * group hold the same weights and count as data parallel. Every tensor rank has an equal share of a layer,
 * its norms too. Experts are the same share of every block, and each of `ep` ranks of a stage holds some
 * of them whole. Expert parallelism without ZeRO has no sizes. */
bool checkpoint_of_plan(struct checkpoint_of_plan *of, const struct plan *plan, int64_t ranks,
                        const struct architecture *model, struct error *err);

#endif
