/* Techniques of training software that trade time, memory and accuracy for one another.
 *
 * One table describes all of them: the name in `--fix` and in plans, the values, and the words for these. 0 always
 * stands for the software's own habit, so that an empty struct changes nothing. */
#ifndef REHEARSE_DEVICES_TECHNIQUE_H
#define REHEARSE_DEVICES_TECHNIQUE_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stdint.h>

enum recompute { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL };

/* Parts of a block that selective recomputation may drop, in Megatron-Core's words (--recompute-modules). */
enum recompute_module {
    MODULE_CORE_ATTENTION,
    MODULE_NORMS,
    MODULE_LATENT_UP, /* multi-head latent attention: the matrices that widen query, key and value */
    MODULE_EXPERTS,   /* all of a block's mixture of experts, with its exchanges */
    MODULE_EXPERT_ACTIVATION,
    MODULE_MLP,
    MODULE_SHARED_EXPERTS,
    RECOMPUTE_MODULES
};

/* Which blocks of a chunk full recomputation covers. */
enum recompute_method {
    METHOD_ALL,     /* each by itself */
    METHOD_BLOCK,   /* the first `layers` of them (Megatron-Core's block) */
    METHOD_UNIFORM, /* all, `layers` of them as one (its uniform) */
    METHOD_EVERY,   /* one of each `layers` (torchtitan's selective with a number) */
};

/* Formats of numbers held between steps. */
enum number_format { FORMAT_USUAL, FORMAT_FP32, FORMAT_FP16, FORMAT_BF16, FORMAT_FP8, FORMAT_FP4 };

/* How numbers of products in 8 or 4 bits are scaled (Transformer Engine's recipes). */
enum number_recipe {
    RECIPE_USUAL,
    RECIPE_DELAYED,    /* a factor per tensor, from earlier steps */
    RECIPE_TENSORWISE, /* a factor per tensor, from its own maximum */
    RECIPE_BLOCKWISE,  /* one for each 128 numbers of an activation and 128 x 128 of weights */
    RECIPE_MXFP8,      /* one for each 32 numbers */
    RECIPE_NVFP4,      /* one for each 16 numbers of 4 bits */
    RECIPE_ROWWISE,    /* one for each row of a tensor and each column of weights (torchao) */
};

/* How tokens go to their experts (cost/experts.h). */
enum dispatcher { DISPATCH_USUAL, DISPATCH_ALLTOALL, DISPATCH_DEEPEP, DISPATCH_ALLGATHER };

/* The kernels of another micro-batch beside which experts exchange tokens: all but the gradients of weights, or these,
 * too (Megatron-Core's --delay-wgrad-compute). */
enum expert_overlap { OVERLAP_USUAL, OVERLAP_NONE, OVERLAP_PASSES, OVERLAP_WEIGHTS };

/* Exchanges of context parallel ranks (cost/context.h), in Megatron-Core's words (--cp-comm-type). */
enum context_kind { CONTEXT_USUAL, CONTEXT_RING, CONTEXT_GATHER, CONTEXT_ULYSSES, CONTEXT_HIERARCHICAL };

/* Schedules by their names in schedule/schedule.h; interleaved 1F1B is the usual one of several chunks. */
enum pipeline_schedule {
    SCHEDULE_USUAL,
    SCHEDULE_1F1B,
    SCHEDULE_ZB_H1,
    SCHEDULE_DUALPIPE,
    SCHEDULE_ZB_V,
    SCHEDULE_DUALPIPEV,
    SCHEDULE_LAST = SCHEDULE_DUALPIPEV,
};

/* Of an optimizer's states, those that it has beside any copy of the parameters. */
enum optimizer_kind {
    OPTIMIZER_USUAL,
    OPTIMIZER_ADAM,     /* two moments */
    OPTIMIZER_MOMENTUM, /* one: SGD with momentum, Lion (arXiv:2302.06675), Muon */
    OPTIMIZER_FACTORED, /* sums of rows and columns: Adafactor without momentum (arXiv:1804.04235) */
    OPTIMIZER_NONE,     /* plain SGD, LOMO (arXiv:2306.09782) */
    OPTIMIZER_GALORE, /* two moments of a gradient projected to a rank, and its projector (arXiv:2403.03507) */
    OPTIMIZER_APOLLO, /* the same, the projector is a seed (arXiv:2412.05270) */
};

