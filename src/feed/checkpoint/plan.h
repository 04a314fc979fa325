/* What a plan (rehearse-plan/1) says to a storage benchmark: how long a step takes, and who saves what. */
#ifndef REHEARSE_FEED_CHECKPOINT_PLAN_H
#define REHEARSE_FEED_CHECKPOINT_PLAN_H

#include "core/error.h"
#include "devices/architecture.h"
#include "feed/checkpoint/shards.h"

#include <stdbool.h>
#include <stdint.h>

struct checkpoint_of_plan {
    double step_seconds; /* of an iteration */
    int64_t global_batch,
        sequence; /* samples of an iteration, tokens of a sample; 0: the plan does not say */
    int64_t devices, data_parallel; /* that it uses; that read samples of their own. 0: it does not say */
    bool sized;                     /* it says enough for the three below */
    char why[256];                  /* or what is missing */
    double parameters;              /* of the model */
    double model_bytes, optimizer_bytes; /* of a checkpoint of all devices */
    struct checkpoint_shards shards;
};

/* Of a plan of `rehearse plan`, the first of its `plans`. `ranks`: that run, the first of the plan's devices; 0: all.
 * `model`: NULL: the built-in one of the name that the plan gives.
 *
 * Sizes: weights in the precision of the products, but 2 bytes at least (8-bit products keep weights of 16 bit); the
 * optimizer's two moments in fp32 and, beside weights of 16 bit, a master copy: 12 bytes per parameter, else 8. Those are
 * the 14 bytes of MLPerf Storage's checkpoints. Ranks of a context parallel group hold the same weights and count as
 * data parallel. Every tensor rank has an equal share of a layer, its norms too. Experts are the same share of every
 * block, and each of `ep` ranks of a stage holds some of them whole. Plans of devices of several kinds and of layer times
 * alone, and expert parallelism without ZeRO, have a step time and no sizes. */
bool checkpoint_plan_load(struct checkpoint_of_plan *of, const char *path, int64_t ranks,
                          const struct architecture *model, struct error *err);

/* From text; `path` is for messages. */
bool checkpoint_plan_parse(struct checkpoint_of_plan *of, const char *path, const char *text, size_t length,
                           int64_t ranks, const struct architecture *model, struct error *err);

#endif
