/* The kernels, transfers and bytes of a transformer's layers on one device. */
#ifndef REHEARSE_COST_TRANSFORMER_H
#define REHEARSE_COST_TRANSFORMER_H

#include "cost/kernel.h"
#include "devices/architecture.h"
#include "devices/software.h"

enum recompute { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL };

/* The split of a layer, and its input. */
struct layer_split {
    int64_t microbatch; /* sequences */
    int64_t sequence;   /* tokens per sequence, over all context parallel ranks */
    /* tokens per document packed into a sequence, each attending only to itself; 0: one document */
    int64_t document;
    int tensor, context, expert; /* parallel degrees */
    enum cost_type type;         /* of the matrix products */
    const struct software *software;
};

#define LAYER_MAX_KERNELS 96

/* The work of one layer for one micro-batch on one device. */
struct layer_work {
    int forward_count, count; /* kernels: first the forward pass, then the backward pass */
    struct kernel kernels[LAYER_MAX_KERNELS];
    int attention_first, attention_count; /* forward kernels repeated by selective recomputation */
    double tensor_bytes;                  /* of one tensor-parallel all-reduce */
    int tensor_forward, tensor_backward;  /* number of these all-reduces */
    double context_bytes; /* keys and values passed around the context parallel ranks, forward */
    double expert_bytes;  /* of one expert-parallel all-to-all; two forward, two backward */
    double parameters;    /* on this device, without experts */
    double expert_parameters;
    double largest_matrix;   /* its parameters */
    double activation_bytes; /* kept for the backward pass without recomputation */
    double selective_bytes;  /* with selective recomputation */
    double input_bytes;      /* with full recomputation: the layer's input */
    double working_bytes;    /* the gradients of its widest tensors */
    double output_bytes;     /* to the next layer */
};

void transformer_embedding(struct layer_work *work, const struct architecture *model,
                           const struct layer_split *split);
void transformer_block(struct layer_work *work, const struct architecture *model, int block,
                       const struct layer_split *split);
void transformer_head(struct layer_work *work, const struct architecture *model,
                      const struct layer_split *split);

#endif
