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

/* A transformer: an embedding, blocks, a head. Widths are of the whole model, not of one device. */
struct architecture {
    TABLE_NAMED;
    int layers;         /* blocks; of an encoder-decoder model: of the decoder */
    int encoder_layers; /* T5; 0: none */
    int64_t hidden;
    int64_t heads;
    int64_t kv_heads;         /* fewer than heads: grouped-query attention */
    int64_t head_width;       /* hidden / heads unless given */
    int64_t ffn;              /* width of a dense MLP */
    int64_t vocabulary;       /* 0: no token embedding (ViT) */
    int64_t embedding_width;  /* narrower than hidden: two projections between (OPT-350m); 0: hidden */
    int64_t sequence;         /* tokens per training sequence */
    int64_t positions;        /* learned position embeddings; 0: rotary or relative, without parameters */
    int64_t token_types;      /* learned segment embeddings; 0: none */
    int64_t relative_buckets; /* T5: learned score biases, of the first block for all; 0: none */
    int64_t patch;            /* ViT: side of a patch in pixels; 0: tokens from a vocabulary */
    int64_t classes;          /* ViT: of the head */
    bool causal;              /* tokens attend only to earlier ones */
    bool gated;               /* three matrices in the MLP (SwiGLU), else two */
    bool biased;              /* biases on every matrix except query, key and value */
    bool qkv_biased;          /* biases on query, key and value (Qwen 2 has only these) */
    bool mlp_biased;          /* biases on the matrices of the MLP, where the others have none (GPT-J) */
    bool out_biased;          /* a bias on the matrix behind attention, too, where the others have none */
    bool head_biased;         /* the head has a bias per token of the vocabulary (Phi-2, GPT-J) */
    bool qk_norm;             /* norms of every head's query and key (Qwen 3) */
    bool qk_norm_wide;        /* norms of all heads' queries, and of all keys, together (OLMo 2) */
    bool sinks;               /* one learned score per head that takes attention away (gpt-oss) */
    bool rms_norm;            /* RMSNorm, else LayerNorm */
    bool norm_biased;         /* norms have a bias besides the scale */
    bool norm_free;           /* norms have no parameters (OLMo) */
    bool post_norm;           /* norms after attention and MLP: none after the last block */
    int block_norms;        /* of a block: 1 (attention and MLP share it), 4 (before and behind each); 0: 2 */
    bool embedding_norm;    /* a norm after the embedding (BERT, BLOOM) */
    bool tied;              /* the head uses the matrix of the embedding */
    bool masked;            /* BERT: the head has its own matrix and norm before the vocabulary */
    bool dropout;           /* after attention, MLP and embedding */
    int64_t experts;        /* of a mixture-of-experts block; 0: dense */
    int64_t active_experts; /* per token */
    int64_t shared_experts; /* used by every token */
    int64_t expert_ffn;     /* width of one expert */
    bool router_biased;     /* the router has a bias per expert */
    bool shared_gate;       /* shared experts have a gate per token (Qwen 2 MoE) */
    int experts_every;      /* behind the dense first ones, every so many-th block has experts; 0: all */
    /* a token's experts are in so many of the groups of experts that lie together; 0: in any */
    int64_t route_groups, route_active_groups;
    int mtp_layers;   /* further blocks, each with a head, that predict further tokens */
    int dense_layers; /* number of first blocks that are dense despite experts */
    int64_t window;   /* sliding-window attention: tokens; 0: none */
    int window_every; /* with a window: every so many-th block has full attention; 0: none */
    /* Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1); 0: plain attention. */
    int64_t query_rank, kv_rank, rope_width, nope_width, value_width;
    /* Facts that take next to no time, but make another model where a launch does not state them. */
    bool alibi;        /* biases of scores by distance in place of position embeddings */
    int64_t rope_base; /* of the rotary embedding's wavelengths; 0: 10000 */
    double rope_scale; /* factor of Llama 3.1's stretched wavelengths; 0: not stretched */
    int rope_percent;  /* rotated share of a head's width; 0: all of it */
    double rope_yarn;  /* factor by which YaRN stretches positions beyond `sequence`; 0: not stretched */
    int64_t rope_local_base; /* base of blocks with a window, if it is another; 0: the same */
    int nope_every;          /* every so many-th block has no rotary embedding (Llama 4); 0: none */
    bool parallel;           /* attention and MLP side by side, on one input (GPT-J, Falcon) */
    bool output_norm;        /* norms behind attention and MLP, before they are added (Gemma 2, OLMo 2) */
    bool qk_l2_norm;         /* queries and keys are divided by their lengths (Llama 4) */
    bool soft_capped;        /* scores or logits are bounded by a hyperbolic tangent (Gemma 2) */
    bool scaled;             /* constant factors of embedding, residuals, scores or logits (Gemma, Granite) */
    bool clipped;            /* queries, keys and values are clipped (DBRX) */
    /* the MLP's activation, one at most; none: SiLU where it is gated, else GELU */
    bool gelu, quick_gelu, relu, squared_relu;
    bool sigmoid_router;     /* scores of experts are sigmoids, else a softmax */
    bool pre_softmax_router; /* the softmax is taken over all experts, not the chosen ones */
    bool own_router;         /* chooses or weights experts in a way of its own (Phi-3.5-MoE) */
    double router_scale;     /* factor of the chosen experts' scores; 0: 1 */
};

/* Names ignore case, and '-', '_', '.', ' ' count only between two digits: "LLAMA3_70B" finds llama-3-70b,
 * but "opt-13b" is not opt-1.3b. */
extern const struct table_kind architecture_kind;

/* Checks that sizes fit together (heads divide hidden, kv_heads divide heads, active experts exist, …) and
 * fills in omitted ones (0): kv_heads = heads, head_width = hidden / heads, ffn = 4 x hidden, expert_ffn =
 * ffn, embedding_width = hidden. A valid model has at most 2^53 parameters, which int64_t and double hold
 * exactly. */
bool architecture_check(struct architecture *model, const char *place, struct error *err);

/* Returns whether two models are equal in all but their names and the length of their sequences. */
bool architecture_same(const struct architecture *a, const struct architecture *b);

/* Returns whether a block has experts, and how many blocks have. */
bool architecture_has_experts(const struct architecture *model, int block);
int architecture_expert_blocks(const struct architecture *model);

/* Numbers of parameters. Embedding, encoder, every block and head add up to the whole; T5's tables of
 * relative biases count with the embedding. */
double architecture_embedding_parameters(const struct architecture *model);
double architecture_encoder_parameters(const struct architecture *model); /* all blocks and the last norm */
double architecture_block_parameters(const struct architecture *model, int block); /* of all experts */
double architecture_expert_parameters(const struct architecture *model);           /* of one expert */
double architecture_head_parameters(const struct architecture *model);             /* without a tied matrix */
double architecture_parameters(const struct architecture *model); /* of the whole model, as published */
double
architecture_active_parameters(const struct architecture *model); /* without the experts that a token skips */

#endif
