/* Architectures: a model by its published numbers.
 *
 * The table of well-known models is data/models.yaml (embedded); a user's own is a file of the same form:
 *
 *     format: rehearse-architecture/1
 *     name: llama-3-8b
 *     layers: 32
 *     hidden: 4096
 *     heads: 32
 *     kv_heads: 8
 *     ffn: 14336
 *     vocabulary: 128256
 *     sequence: 8192
 *     gated: true
 *
 * or a list of such maps under `models`. See docs/architecture.md. */
#ifndef REHEARSE_DEVICES_ARCHITECTURE_H
#define REHEARSE_DEVICES_ARCHITECTURE_H

#include "devices/table.h"

#include <stdbool.h>
#include <stdint.h>

/* A transformer: an embedding, blocks, a head. Widths are of the whole model, not of one device; numbers that are left
 * out are 0. From alibi on, facts take next to no time, but make another model where a launch does not state them.
 * X(type, key, description, minimum, maximum); the MAX_… are those of architecture.c. */
#define ARCHITECTURE_MEMBERS(X)                                                                              \
    X(INT, layers, "blocks; of an encoder-decoder model: of the decoder", 1, MAX_LAYERS)                     \
    X(INT, encoder_layers, "T5; 0: none", 0, MAX_LAYERS)                                                     \
    X(INT64, hidden, "width", 1, MAX_WIDTH)                                                                  \
    X(INT64, heads, "of attention", 1, MAX_HEADS)                                                            \
    X(INT64, kv_heads, "fewer than heads: grouped-query attention", 0, MAX_HEADS)                            \
    X(INT64, head_width, "hidden / heads unless given", 0, MAX_WIDTH)                                        \
    X(INT64, ffn, "width of a dense MLP", 0, MAX_WIDTH)                                                      \
    X(INT64, vocabulary, "0: no token embedding (ViT)", 0, MAX_WIDTH)                                        \
    X(INT64, embedding_width, "narrower than hidden: two projections (OPT-350m); 0: hidden", 0, MAX_WIDTH)   \
    X(INT64, sequence, "tokens per training sequence", 1, MAX_WIDTH)                                         \
    X(INT64, positions, "learned embeddings; 0: rotary or relative, without parameters", 0, MAX_WIDTH)       \
    X(INT64, token_types, "learned segment embeddings; 0: none", 0, MAX_WIDTH)                               \
    X(INT64, relative_buckets, "T5: learned score biases, the first block's for all", 0, MAX_WIDTH)          \
    X(INT64, patch, "ViT: side of a patch in pixels; 0: tokens from a vocabulary", 0, 4096)                  \
    X(INT64, classes, "ViT: of the head", 0, MAX_WIDTH)                                                      \
    X(FLAG, causal, "tokens attend only to earlier ones", 0, 1)                                              \
    X(FLAG, gated, "three matrices in the MLP (SwiGLU), else two", 0, 1)                                     \
    X(FLAG, biased, "biases on every matrix except query, key and value", 0, 1)                              \
    X(FLAG, qkv_biased, "biases on query, key and value (Qwen 2 has only these)", 0, 1)                      \
    X(FLAG, mlp_biased, "biases on the matrices of the MLP, where the others have none (GPT-J)", 0, 1)       \
    X(FLAG, out_biased, "a bias on the matrix behind attention, too, where the others have none", 0, 1)      \
    X(FLAG, head_biased, "the head has a bias per token of the vocabulary (Phi-2, GPT-J)", 0, 1)             \
    X(FLAG, qk_norm, "norms of every head's query and key (Qwen 3)", 0, 1)                                   \
    X(FLAG, qk_norm_wide, "norms of all heads' queries, and of all keys, together (OLMo 2)", 0, 1)           \
    X(FLAG, sinks, "one learned score per head that takes attention away (gpt-oss)", 0, 1)                   \
    X(FLAG, rms_norm, "RMSNorm, else LayerNorm", 0, 1)                                                       \
    X(FLAG, norm_biased, "norms have a bias besides the scale", 0, 1)                                        \
    X(FLAG, norm_free, "norms have no parameters (OLMo)", 0, 1)                                              \
    X(FLAG, post_norm, "norms after attention and MLP: none after the last block", 0, 1)                     \
    X(INT, block_norms, "of a block: 1 (attention and MLP share it), 4 (around each); 0: 2", 0, 7)           \
    X(FLAG, embedding_norm, "a norm after the embedding (BERT, BLOOM)", 0, 1)                                \
    X(FLAG, tied, "the head uses the matrix of the embedding", 0, 1)                                         \
    X(FLAG, masked, "BERT: the head has its own matrix and norm before the vocabulary", 0, 1)                \
    X(FLAG, dropout, "after attention, MLP and embedding", 0, 1)                                             \
    X(INT64, experts, "of a mixture-of-experts block; 0: dense", 0, MAX_EXPERTS)                             \
    X(INT64, active_experts, "per token", 0, MAX_EXPERTS)                                                    \
    X(INT64, shared_experts, "used by every token", 0, MAX_EXPERTS)                                          \
    X(INT64, expert_ffn, "width of one expert", 0, MAX_WIDTH)                                                \
    X(FLAG, router_biased, "the router has a bias per expert", 0, 1)                                         \
    X(FLAG, shared_gate, "shared experts have a gate per token (Qwen 2 MoE)", 0, 1)                          \
    X(INT, experts_every, "behind dense ones, every so many-th has experts; 0: all", 0, MAX_LAYERS)          \
    X(INT64, route_groups, "groups of experts that lie together; 0: none", 0, MAX_EXPERTS)                   \
    X(INT64, route_active_groups, "a token's experts are in so many of them", 0, MAX_EXPERTS)                \
    X(INT, mtp_layers, "further blocks, each with a head, that predict further tokens", 0, MAX_LAYERS)       \
    X(INT, dense_layers, "number of first blocks that are dense despite experts", 0, MAX_LAYERS)             \
    X(INT64, window, "sliding-window attention: tokens; 0: none", 0, MAX_WIDTH)                              \
    X(INT, window_every, "with a window: every so many-th block has full attention; 0: none", 0, MAX_LAYERS) \
    X(INT64, query_rank, "of latent attention (DeepSeek-V2, arXiv:2405.04434): queries,", 0, MAX_WIDTH)      \
    X(INT64, kv_rank, "keys and values; 0: plain attention", 0, MAX_WIDTH)                                   \
    X(INT64, rope_width, "of a head's rotated part,", 0, MAX_WIDTH)                                          \
    X(INT64, nope_width, "of the other part,", 0, MAX_WIDTH)                                                 \
    X(INT64, value_width, "and of its values", 0, MAX_WIDTH)                                                 \
    X(TEXT, mixers, "a letter for each block, again from the first when they end: docs/architecture.md", 0,  \
      0)                                                                                                     \
    X(TEXT, mlps, "likewise: d dense, e experts, - none", 0, 0)                                              \
    X(INT64, linear_key_heads, "of linear attention (queries, too), or groups of Mamba-2", 0, MAX_HEADS)     \
    X(INT64, linear_value_heads, "of the same", 0, MAX_HEADS)                                                \
    X(INT64, linear_key_width, "of one head; of Mamba-2: its state", 0, MAX_WIDTH)                           \
    X(INT64, linear_value_width, "of one head", 0, MAX_WIDTH)                                                \
    X(INT64, linear_convolution, "tokens of its convolution", 0, 4096)                                       \
    X(INT64, linear_chunk, "tokens that are mixed at once", 0, MAX_WIDTH)                                    \
    X(INT64, index_heads, "of the indexer of sparse attention (DeepSeek-V3.2)", 0, MAX_HEADS)                \
    X(INT64, index_width, "of one of them", 0, MAX_WIDTH)                                                    \
    X(INT64, index_keys, "keys that it chooses for a token", 0, MAX_WIDTH)                                   \
    X(INT64, full_head_width, "of blocks with full attention, if it is another (Gemma 4)", 0, MAX_WIDTH)     \
    X(INT64, full_kv_heads, "likewise", 0, MAX_HEADS)                                                        \
    X(FLAG, full_keys_only, "in these, keys are values, too", 0, 1)                                          \
    X(FLAG, attention_gated, "the query's matrix also makes a gate of the output (Qwen3-Next)", 0, 1)        \
    X(INT64, expert_latent, "width in which experts work, if it is not hidden (Nemotron 3)", 0, MAX_WIDTH)   \
    X(INT64, shared_ffn, "width of the shared experts together, if it is another", 0, MAX_WIDTH)             \
    X(FLAG, router_scaled, "the router scales its input and each expert's output (Gemma 4)", 0, 1)           \
    X(TEXT, vision, "the tower of a model that sees: a word of data/blocks.yaml", 0, 0)                      \
    X(INT, vision_layers, "blocks of the tower", 0, MAX_LAYERS)                                              \
    X(INT64, vision_hidden, "width", 0, MAX_WIDTH)                                                           \
    X(INT64, vision_heads, "of attention", 0, MAX_HEADS)                                                     \
    X(INT64, vision_ffn, "width of its MLP", 0, MAX_WIDTH)                                                   \
    X(INT64, vision_patch, "side in pixels", 0, 4096)                                                        \
    X(INT64, vision_patches, "of an image, of which a sequence has one", 0, MAX_WIDTH)                       \
    X(INT64, vision_merge, "patches that become a token", 0, 4096)                                           \
    X(INT64, vision_positions, "learned embeddings; 0: none", 0, MAX_WIDTH)                                  \
    X(INT64, vision_window, "patches of a window; 0: none", 0, MAX_WIDTH)                                    \
    X(INT, vision_window_every, "with windows: every so many-th block has full attention", 0, MAX_LAYERS)    \
    X(INT64, vision_deep, "blocks whose output goes to the language's first blocks (Qwen3-VL)", 0, 4096)     \
    X(INT64, vision_inner, "width of the projector (Llama 4),", 0, MAX_WIDTH)                                \
    X(INT64, vision_outer, "and behind its first product", 0, MAX_WIDTH)                                     \
    X(FLAG, alibi, "biases of scores by distance in place of position embeddings", 0, 1)                     \
    X(INT64, rope_base, "of the rotary embedding's wavelengths; 0: 10000", 0, INT64_C(1) << 40)              \
    X(DOUBLE, rope_scale, "factor of Llama 3.1's stretched wavelengths; 0: not stretched", 0, 1e6)           \
    X(INT, rope_percent, "rotated share of a head's width; 0: all of it", 0, 100)                            \
    X(DOUBLE, rope_yarn, "factor by which YaRN stretches positions beyond `sequence`; 0: not stretched", 0,  \
      1e6)                                                                                                   \
    X(INT64, rope_local_base, "base of blocks with a window, if it is another; 0: the same", 0,              \
      INT64_C(1) << 40)                                                                                      \
    X(INT, nope_every, "every so many-th block has no rotary embedding (Llama 4); 0: none", 0, MAX_LAYERS)   \
    X(FLAG, parallel, "attention and MLP side by side, on one input (GPT-J, Falcon)", 0, 1)                  \
    X(FLAG, output_norm, "norms behind attention and MLP, before they are added (Gemma 2, OLMo 2)", 0, 1)    \
    X(FLAG, qk_l2_norm, "queries and keys are divided by their lengths (Llama 4)", 0, 1)                     \
    X(FLAG, soft_capped, "scores or logits are bounded by a hyperbolic tangent (Gemma 2)", 0, 1)             \
    X(FLAG, scaled, "constant factors of embedding, residuals, scores or logits (Gemma, Granite)", 0, 1)     \
    X(FLAG, clipped, "queries, keys and values are clipped (DBRX)", 0, 1)                                    \
    X(FLAG, gelu, "the MLP's activation, one at most; none: SiLU where it is gated, else GELU", 0, 1)        \
    X(FLAG, quick_gelu, "likewise", 0, 1)                                                                    \
    X(FLAG, relu, "likewise", 0, 1)                                                                          \
    X(FLAG, squared_relu, "likewise", 0, 1)                                                                  \
    X(FLAG, sigmoid_router, "scores of experts are sigmoids, else a softmax", 0, 1)                          \
    X(FLAG, pre_softmax_router, "the softmax is taken over all experts, not the chosen ones", 0, 1)          \
    X(FLAG, own_router, "chooses or weights experts in a way of its own (Phi-3.5-MoE)", 0, 1)                \
    X(DOUBLE, router_scale, "factor of the chosen experts' scores; 0: 1", 0, 1e6)