/* The rank where none is said: PEFT, LLaMA-Factory, axolotl and Megatron-Bridge have 8 to 32. */
#define LORA_RANK 16

/* Matrices of a block that may have adapters, a set of bits; experts, router, embedding and head never have. 0: all of
 * these. */
enum adapter_targets {
    TARGET_QUERY = 1,
    TARGET_KEY = 2,
    TARGET_VALUE = 4,
    TARGET_OUTPUT = 8,
    TARGET_GATE = 16,
    TARGET_UP = 32, /* the first matrix of an MLP, beside its gate */
    TARGET_DOWN = 64,
    TARGETS_ATTENTION = TARGET_QUERY | TARGET_KEY | TARGET_VALUE | TARGET_OUTPUT,
    TARGETS_MLP = TARGET_GATE | TARGET_UP | TARGET_DOWN,
    TARGETS_ALL = TARGETS_ATTENTION | TARGETS_MLP,
};

enum technique_switch { SWITCH_USUAL, SWITCH_OFF, SWITCH_ON };

/* The host launches kernels, one graph of all of an iteration, or graphs of all of a layer but its experts. */
enum graphs { GRAPHS_USUAL, GRAPHS_NONE, GRAPHS_ITERATION, GRAPHS_LAYERS };

enum offload_place { PLACE_USUAL, PLACE_HOST, PLACE_NVME };

/* X(identifier, member, name, description) */
#define TECHNIQUES(X)                                                                                        \
    X(MODULES, modules, "modules", "parts of a block that are recomputed")                                   \
    X(METHOD, method, "method", "which blocks full recomputation covers")                                    \
    X(LAYERS, layers, "layers", "the number that this method needs")                                         \
    X(GRADIENTS, gradients, "grads", "format of gradients, held and exchanged")                              \
    X(MASTER, master, "master", "format of the optimizer's copy of the parameters")                          \
    X(MOMENTS, moments, "moments", "format of the optimizer's moments")                                      \
    X(PARAMETERS, parameters, "params", "format of the parameters in the passes")                            \
    X(ACTIVATIONS, activations, "activations", "format of the inputs that products keep")                    \
    X(RECIPE, recipe, "recipe", "scaling of products in 8 or 4 bits")                                        \
    X(REPLICATE, replicate, "replicate", "copies of the shards, which exchange gradients (HSDP)")            \
    X(RESHARD, reshard, "reshard", "gathered parameters are freed after the forward pass")                   \
    X(PREFETCH, prefetch, "prefetch", "blocks whose shards are gathered ahead")                              \
    X(OFFLOAD, offload, "offload", "per cent of the optimizer's states that the host holds")                 \
    X(OFFLOAD_TO, offload_to, "offload-to", "place of these")                                                \
    X(OFFLOAD_ACTIVATIONS, offload_activations, "offload-activations",                                       \
      "blocks of a chunk whose activations wait in the host's memory")                                       \
    X(DISPATCH, dispatch, "dispatch", "how tokens go to their experts and back")                             \
    X(EXPERT_OVERLAP, expert_overlap, "ep-overlap",                                                          \
      "exchanges of experts, overlapped with the kernels of another micro-batch")                            \
    X(TENSOR_OVERLAP, tensor_overlap, "tp-overlap",                                                          \
      "exchanges of tensor parallel ranks, overlapped with their matrix products")                           \
    X(EXPERT_TENSOR, expert_tensor, "etp", "tensor parallel degree of the experts")                          \
    X(CONTEXT_KIND, context_kind, "cp-comm", "how context parallel ranks exchange keys and values")          \
    X(SCHEDULE, schedule, "schedule", "order of the passes of a pipeline")                                   \
    X(OPTIMIZER, optimizer, "optimizer", "what the optimizer holds of each parameter")                       \
    X(OPTIMIZER_RANK, optimizer_rank, "optimizer-rank", "rank of GaLore's and APOLLO's moments")             \
    X(STEP, step, "step-in-backward", "each parameter is updated as soon as its gradient is there")          \
    X(DATA_OVERLAP, data_overlap, "data-overlap", "gradients and shards are exchanged beside kernels")       \
    X(GATHER_OVERLAP, gather_overlap, "gather-overlap",                                                      \
      "parameters that ranks updated are gathered beside the forward pass")                                  \
    X(WIRE, wire, "wire", "bits of a gradient on the wire")                                                  \
    X(SEQUENCE, sequence, "sequence-parallel", "tensor parallel ranks split norms along the sequence")       \
    X(EXPERT_KERNELS, expert_kernels, "grouped-experts", "one product for all experts of a device")          \
    X(ATTENTION, attention, "fused-attention", "scores of attention stay in the chip")                       \
    X(GRAPHS, graphs, "cuda-graphs", "graphs launch the kernels of an iteration, or of its layers")          \
    X(RANK, rank, "lora-rank", "rank of LoRA's matrices beside frozen weights; 0: all weights are trained")  \
    X(TARGETS, targets, "lora-targets", "matrices that have them")                                           \
    X(ENDS, ends, "lora-ends", "embedding and head are trained beside them")                                 \
    X(SCALES, scales, "single-scale", "factors of frozen weights of 4 bits are in fp32, not in 8 bits")      \
    X(ROPE, rope, "fused-rope", "one kernel embeds the positions of all documents of a sequence")            \
    X(FUSED_MLP, fused_mlp, "fused-mlp", "narrow products of an MLP activate and cast what they write")      \
    X(NARROW_ATTENTION, narrow_attention, "fp8-attention", "attention in 8 bits")                            \
    X(IMBALANCE, imbalance, "imbalance", "tokens on the busiest expert device, per cent of the mean")

