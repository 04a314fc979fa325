/* The chain of layers that DAPPLE's rules split, out of a graph of operations. */
#ifndef REHEARSE_PLAN_DAPPLE_INPUT_H
#define REHEARSE_PLAN_DAPPLE_INPUT_H

#include "core/error.h"
#include "model/chain.h"

#include <stdbool.h>
#include <stdint.h>

/* What the files do not say. */
struct dapple_input_options {
    int64_t profile_batch;              /* samples that the graph was measured with; 0: as its name says */
    double state_factor, sample_memory; /* as in struct dapple_problem */
};

/* `as_hpgo`: layers as HPGO counts them. `given_batch` 0: the samples are those of the file's name. On failure *chain holds
 * nothing; on success the caller ends it with chain_release. */
bool dapple_input_load(struct chain *chain, double *profile_batch, const char *path, bool as_hpgo,
                       int64_t given_batch, struct error *err);

#endif