struct architecture {
    TABLE_NAMED;
#define X(type, name, text, min, max) MEMBER_##type name;
    ARCHITECTURE_MEMBERS(X)
#undef X
};

/* Names ignore case, and '-', '_', '.', ' ' count only between two digits: "LLAMA3_70B" finds llama-3-70b,
 * but "opt-13b" is not opt-1.3b. */
extern const struct table_kind architecture_kind;

/* Checks that sizes fit together (heads divide hidden, kv_heads divide heads, active experts exist, …) and
 * fills in omitted ones (0): kv_heads = heads, head_width = hidden / heads, ffn = 4 x hidden, expert_ffn =
 * ffn, embedding_width = hidden. A valid model has at most 2^53 parameters, which int64_t and double hold
 * exactly. */
bool architecture_check(struct architecture *model, const char *place, struct error *err);

/* The number that a key is of; NULL: there is no such key. */
const struct field *architecture_field(const char *key);

/* The part of it that is of `mixers` and of a tower. */
bool architecture_check_blocks(const struct architecture *model, const char *place, struct error *err);

/* Returns whether two models are equal in all but their names and the length of their sequences. */
bool architecture_same(const struct architecture *a, const struct architecture *b);

/* Blocks that come before those of `layers`: of an encoder, of a tower. */
int architecture_first_block(const struct architecture *model);

