/* Reads the chain of layers that DAPPLE's rules split from a graph of operations. */
#ifndef REHEARSE_PLAN_DAPPLE_INPUT_H
#define REHEARSE_PLAN_DAPPLE_INPUT_H

#include "core/error.h"
#include "model/chain.h"

#include <stdbool.h>
#include <stdint.h>

/* Values missing in the files. */
struct dapple_input_options {
    int64_t profile_batch;              /* samples of the measured graph; 0: from its file name */
    double state_factor, sample_memory; /* as in struct dapple_problem */
};

/* Loads a chain. `as_hpgo`: layers as HPGO counts them. `given_batch` 0: samples from the file's name. On
 * failure *chain holds nothing; on success the caller releases it with chain_release. */
bool dapple_input_load(struct chain *chain, double *profile_batch, const char *path, bool as_hpgo,
                       int64_t given_batch, struct error *err);

#endif
