/* The table of Megatron-LM's arguments that are written; those that are read: data/software/megatron-lm.yaml. Private
 * to src/launch.
 *
 * Names: megatron/training/arguments.py of Megatron-Core 0.15. */
#ifndef REHEARSE_LAUNCH_MEGATRON_H
#define REHEARSE_LAUNCH_MEGATRON_H

#include "launch/launch.h"

/* X(identifier, name, kind), in the order of writing */
#define MEGATRON_OPTIONS(X)                                                                                  \
    X(LAYERS, "--num-layers", NUMBER)                                                                        \
    X(HIDDEN, "--hidden-size", NUMBER)                                                                       \
    X(FFN, "--ffn-hidden-size", NUMBER)                                                                      \
    X(HEADS, "--num-attention-heads", NUMBER)                                                                \
    X(HEAD_WIDTH, "--kv-channels", NUMBER)                                                                   \
    X(GROUPED, "--group-query-attention", FLAG)                                                              \
    X(KV_HEADS, "--num-query-groups", NUMBER)                                                                \
    X(LATENT, "--multi-latent-attention", FLAG)                                                              \
    X(QUERY_RANK, "--q-lora-rank", NUMBER)                                                                   \
    X(KV_RANK, "--kv-lora-rank", NUMBER)                                                                     \
    X(NOPE_WIDTH, "--qk-head-dim", NUMBER)                                                                   \
    X(ROPE_WIDTH, "--qk-pos-emb-head-dim", NUMBER)                                                           \
    X(VALUE_WIDTH, "--v-head-dim", NUMBER)                                                                   \
    X(QK_NORM, "--qk-layernorm", FLAG)                                                                       \
    X(QK_L2_NORM, "--qk-l2-norm", FLAG)                                                                      \
    X(SOFTMAX, "--softmax-type", WORD)                                                                       \
    X(WINDOW, "--window-size", WORD)                                                                         \
    X(WINDOW_EVERY, "--window-attn-skip-freq", WORD)                                                         \
    X(ATTENTION, "--attention-backend", WORD)                                                                \
    X(POSITION_TYPE, "--position-embedding-type", WORD)                                                      \
    X(ROPE_BASE, "--rotary-base", NUMBER)                                                                    \
    X(ROPE_PERCENT, "--rotary-percent", WORD)                                                                \
    X(NO_ROPE, "--no-rope-freq", WORD)                                                                       \
    X(ROPE_TYPE, "--rope-type", WORD)                                                                        \
    X(ROPE_YARN, "--rotary-scaling-factor", WORD)                                                            \
    X(YARN_FROM, "--yarn-original-max-position-embeddings", NUMBER)                                          \
    X(ROPE_SCALED, "--use-rope-scaling", FLAG)                                                               \
    X(ROPE_SCALE, "--rope-scaling-factor", WORD)                                                             \
    X(SEQUENCE, "--seq-length", NUMBER)                                                                      \
    X(POSITIONS, "--max-position-embeddings", NUMBER)                                                        \
    X(VOCABULARY, "--vocab-size", NUMBER)                                                                    \
    X(NORM, "--normalization", WORD)                                                                         \
    X(GATED, "--swiglu", FLAG)                                                                               \
    X(QUICK_GEGLU, "--quick-geglu", FLAG)                                                                    \
    X(GLU_OFFSET, "--glu-linear-offset", WORD)                                                               \
    X(CLAMP, "--activation-func-clamp-value", WORD)                                                          \
    X(SQUARED_RELU, "--squared-relu", FLAG)                                                                  \
    X(UNBIASED, "--disable-bias-linear", FLAG)                                                               \
    X(QKV_BIASED, "--add-qkv-bias", FLAG)                                                                    \
    X(UNTIED, "--untie-embeddings-and-output-weights", FLAG)                                                 \
    X(HIDDEN_DROPOUT, "--hidden-dropout", WORD)                                                              \
    X(ATTENTION_DROPOUT, "--attention-dropout", WORD)                                                        \
    X(EXPERTS, "--num-experts", NUMBER)                                                                      \
    X(ACTIVE_EXPERTS, "--moe-router-topk", NUMBER)                                                           \
    X(EXPERT_FFN, "--moe-ffn-hidden-size", NUMBER)                                                           \
    X(SHARED_FFN, "--moe-shared-expert-intermediate-size", NUMBER)                                           \
    X(EXPERT_LAYERS, "--moe-layer-freq", WORD)                                                               \
    X(GROUPED_GEMM, "--moe-grouped-gemm", FLAG)                                                              \
    X(ROUTER_SCORE, "--moe-router-score-function", WORD)                                                     \
    X(ROUTER_PRE_SOFTMAX, "--moe-router-pre-softmax", FLAG)                                                  \
    X(ROUTER_BIAS, "--moe-router-enable-expert-bias", FLAG)                                                  \
    X(ROUTER_GROUPS, "--moe-router-num-groups", NUMBER)                                                      \
    X(ROUTER_GROUP_TOPK, "--moe-router-group-topk", NUMBER)                                                  \
    X(ROUTER_SCALE, "--moe-router-topk-scaling-factor", WORD)                                                \
    X(PERMUTE_FUSION, "--moe-permute-fusion", FLAG)                                                          \
    X(DISPATCHER, "--moe-token-dispatcher-type", WORD)                                                       \
    X(DEEPEP, "--moe-enable-deepep", FLAG)                                                                   \
    X(ROUTER_TYPE, "--moe-router-dtype", WORD)                                                               \
    X(EXPERT_OVERLAP, "--overlap-moe-expert-parallel-comm", FLAG)                                            \
    X(DELAYED_WEIGHTS, "--delay-wgrad-compute", FLAG)                                                        \
    X(MTP_LAYERS, "--mtp-num-layers", NUMBER)                                                                \
    X(TENSOR, "--tensor-model-parallel-size", NUMBER)                                                        \
    X(SEQUENCE_PARALLEL, "--sequence-parallel", FLAG)                                                        \
    X(TENSOR_OVERLAP, "--tp-comm-overlap", FLAG)                                                             \
    X(PIPELINE, "--pipeline-model-parallel-size", NUMBER)                                                    \
    X(CHUNKS, "--num-virtual-stages-per-pipeline-rank", NUMBER)                                              \
    X(CHUNK_GROUP, "--microbatch-group-size-per-virtual-pipeline-stage", NUMBER)                             \
    X(COUNTS_EMBEDDING, "--account-for-embedding-in-pipeline-split", FLAG)                                   \
    X(COUNTS_HEAD, "--account-for-loss-in-pipeline-split", FLAG)                                             \
    X(FIRST_BLOCKS, "--decoder-first-pipeline-num-layers", NUMBER)                                           \
    X(LAST_BLOCKS, "--decoder-last-pipeline-num-layers", NUMBER)                                             \
    X(LAYOUT, "--pipeline-model-parallel-layout", WORD)                                                      \
    X(CONTEXT, "--context-parallel-size", NUMBER)                                                            \
    X(CONTEXT_KIND, "--cp-comm-type", WORD)                                                                  \
    X(CONTEXT_SIZES, "--hierarchical-context-parallel-sizes", MODULES)                                       \
    X(EXPERT, "--expert-model-parallel-size", NUMBER)                                                        \
    X(EXPERT_TENSOR, "--expert-tensor-parallel-size", NUMBER)                                                \
    X(DISTRIBUTED_OPTIMIZER, "--use-distributed-optimizer", FLAG)                                            \
    X(FSDP, "--use-megatron-fsdp", FLAG)                                                                     \
    X(SHARDING, "--data-parallel-sharding-strategy", WORD)                                                   \
    X(CHECKPOINT, "--ckpt-format", WORD)                                                                     \
    X(OVERLAP_REDUCE, "--overlap-grad-reduce", FLAG)                                                         \
    X(OVERLAP_GATHER, "--overlap-param-gather", FLAG)                                                        \
    X(MICROBATCH, "--micro-batch-size", NUMBER)                                                              \
    X(BATCH, "--global-batch-size", NUMBER)                                                                  \
    X(RECOMPUTE, "--recompute-granularity", WORD)                                                            \
    X(RECOMPUTE_MODULES, "--recompute-modules", MODULES)                                                     \
    X(RECOMPUTE_METHOD, "--recompute-method", WORD)                                                          \
    X(RECOMPUTE_LAYERS, "--recompute-num-layers", NUMBER)                                                    \
    X(BF16, "--bf16", FLAG)                                                                                  \
    X(FP16, "--fp16", FLAG)                                                                                  \
    X(FP8, "--fp8-format", WORD)                                                                             \
    X(FP8_RECIPE, "--fp8-recipe", WORD)                                                                      \
    X(FP8_PARAMETERS, "--fp8-param-gather", FLAG)                                                            \
    X(FP4, "--fp4-format", WORD)                                                                             \
    X(FP4_RECIPE, "--fp4-recipe", WORD)                                                                      \
    X(GRADIENTS_BF16, "--grad-reduce-in-bf16", FLAG)                                                         \
    X(PRECISION_AWARE, "--use-precision-aware-optimizer", FLAG)                                              \
    X(MASTER, "--main-params-dtype", WORD)                                                                   \
    X(FIRST_MOMENT, "--exp-avg-dtype", WORD)                                                                 \
    X(SECOND_MOMENT, "--exp-avg-sq-dtype", WORD)                                                             \
    X(OFFLOAD, "--optimizer-cpu-offload", FLAG)                                                              \
    X(OFFLOAD_FRACTION, "--optimizer-offload-fraction", WORD)                                                \
    X(OFFLOAD_LAYERS, "--cpu-offloading-num-layers", NUMBER)                                                 \
    X(REPLICATE, "--num-distributed-optimizer-instances", NUMBER)                                            \
    X(GRAPHS, "--cuda-graph-impl", WORD)                                                                     \
    X(UNCHECKED, "--no-check-for-nan-in-loss-and-grad", FLAG)

