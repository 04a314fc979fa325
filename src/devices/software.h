/* Training software: the settings that published runs leave out. data/software.yaml has the numbers. */
#ifndef REHEARSE_DEVICES_SOFTWARE_H
#define REHEARSE_DEVICES_SOFTWARE_H

#include "core/error.h"
#include "devices/table.h"
#include "devices/technique.h"

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
    OFFERS_LAYOUTS = 32, /* unequal chunks, any number of them per stage */
};

struct software {
    TABLE_NAMED;
    enum attention_kind attention;
    double attention_forward, attention_backward; /* rates of its kernels, relative to that kind's; 0: 1 */
    double block_forward,
        /* passes over a block's activations [tokens, hidden] in memory outside of GEMMs, attention and the
         * MLP's middle */
        block_backward;
    double middle; /* passes over [tokens, ffn], as a multiple of the fused kernels' */
    double softmax_forward, softmax_backward; /* bytes per score, unfused attention */
    double loss;                              /* bytes per logit */
    double loss_kept;                         /* bytes per logit in memory at one time */
    double loss_kept_split;   /* the same where tensor parallel ranks split the logits; 0: as much */
    double optimizer;         /* bytes read and written per parameter and step, on the device that holds it */
    double accumulate;        /* the same for accumulating gradients */
    double tensor_shown;      /* exposed share of tensor-parallel communication */
    double tensor_overlapped; /* the same with TECHNIQUE_TENSOR_OVERLAP */
    double expert_rate;       /* rate of experts' grouped products, relative to single ones; 0: 1 */
    double narrow_rate;       /* of products in 8 bits, relative to those with one scale for a tensor; 0: 1 */
    enum dispatcher dispatch; /* unless the job says another; DISPATCH_USUAL: all-to-all */
    bool narrow_kept;         /* inputs of products in 8 bits are kept in these */
    bool narrow_dispatch;     /* DeepEP carries tokens to experts in 8 bits where products have them */
    /* seconds for the host to launch the kernels of a block, forward and backward: faster devices wait for it. Of any
     * block, of one of experts, and, where experts run one after another, of each expert */
    double block_host, expert_host, expert_each;
    double step_host;  /* seconds of an iteration in which the host alone works: input, logging, its loop */
    double shard_host; /* the same of a block and micro-batch whose shards are gathered */
    /* seconds of an iteration for each rank that shares the optimizer's states, where each broadcasts its part by itself */
    double state_each;
    double data_shown;            /* exposed share of gradient exchange */
    double gradient_bytes;        /* of a gradient on the wire and in memory */
    double parameter_bytes;       /* of a parameter in the passes */
    double stored_gradient_bytes; /* of a gradient in memory */
    /* of a parameter's optimizer states: fp32 master copy, two moments, and temporary copies of the step */
    double state_bytes;
    double unsharded_bytes;  /* further ones where no ranks share the states: gradients, flat and in fp32 */
    double backward_working; /* number of a block's widest tensors alive at once in the backward pass */
    double matrix_working;   /* bytes per parameter of the largest matrix, beside its stored gradient */
    double step_bytes;       /* per parameter whose states a device holds, in the optimizer's step alone */
    double runtime_share;    /* share of the device's memory: context, communication buffers, fragmentation */
    /* no kernel does several operations: norms in fp32 keep a copy of their input, and gates their activation */
    bool eager;
    bool one_pass; /* gradients are not accumulated over micro-batches, unless the job says so */
    /* gradients are freed after each step: with one micro-batch, none are there before its backward pass */
    bool late_gradients;
    bool
        weighs_inside; /* a router's weights are applied inside of experts, whose outputs are not kept for them */
    bool
        keeps_inputs; /* inputs of matrices are kept as tensor parallel ranks gathered them, not gathered again */
    double adapter_in,
        adapter_out; /* bytes that LoRA moves per number of a matrix's input and output, forward, */
    double adapter_back_in, adapter_back_out; /* and backward; 0: as kernels of its own that take no time */
    double
        adapter_bytes; /* of a number of LoRA's matrices and of their gradients and moments; 0: as of other weights */
    double dequantize;      /* time of making frozen weights in few bits 16 bits wide, in that of its bytes */
    bool sequence_parallel; /* norms and dropouts split along the sequence (arXiv:2205.05198) */
    bool sharded;           /* optimizer states are sharded over data parallel ranks by default */
    bool fully_sharded;     /* parameters and gradients too (ZeRO-3, FSDP) */
    bool
        shows_shards; /* nothing hides shards: matrices are gathered one after another, copied out of a flat partition */
    bool
        gathers_matrices; /* shards are gathered matrix by matrix, not block by block (XLA: each product's own) */
    bool
        keeps_root; /* embedding and head are gathered together, and stay so until the end of the backward pass */
    bool keeps_gathered;     /* a pipeline keeps its stage's parameters gathered during the iteration, */
    bool keeps_with_experts; /* and so do jobs without one, where the model has experts */
    bool interleaves;        /* by default a pipeline has one layer per chunk, else one chunk */
    bool
        steps_together; /* devices take the steps of an interleaved pipeline together (PyTorch's PipelineScheduleMulti) */
    /* the given micro-batch is a rank's whole batch; the pipeline splits it by samples */
    bool splits_local_batch;
    /* sends between stages occupy the stream of the passes: the host waits for each (Megatron-LM's
     * send_forward_recv_backward, DeepSpeed's p2p.send); false: they run beside them */
    bool send_blocks;
    /* tensor parallel ranks gather and scatter along a dimension that is not the first, so that what they exchange is copied (PyTorch's
     * DTensor), and each matrix gives a gradient of its gathered input, to be added up */
    bool gathers_copied;
    bool
        narrow_gathered; /* inputs of products in 8 bits with one factor for a tensor are gathered in these */
    bool caches_weights; /* 8-bit weights are cast once per step instead of per micro-batch */
    double selective_kept;             /* share of a block's activations kept under selective recomputation */
    uint64_t offers;                   /* OFFERS_…: supported splits */
    uint64_t zero;                     /* bit z: ZeRO stage z without a pipeline, */
    uint64_t zero_staged;              /* and with one */
    enum recompute_method some_blocks; /* its way to recompute some blocks of a chunk; METHOD_ALL: none */
    uint64_t schedules;                /* bit s: has schedule s of enum pipeline_schedule */
    uint64_t techniques;               /* bit k: supports technique k of enum technique_kind */
    double selective; /* share of a block's forward pass recomputed by "selective" with flash attention */
};

