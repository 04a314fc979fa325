/* The table of Megatron-LM's arguments, shared by reading and writing. Private to src/launch.
 *
 * Names: megatron/training/arguments.py of Megatron-Core 0.15. */
#ifndef REHEARSE_LAUNCH_MEGATRON_H
#define REHEARSE_LAUNCH_MEGATRON_H

#include "launch/launch.h"

/* X(identifier, name, kind), or S(identifier, name, setting) if the number is a setting of struct launch_options; in the
 * order of writing */
#define MEGATRON_OPTIONS(X, S)                                                                               \
    S(LAYERS, "--num-layers", layers)                                                                        \
    S(HIDDEN, "--hidden-size", hidden)                                                                       \
    S(FFN, "--ffn-hidden-size", ffn)                                                                         \
    S(HEADS, "--num-attention-heads", heads)                                                                 \
    S(HEAD_WIDTH, "--kv-channels", head_width)                                                               \
    X(GROUPED, "--group-query-attention", FLAG)                                                              \
    S(KV_HEADS, "--num-query-groups", kv_heads)                                                              \
    X(LATENT, "--multi-latent-attention", FLAG)                                                              \
    X(QUERY_RANK, "--q-lora-rank", NUMBER)                                                                   \
    X(KV_RANK, "--kv-lora-rank", NUMBER)                                                                     \
    X(NOPE_WIDTH, "--qk-head-dim", NUMBER)                                                                   \
    X(ROPE_WIDTH, "--qk-pos-emb-head-dim", NUMBER)                                                           \
    X(VALUE_WIDTH, "--v-head-dim", NUMBER)                                                                   \
    X(QK_NORM, "--qk-layernorm", FLAG)                                                                       \
    X(SOFTMAX, "--softmax-type", WORD)                                                                       \
    X(WINDOW, "--window-size", WORD)                                                                         \
    X(WINDOW_EVERY, "--window-attn-skip-freq", WORD)                                                         \
    X(ATTENTION, "--attention-backend", WORD)                                                                \
    X(POSITION_TYPE, "--position-embedding-type", WORD)                                                      \
    S(SEQUENCE, "--seq-length", sequence)                                                                    \
    X(POSITIONS, "--max-position-embeddings", NUMBER)                                                        \
    S(VOCABULARY, "--vocab-size", vocabulary)                                                                \
    X(NORM, "--normalization", WORD)                                                                         \
    X(GATED, "--swiglu", FLAG)                                                                               \
    X(UNBIASED, "--disable-bias-linear", FLAG)                                                               \
    X(QKV_BIASED, "--add-qkv-bias", FLAG)                                                                    \
    X(UNTIED, "--untie-embeddings-and-output-weights", FLAG)                                                 \
    X(HIDDEN_DROPOUT, "--hidden-dropout", WORD)                                                              \
    X(ATTENTION_DROPOUT, "--attention-dropout", WORD)                                                        \
    S(EXPERTS, "--num-experts", experts)                                                                     \
    S(ACTIVE_EXPERTS, "--moe-router-topk", active_experts)                                                   \
    S(EXPERT_FFN, "--moe-ffn-hidden-size", expert_ffn)                                                       \
    X(SHARED_FFN, "--moe-shared-expert-intermediate-size", NUMBER)                                           \
    X(EXPERT_LAYERS, "--moe-layer-freq", WORD)                                                               \
    X(GROUPED_GEMM, "--moe-grouped-gemm", FLAG)                                                              \
    X(DISPATCHER, "--moe-token-dispatcher-type", WORD)                                                       \
    S(TENSOR, "--tensor-model-parallel-size", tensor)                                                        \
    X(SEQUENCE_PARALLEL, "--sequence-parallel", FLAG)                                                        \
    S(PIPELINE, "--pipeline-model-parallel-size", pipeline)                                                  \
    S(CHUNKS, "--num-virtual-stages-per-pipeline-rank", chunks)                                              \
    S(CHUNK_BLOCKS, "--num-layers-per-virtual-pipeline-stage", chunk_blocks)                                 \
    X(CHUNK_GROUP, "--microbatch-group-size-per-virtual-pipeline-stage", NUMBER)                             \
    X(COUNTS_EMBEDDING, "--account-for-embedding-in-pipeline-split", FLAG)                                   \
    X(COUNTS_HEAD, "--account-for-loss-in-pipeline-split", FLAG)                                             \
    S(FIRST_BLOCKS, "--decoder-first-pipeline-num-layers", first_blocks)                                     \
    S(LAST_BLOCKS, "--decoder-last-pipeline-num-layers", last_blocks)                                        \
    X(LAYOUT, "--pipeline-model-parallel-layout", WORD)                                                      \
    S(CONTEXT, "--context-parallel-size", context)                                                           \
    S(EXPERT, "--expert-model-parallel-size", expert)                                                        \
    X(EXPERT_TENSOR, "--expert-tensor-parallel-size", NUMBER)                                                \
    X(DISTRIBUTED_OPTIMIZER, "--use-distributed-optimizer", FLAG)                                            \
    X(FSDP, "--use-megatron-fsdp", FLAG)                                                                     \
    X(SHARDING, "--data-parallel-sharding-strategy", WORD)                                                   \
    X(CHECKPOINT, "--ckpt-format", WORD)                                                                     \
    X(OVERLAP_REDUCE, "--overlap-grad-reduce", FLAG)                                                         \
    X(OVERLAP_GATHER, "--overlap-param-gather", FLAG)                                                        \
    S(MICROBATCH, "--micro-batch-size", microbatch)                                                          \
    S(BATCH, "--global-batch-size", batch)                                                                   \
    X(RECOMPUTE_SELECTIVE, "--recompute-activations", FLAG)                                                  \
    X(RECOMPUTE, "--recompute-granularity", WORD)                                                            \
    X(RECOMPUTE_METHOD, "--recompute-method", WORD)                                                          \
    X(RECOMPUTE_LAYERS, "--recompute-num-layers", NUMBER)                                                    \
    X(BF16, "--bf16", FLAG)                                                                                  \
    X(FP16, "--fp16", FLAG)                                                                                  \
    X(FP8, "--fp8-format", WORD)                                                                             \
    X(FP4, "--fp4-format", WORD)

enum megatron_option {
#define X(id, name, kind) MEGATRON_##id,
    MEGATRON_OPTIONS(X, X)
#undef X
        MEGATRON_COUNT
};

enum megatron_kind { MEGATRON_FLAG, MEGATRON_NUMBER, MEGATRON_WORD };

struct megatron_value {
    bool given;
    int line; /* line of the argument */
    int64_t number;
    const char *word;
};

struct megatron_arguments {
    struct arena arena; /* of the words */
    struct megatron_value values[MEGATRON_COUNT];
    struct launch_value rank_batch; /* MLPerf's MINIBS */
    int unknown_count;
    struct launch_unknown unknown[LAUNCH_MAX_UNKNOWN];
};

const char *megatron_name(enum megatron_option option);
enum megatron_kind megatron_kind(enum megatron_option option);
bool megatron_find(const char *name, enum megatron_option *option);

/* Reads a script; on failure *arguments is empty. */
bool megatron_scan(const char *path, const char *data, size_t length, struct megatron_arguments *arguments,
                   struct error *err);

/* "Et*3|(t*2|)*29|L": the blocks of every chunk, stages next to each other (megatron/core/transformer/
 * pipeline_parallel_layer_layout.py). The words live in `arena`. */
const char *megatron_layout_write(const struct job *job, struct arena *arena);
bool megatron_layout_read(const char *layout, struct arena *arena, int **blocks, int *count);

#endif
