/* The kernels, transfers and bytes of a transformer's layers on one device. */
#ifndef REHEARSE_COST_TRANSFORMER_H
#define REHEARSE_COST_TRANSFORMER_H

#include "cost/kernel.h"
#include "devices/architecture.h"
#include "devices/software.h"

enum recompute { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL };

/* How a layer is cut, and what passes it at a time. */
struct layer_split {
    int64_t microbatch;          /* sequences */
    int64_t sequence;            /* tokens of each, all context parallel ranks together */
    int64_t document;            /* tokens of the documents a sequence is packed from, which attend to
                                    themselves only; 0: one document */
    int tensor, context, expert; /* parallel degrees */
    enum cost_type type;         /* of the matrix products */
    const struct software *software;
};

#define LAYER_MAX_KERNELS 96

/* Of one layer, one micro-batch, one device. */
struct layer_work {
    int forward_count, count; /* kernels: those of the forward pass, then those of the backward pass */
    struct kernel kernels[LAYER_MAX_KERNELS];
    int attention_first,
        attention_count;                 /* of the forward kernels: what selective recomputation runs again */
    double tensor_bytes;                 /* of one tensor-parallel all-reduce; */
    int tensor_forward, tensor_backward; /* how many of them */
    double context_bytes; /* keys and values that go round the context parallel ranks, forward */
    double expert_bytes;  /* of one expert-parallel all-to-all; two forward, two backward */
    double parameters;    /* on this device, experts apart */
    double expert_parameters;
    double largest_matrix;   /* parameters of it */
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
