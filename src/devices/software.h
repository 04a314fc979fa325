/* What the training software does with a model: the settings that published runs leave unsaid. */
#ifndef REHEARSE_DEVICES_SOFTWARE_H
#define REHEARSE_DEVICES_SOFTWARE_H

#include <stdbool.h>

enum attention_kind {
    ATTENTION_UNFUSED, /* scores in memory: two batched products and a softmax */
    ATTENTION_FLASH2,  /* one kernel, FlashAttention-2 (arXiv:2307.08691) */
    ATTENTION_FLASH3,  /* one kernel, FlashAttention-3 (arXiv:2407.08608) or cuDNN's */
};

enum {
    OFFERS_TENSOR = 1,
    OFFERS_PIPELINE = 2,
    OFFERS_CHUNKS = 4,
    OFFERS_CONTEXT = 8,
    OFFERS_EXPERT = 16,
    OFFERS_LAYOUTS = 32, /* chunks that differ: any number of them per stage */
};

struct software {
    const char *name;
    const char *text; /* for --list */
    enum attention_kind attention;
    double attention_forward, attention_backward; /* rates of its kernels, of that kind's; 0: 1 */
    double block_forward,
        block_backward; /* passes over a block's activations [tokens, hidden] in memory outside of
                                             GEMMs, attention and the MLP's middle */
    double middle;      /* passes over [tokens, ffn], as a multiple of the fused kernels' */
    double softmax_forward, softmax_backward; /* bytes per score, unfused attention */
    double loss;                              /* bytes per logit */
    double loss_kept;                         /* bytes per logit that are in memory at once */
    double optimizer;    /* bytes read and written per parameter and step, on the device that holds it */
    double accumulate;   /* the same per parameter and step for gradients */
    double tensor_shown; /* share of tensor-parallel communication that is not hidden under GEMMs */
    double expert_rate;  /* of the grouped products of experts, of that of single ones; 0: 1 */
    double expert_host;  /* seconds in which the host launches the kernels of a block of experts, forward and
                               backward: devices that are faster wait for it */
    double data_shown;   /* share of gradient exchange that is not hidden under the backward pass */
    double gradient_bytes;        /* of a gradient on the wire and in memory */
    double parameter_bytes;       /* of a parameter as it is kept for the passes */
    double stored_gradient_bytes; /* of a gradient in memory */
    double state_bytes; /* of a parameter's optimizer states: fp32 master copy and two moments, and what the
                                     step makes beside them */
    double backward_working; /* how many of a block's widest tensors live at once in the backward pass */
    double matrix_working;   /* bytes per parameter of the largest matrix, beside its stored gradient */
    double runtime_share;    /* of the device's memory: context, communication buffers, fragmentation */
    bool sequence_parallel;  /* norms and dropouts split along the sequence (arXiv:2205.05198) */
    bool sharded;            /* optimizer states split over the data parallel ranks unless said otherwise */
    bool fully_sharded;      /* parameters and gradients too (ZeRO-3, FSDP) */
    bool keeps_gathered;     /* a pipeline keeps its stage's parameters gathered through the iteration */
    bool interleaves; /* a pipeline whose chunks are not said has one layer per chunk, else one chunk */
    bool
        splits_local_batch; /* the micro-batch given is a rank's whole batch; the pipeline splits it by samples */
    bool caches_weights;   /* 8-bit weights are cast once per step, not per micro-batch */
    double selective_kept; /* share of a block's activations that are kept then */
    unsigned offers;       /* OFFERS_…: how it can split a model */
    unsigned zero;         /* bit z: ZeRO stage z without a pipeline, */
    unsigned zero_staged;  /* and with one */
    double selective; /* share of a block's forward pass that "selective" recomputes with flash attention */
};

/* By name. NULL: none. */
const struct software *software_find(const char *name);

/* By name, or by how a published run calls it ("NeMo 24.07"). NULL: none. */
const struct software *software_published(const char *name);
const struct software *software_all(int *count);

#endif
