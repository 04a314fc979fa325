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

/* What data/software.yaml says besides words: X(type, key, description, minimum, maximum); the MAX_… are those of
 * software.c. Bytes are of a parameter where nothing else is said. */
#define SOFTWARE_MEMBERS(X)                                                                                  \
    X(DOUBLE, attention_forward, "rate of its forward kernel, relative to that kind's; 0: 1", 0, MAX_RATE)   \
    X(DOUBLE, attention_backward, "of the backward one", 0, MAX_RATE)                                        \
    X(DOUBLE, block_forward, "passes over [tokens, hidden], all but GEMMs, attention and the MLP's middle",  \
      0.01, MAX_PASSES)                                                                                      \
    X(DOUBLE, block_backward, "and backward", 0.01, MAX_PASSES)                                              \
    X(DOUBLE, middle, "passes over [tokens, ffn], as a multiple of the fused kernels'", 0, MAX_PASSES)       \
    X(DOUBLE, softmax_forward, "bytes per score, unfused attention", 0, MAX_PASSES)                          \
    X(DOUBLE, softmax_backward, "the same, backward", 0, MAX_PASSES)                                         \
    X(DOUBLE, loss, "bytes per logit", 0.01, MAX_PASSES)                                                     \
    X(DOUBLE, loss_kept, "bytes per logit in memory at one time", 0, MAX_PASSES)                             \
    X(DOUBLE, loss_kept_split, "the same where tensor ranks split the logits; 0: as much", 0, MAX_PASSES)    \
    X(DOUBLE, optimizer, "bytes moved per parameter and step, where it is held", 0.01, MAX_PASSES)           \
    X(DOUBLE, accumulate, "the same for accumulating gradients", 0.01, MAX_PASSES)                           \
    X(DOUBLE, tensor_shown, "exposed share of tensor-parallel communication", 0, 1)                          \
    X(DOUBLE, tensor_overlapped, "the same with TECHNIQUE_TENSOR_OVERLAP", 0, 1)                             \
    X(DOUBLE, expert_rate, "rate of experts' grouped products, relative to single ones; 0: 1", 0, MAX_RATE)  \
    X(DOUBLE, narrow_rate, "of 8-bit products, relative to one scale for a tensor; 0: 1", 0, MAX_RATE)       \
    X(FLAG, narrow_kept, "inputs of products in 8 bits are kept in these", 0, 1)                             \
    X(FLAG, weighs_inside, "experts apply a router's weights, and keep no outputs for them", 0, 1)           \
    X(FLAG, narrow_dispatch, "DeepEP carries tokens to experts in 8 bits where products have them", 0, 1)    \
    X(DOUBLE, launch, "seconds of the host for a kernel, or as short an operation of the framework", 0,      \
      MAX_SECONDS)                                                                                           \
    X(DOUBLE, block_launches, "of these, forward and backward, of a block: devices wait for them;", 0,       \
      MAX_PASSES)                                                                                            \
    X(DOUBLE, expert_launches, "further ones of a block of experts,", 0, MAX_PASSES)                         \
    X(DOUBLE, each_launches, "of each expert, where they run one after another,", 0, MAX_PASSES)             \
    X(DOUBLE, latent_launches, "of multi-head latent attention,", 0, MAX_PASSES)                             \
    X(DOUBLE, adapter_launches, "of LoRA's matrices beside one that has them,", 0, MAX_PASSES)               \
    X(DOUBLE, tensor_launches, "of an exchange of tensor parallel ranks,", 0, MAX_PASSES)                    \
    X(DOUBLE, narrow_launches, "of a block's products in 8 or 4 bits,", 0, MAX_PASSES)                       \
    X(DOUBLE, document_launches, "of a packed document without TECHNIQUE_ROPE,", 0, MAX_PASSES)              \
    X(DOUBLE, document_moved_launches, "and where ranks exchange its heads", 0, MAX_PASSES)                  \
    X(DOUBLE, again_launches, "of each part of a block that is recomputed by itself, besides its kernels,",  \
      0, MAX_PASSES)                                                                                         \
    X(DOUBLE, send_launches, "of a stage's sends, and its waiting for the shapes of what comes;", 0,         \
      MAX_PASSES)                                                                                            \
    X(DOUBLE, graph_launches, "those of a block of experts beside graphs of layers", 0, MAX_PASSES)          \
    X(RATE, offload_rate, "bytes/s of an optimizer's step on the host, a device's; 0: as the link to it", 0, \
      1e15)                                                                                                  \
    X(DOUBLE, step_host, "seconds of an iteration of the host alone: input, logging, its loop", 0,           \
      MAX_SECONDS)                                                                                           \
    X(DOUBLE, shard_launches, "launches of a block and micro-batch whose shards are gathered", 0,            \
      MAX_PASSES)                                                                                            \
    X(DOUBLE, state_each, "seconds of each rank that shares states and broadcasts its part by itself", 0,    \
      MAX_SECONDS)                                                                                           \
    X(DOUBLE, data_shown, "exposed share of gradient exchange", 0, 1)                                        \
    X(DOUBLE, gradient_bytes, "of a gradient on the wire and in memory", 0.01, MAX_PASSES)                   \
    X(DOUBLE, parameter_bytes, "of a parameter in the passes", 0.01, MAX_PASSES)                             \
    X(DOUBLE, stored_gradient_bytes, "of a gradient in memory", 0.01, MAX_PASSES)                            \
    X(DOUBLE, state_bytes, "of its states: fp32 master copy, two moments, copies of the step", 0.01,         \
      MAX_PASSES)                                                                                            \
    X(DOUBLE, unsharded_bytes, "further ones where no ranks share the states: fp32 gradients", 0,            \
      MAX_PASSES)                                                                                            \
    X(DOUBLE, ddp_bytes, "further ones of a gradient in DDP's buckets, where several ranks share nothing",   \
      0, MAX_PASSES)                                                                                         \
    X(BYTES, bucket, "bytes of ZeRO's bucket of gradients, which each rank holds", 0, 1e11)                  \
    X(DOUBLE, backward_working, "widest tensors of a block alive at once, backward", 0, MAX_PASSES)          \
    X(DOUBLE, matrix_working, "bytes per parameter of the largest matrix, beside its gradient", 0,           \
      MAX_PASSES)                                                                                            \
    X(DOUBLE, step_bytes, "per parameter whose states it holds, in the step alone", 0, MAX_PASSES)           \
    X(DOUBLE, runtime_share, "share of the memory: context, buffers, fragmentation", 0, 1)                   \
    X(DOUBLE, reserved_share, "of all bytes: what the caching allocator reserves beyond them", 0, 1)         \
    X(DOUBLE, cached_share, "cached blocks that its printed memory leaves out, at least, of it", 0, 1)       \
    X(BYTES, loaded, "further bytes of its process's context: all kernels loaded at once", 0, 1e11)          \
    X(FLAG, prints_device, "its printed memory is the device's, with context and buffers of exchanges", 0,   \
      1)                                                                                                     \
    X(FLAG, eager, "one kernel per operation: fp32 norms keep a copy of their input, gates too", 0, 1)       \
    X(FLAG, copies, "gates keep as much, and the attention's output is kept twice: transposed", 0, 1)        \
    X(FLAG, one_pass, "gradients are not accumulated over micro-batches, unless the job says so", 0, 1)      \
    X(FLAG, late_gradients, "gradients are freed after each step, and not there before a pass", 0, 1)        \
    X(FLAG, keeps_inputs, "gathered inputs of matrices are kept, not gathered again", 0, 1)                  \
    X(DOUBLE, adapter_in, "bytes that LoRA moves per number of a matrix's input, forward,", 0, MAX_PASSES)   \
    X(DOUBLE, adapter_out, "and of its output;", 0, MAX_PASSES)                                              \
    X(DOUBLE, adapter_back_in, "of the input, backward;", 0, MAX_PASSES)                                     \
    X(DOUBLE, adapter_back_out, "of the output; 0: as kernels of its own that take no time", 0, MAX_PASSES)  \
    X(DOUBLE, adapter_bytes, "of a number of LoRA's, with gradient and moments; 0: as of others", 0,         \
      MAX_PASSES)                                                                                            \
    X(DOUBLE, dequantize, "time of widening frozen weights to 16 bits, in that of its bytes", 0, MAX_PASSES) \
    X(FLAG, sequence_parallel, "norms and dropouts split along the sequence (arXiv:2205.05198)", 0, 1)       \
    X(FLAG, sharded, "optimizer states are sharded over data parallel ranks by default", 0, 1)               \
    X(FLAG, fully_sharded, "parameters and gradients too (ZeRO-3, FSDP)", 0, 1)                              \
    /* they are copied out of a flat partition */                                                            \
    X(FLAG, shows_shards, "nothing hides shards: matrices are gathered one after another", 0, 1)             \
    X(FLAG, gathers_matrices, "shards are gathered by matrices, not blocks (XLA)", 0, 1)                     \
    X(FLAG, keeps_root, "embedding and head are gathered together and stay so", 0, 1)                        \
    X(FLAG, keeps_gathered, "a pipeline keeps its stage's parameters gathered during the iteration,", 0, 1)  \
    X(FLAG, keeps_with_experts, "and so do jobs without one, where the model has experts", 0, 1)             \
    X(FLAG, weighs_stages, "stages are filled up to their share of all matrices, the head's too", 0, 1)      \
    X(FLAG, interleaves, "by default a pipeline has one layer per chunk, else one chunk", 0, 1)              \
    X(FLAG, steps_together, "devices take interleaved steps together (PipelineScheduleMulti)", 0, 1)         \
    X(FLAG, splits_local_batch,                                                                              \
      "the given micro-batch is a rank's whole batch; the pipeline splits it by samples", 0, 1)              \
    /* the host waits for each send (Megatron-LM's send_forward_recv_backward, DeepSpeed's p2p.send) */      \
    X(FLAG, send_blocks, "sends between stages occupy the stream of the passes; else beside them", 0, 1)     \
    /* ranks gather and scatter along a dimension that is not the first */                                   \
    X(FLAG, gathers_copied, "what tensor ranks gather is copied, gradients of it added up (DTensor)", 0, 1)  \
    X(FLAG, narrow_gathered, "8-bit inputs with one factor for a tensor are gathered so", 0, 1)              \
    X(FLAG, caches_weights, "8-bit weights are cast once per step instead of per micro-batch", 0, 1)         \
    X(DOUBLE, selective_kept, "share of activations kept under selective recomputation", 0, 1)               \
    X(DOUBLE, selective, "share of a forward pass recomputed by it, with flash attention", 0, 1)