/* How a block mixes tokens: `f` attention to all, `w` within the window, `-` not, or the letter of a mixer of
 * data/blocks.yaml; and what comes then: `d` a dense MLP, `e` experts, `-` nothing. Blocks count from the first one of
 * `layers`. */
char architecture_mixer(const struct architecture *model, int block);
char architecture_mlp(const struct architecture *model, int block);

/* Returns how many of the first blocks are of a kind, of a model with `mixers`. */
int architecture_alike(const struct architecture *model, char mixer, char mlp, int blocks);

/* Returns the last block with experts, or with attention; the last one where none has. Blocks count from the first. */
int architecture_last(const struct architecture *model, bool experts);

/* Returns a model whose every block is as this one; of a block of the tower: the tower. Blocks count from the first. */
struct architecture architecture_at(const struct architecture *model, int block);

/* Returns whether a block has experts, and how many blocks have. */
bool architecture_has_experts(const struct architecture *model, int block);
int architecture_expert_blocks(const struct architecture *model);

/* Numbers of parameters. Embedding, encoder, every block and head add up to the whole; T5's tables of
 * relative biases count with the embedding. */
double architecture_embedding_parameters(const struct architecture *model);
double architecture_encoder_parameters(const struct architecture *model); /* all blocks and the last norm */
double architecture_vision_parameters(const struct architecture *model);  /* of the tower and its projector */
double architecture_block_parameters(const struct architecture *model, int block); /* of all experts */
double architecture_expert_parameters(const struct architecture *model);           /* of one expert */
double architecture_head_parameters(const struct architecture *model);             /* without a tied matrix */
double architecture_parameters(const struct architecture *model); /* of the whole model, as published */
double
architecture_active_parameters(const struct architecture *model); /* without the experts that a token skips */

#endif