/* A user's software is a file of the same form as data/software.yaml, which is part of the program: docs/software.md. */
#define SOFTWARE_MAX 64 /* of one file */
extern const struct table_kind software_kind;

/* Built-in software (devices/tables.c), in the order of lists. The last is "ideal", which is none: not counted if `real`. */
int software_count(bool real);
const struct software *software_at(int index);

/* Finds built-in software by name. NULL: none. */
const struct software *software_find(const char *name);

/* Returns the name of the built-in software that it is, or that a user's own is like: whose options and rules it has. */
const char *software_family(const struct software *software);

/* Software as a run names it: "NeMo 24.07", "HF Trainer (DeepSpeed)". */
struct software_named {
    const struct software *software; /* NULL: unknown */
    bool newest; /* of several generations, with neither version nor date to tell them apart: the newest */
};

/* Finds it by its name, its version and its date ("2025-06-14"); both may be empty. A date within the name or the version
 * ("24.07") counts before `date`. */
struct software_named software_named(const char *name, const char *version, const char *date);

/* Families that stand for unknown software: what it does, one of them does. The last is NULL. */
extern const char *const software_mixture[];

static inline bool software_supports(const struct software *software, enum technique_kind kind)
{
    return software->techniques >> kind & 1;
}

/* Return whether tensor parallel ranks split norms along the sequence, and the kernel of attention: as the software does it, or as a
 * technique says. */
bool software_splits_norms(const struct software *software, int sequence);
enum attention_kind software_attention(const struct software *software, int fused);

/* Sets "--software: unknown 'NAME', did you mean 'NEAREST'?". Returns false. */
bool software_unknown(const char *name, struct error *err);

#endif