struct software {
    TABLE_NAMED;
#define X(type, name, text, min, max) MEMBER_##type name;
    SOFTWARE_MEMBERS(X)
#undef X
    enum attention_kind attention;
    enum dispatcher dispatch;          /* unless the job says another; DISPATCH_USUAL: all-to-all */
    uint64_t offers;                   /* OFFERS_…: supported splits */
    uint64_t zero;                     /* bit z: ZeRO stage z without a pipeline, */
    uint64_t zero_staged;              /* and with one */
    enum recompute_method some_blocks; /* its way to recompute some blocks of a chunk; METHOD_ALL: none */
    uint64_t schedules;                /* bit s: has schedule s of enum pipeline_schedule */
    uint64_t techniques;               /* bit k: supports technique k of enum technique_kind */
};

/* A user's software is a file of the same form as data/software.yaml, which is part of the program:
 * docs/software.md. */
#define SOFTWARE_MAX 64 /* of one file */
extern const struct table_kind software_kind;

/* Built-in software (devices/tables.c), in the order of lists. The last is "ideal", which is none: not counted if
 * `real`. */
int software_count(bool real);
const struct software *software_at(int index);

/* Finds built-in software by name. NULL: none. */
const struct software *software_find(const char *name);

/* Returns the name of the built-in software that it is, or that a user's own is like: whose options and rules it
 * has. */
const char *software_family(const struct software *software);

/* Software as a run names it: "NeMo 24.07", "HF Trainer (DeepSpeed)". */
struct software_named {
    const struct software *software; /* NULL: unknown */
    bool newest; /* of several generations, with neither version nor date to tell them apart: the newest */
};

/* Finds it by its name, its version and its date ("2025-06-14"); both may be empty. A date within the name or the
 * version ("24.07") counts before `date`. */
struct software_named software_named(const char *name, const char *version, const char *date);

/* Software that stands for unknown software: what it does, one of them does; those of before 2023 last
 * (likeness_mixture). The last is NULL. */
extern const char *const software_mixture[];

static inline bool software_supports(const struct software *software, enum technique_kind kind)
{
    return software->techniques >> kind & 1;
}

/* Return whether tensor parallel ranks split norms along the sequence, and the kernel of attention: as the software
 * does it, or as a technique says. */
bool software_splits_norms(const struct software *software, int sequence);
enum attention_kind software_attention(const struct software *software, int fused);

/* Sets "--software: unknown 'NAME', did you mean 'NEAREST'?". Returns false. */
bool software_unknown(const char *name, struct error *err);

#endif
