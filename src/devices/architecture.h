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
    bool qk_norm;             /* norms of every head's query and key (Qwen 3) */
    bool sinks;               /* one learned score per head that takes attention away (gpt-oss) */
    bool rms_norm;            /* RMSNorm, else LayerNorm */
    bool norm_biased;         /* norms have a bias besides the scale */
    bool post_norm;           /* norms after attention and MLP: none after the last block */
    bool embedding_norm;      /* a norm after the embedding (BERT, BLOOM) */
    bool tied;                /* the head uses the matrix of the embedding */
    bool masked;              /* BERT: the head has its own matrix and norm before the vocabulary */
    bool dropout;             /* after attention, MLP and embedding */
    int64_t experts;          /* of a mixture-of-experts block; 0: dense */
    int64_t active_experts;   /* per token */
    int64_t shared_experts;   /* used by every token */
    int64_t expert_ffn;       /* width of one expert */
    bool router_biased;       /* the router has a bias per expert */
    int dense_layers;         /* number of first blocks that are dense despite experts */
    int64_t window;           /* sliding-window attention: tokens; 0: none */
    int window_every;         /* with a window: every so many-th block has full attention; 0: none */
    /* Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1); 0: plain attention. */
    int64_t query_rank, kv_rank, rope_width, nope_width, value_width;
};

/* Names ignore case, and '-', '_', '.', ' ' count only between two digits: "LLAMA3_70B" finds llama-3-70b,
 * but "opt-13b" is not opt-1.3b. */
extern const struct table_kind architecture_kind;

/* Checks that sizes fit together (heads divide hidden, kv_heads divide heads, active experts exist, …) and
 * fills in omitted ones (0): kv_heads = heads, head_width = hidden / heads, ffn = 4 x hidden, expert_ffn =
 * ffn, embedding_width = hidden. A valid model has at most 2^53 parameters, which int64_t and double hold
 * exactly. */
bool architecture_check(struct architecture *model, const char *place, struct error *err);

/* Numbers of parameters. Embedding, encoder, every block and head add up to the whole; T5's tables of
 * relative biases count with the embedding. */
double architecture_embedding_parameters(const struct architecture *model);
double architecture_encoder_block_parameters(const struct architecture *model);
double architecture_encoder_parameters(const struct architecture *model); /* all blocks and the last norm */
double architecture_block_parameters(const struct architecture *model, int block); /* of all experts */
double architecture_expert_parameters(const struct architecture *model);           /* of one expert */
double architecture_head_parameters(const struct architecture *model);             /* without a tied matrix */
double architecture_parameters(const struct architecture *model); /* of the whole model, as published */
double
architecture_active_parameters(const struct architecture *model); /* without the experts that a token skips */

#endif
