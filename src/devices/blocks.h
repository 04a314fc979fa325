/* What blocks have beside attention and MLP, by data/blocks.yaml: mixers of tokens without a softmax over them, and the
 * towers of models that see. */
#ifndef REHEARSE_DEVICES_BLOCKS_H
#define REHEARSE_DEVICES_BLOCKS_H

#include "core/doc.h"
#include "devices/architecture.h"

/* What a class does unless its configuration says otherwise. Sources: configuration_*.py and modeling_*.py of
 * huggingface/transformers 4.57 and 5. */
enum config_habit {
    GATED = 1,
    BIASED = 2,
    QKV_BIASED = 4,
    LAYER_NORM = 8, /* with biases; else RMSNorm */
    TIED = 16,
    QK_NORM = 32,
    LEARNED = 64, /* positions */
    DROPOUT = 128,
    FULL_FFN = 256, /* four times hidden if no key says it */
    MIXTURE = 512,
    LATENT = 1024,
    SINKS = 2048,
    MASKED = 4096,
    PLAIN_NORM = 8192, /* LayerNorm without biases */
    EMBEDDING_NORM = 16384,
    GELU = 32768,          /* unless a key says another activation */
    PARALLEL = 65536,      /* attention and MLP side by side */
    ONE_NORM = 131072,     /* which they share */
    FOUR_NORMS = 262144,   /* before and behind each */
    WIDE_NORM = 524288,    /* of all heads' queries and keys */
    OUTPUT_NORM = 1 << 20, /* behind attention and MLP, and none before */
    SCALED = 1 << 21,
    SIGMOID = 1 << 22, /* scores of experts, with a correction per expert */
    SOFTMAX_ALL =
        1 << 23,     /* the softmax of scores is over all experts unless norm_topk_prob says otherwise */
    MIXED = 1 << 24, /* blocks mix tokens in several ways: config_blocks.c */
};

/* A sum of products of sizes. */
struct block_count {
    int count;
    struct {
        double factor;
        int sizes[4], size_count;
    } terms[8];
};

struct block_product {
    const char *name;
    struct block_count in, out;
    bool each_patch; /* of a tower: else of the patches that make a token */
};

struct block_scan {
    struct block_count rows, columns, inner, heads;
};

#define BLOCK_MAX_PRODUCTS 8

struct block_kind {
    const char *word;
    char letter;
    int product_count, scan_count;
    struct block_product products[BLOCK_MAX_PRODUCTS];
    struct block_scan scan[BLOCK_MAX_PRODUCTS];
    struct block_count out; /* of a mixer: width before the product behind it; without one, 0 */
    struct block_count convolved, vectors, passes, kept;
    unsigned habits; /* of a tower's blocks, enum config_habit */
    int64_t image;   /* pixels of a side; 0: a configuration says it */
};

/* Adds the habits that a list of words says. */
bool block_habits(unsigned *all, const struct doc *doc, const struct doc_node *list, struct error *err);

/* Finds a mixer by its letter, a tower by its word. NULL: there is none. */
const struct block_kind *block_mixer(char letter);
const struct block_kind *block_tower(const char *word);

/* Finds the tower that models of a model_type have. NULL: none is known. */
const struct block_kind *block_tower_of(const char *type);

/* Returns a count, in a model whose heads are cut in `tensor` pieces. */
double block_value(const struct block_count *count, const struct architecture *model, int tensor);

/* Returns the parameters of a mixer or of a tower's ends. */
double block_parameters(const struct block_kind *kind, const struct architecture *model);

#endif
