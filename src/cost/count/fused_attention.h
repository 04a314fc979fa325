/* cuDNN's fused attention, as JAX and XLA call it: sizes and mask stand in the call's backend_config. */
#ifndef REHEARSE_COST_COUNT_FUSED_ATTENTION_H
#define REHEARSE_COST_COUNT_FUSED_ATTENTION_H

#include "hlo/module.h"

struct fused_attention {
    int64_t batch; /* sequences x heads */
    int64_t queries, keys;
    int64_t width; /* of a head: the last dimension of the queries */
    bool causal;   /* half of the scores are skipped */
};

/* Returns false where the call does not say its sizes. Sequences of several lengths in one row are counted as full. */
bool fused_attention_read(const struct hlo_instruction *call, struct fused_attention *attention);

#endif