enum technique_kind {
#define X(id, member, name, text) TECHNIQUE_##id,
    TECHNIQUES(X)
#undef X
        TECHNIQUE_COUNT
};

struct technique {
#define X(id, member, name, text) int member;
    TECHNIQUES(X)
#undef X
};

const char *technique_name(enum technique_kind kind);
const char *technique_text(enum technique_kind kind);

/* Finds a technique by name. False: there is none. */
bool technique_find(const char *name, enum technique_kind *kind);

int technique_get(const struct technique *technique, enum technique_kind kind);
void technique_set(struct technique *technique, enum technique_kind kind, int value);

/* Returns those that are a training's own, which a plan keeps: its optimizer, LoRA, and an overlap that needs buffers
 * of the user. */
struct technique technique_asked(const struct technique *technique);

/* Returns a plan's techniques without those that a search chooses by itself: what was asked, formats of numbers among
 * it. */
struct technique technique_given(const struct technique *technique);

/* Returns whether all is as the software does it by itself. */
bool technique_is_usual(const struct technique *technique);

/* Returns whether its values are numbers, of which a range means something. */
bool technique_is_number(enum technique_kind kind);

/* Returns the maximum value. */
int technique_max(enum technique_kind kind);

/* Appends a value as text: "core_attn+mlp", "bf16", "4". */
void technique_write(struct text *out, enum technique_kind kind, int value);

/* Reads such a text. False: it is none; *expected then lists what may stand there. */
bool technique_read(const char *text, enum technique_kind kind, int *value, struct text *expected);

/* Returns the bytes of a number; `usual` for FORMAT_USUAL. */
double number_format_bytes(int format, double usual);

/* Appends recomputation with its modules or blocks: "selective (layernorm, mlp)", "full (2 blocks of each chunk)". */
void technique_write_recompute(struct text *out, enum recompute recompute, const struct technique *technique);

/* Appends the other techniques that are not the software's own, "grads bf16, offload 50", each behind `before`. */
void technique_write_others(struct text *out, const struct technique *technique, const char *before);

/* "none", "selective", "full" */
const char *recompute_name(enum recompute recompute);
bool recompute_find(const char *name, enum recompute *recompute);

#endif