enum megatron_option {
#define X(id, name, kind) MEGATRON_##id,
    MEGATRON_OPTIONS(X)
#undef X
        MEGATRON_COUNT
};

/* Modules are words behind one another. */
enum megatron_kind { MEGATRON_FLAG, MEGATRON_NUMBER, MEGATRON_WORD, MEGATRON_MODULES };

struct megatron_value {
    bool given;
    int64_t number;
    const char *word;
};

struct megatron_arguments {
    struct arena arena; /* of the words */
    struct megatron_value values[MEGATRON_COUNT];
};

const char *megatron_name(enum megatron_option option);

/* Gives the facts of a model that take no time: positions, activation, router. False: out of memory. */
bool megatron_facts(struct megatron_arguments *arguments, const struct architecture *model);

/* Gives the blocks that have experts, unless all have. False: out of memory. */
bool megatron_expert_layers(struct megatron_arguments *arguments, const struct architecture *model);

/* ERROR_INFEASIBLE: a fact of the model that no argument states. */
bool megatron_check_facts(const struct architecture *model, struct error *err);

/* "Et*3|(t*2|)*29|L": the blocks of every chunk, stages next to each other (megatron/core/transformer/
 * pipeline_parallel_layer_layout.py). The words live in `arena`. *mtp: layers of multi-token prediction. */
const char *megatron_layout_write(const struct job *job, struct arena *arena);
bool megatron_layout_read(const char *layout, struct arena *arena, int **blocks, int *count, int *mtp);

#endif
