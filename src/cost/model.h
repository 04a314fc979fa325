/* Well-known models by their published numbers. */
#ifndef REHEARSE_COST_MODEL_H
#define REHEARSE_COST_MODEL_H

#include <stdbool.h>

/* A transformer: an embedding, `blocks` blocks that are alike, a head. */
struct cost_model {
    const char *name;
    int blocks;
    int hidden;
    int heads;
    int kv_heads;     /* less than heads: grouped-query attention */
    int feed_forward; /* width of the MLP, of one expert */
    int vocabulary;
    int sequence;       /* tokens it was trained on at once */
    int positions;      /* learned position embeddings; 0: rotary, no parameters */
    int token_types;    /* learned segment embeddings; 0: none */
    int experts;        /* 1: a plain MLP */
    int active_experts; /* per token */
    bool gated;         /* three matrices in the MLP (SwiGLU), else two */
    bool biased;        /* biases on every matrix and LayerNorm, else none and RMSNorm */
    bool tied;          /* the head uses the matrix of the embedding */
    bool
        masked; /* BERT: the head has a matrix and a norm of its own before the vocabulary, and an output bias */
    bool dropout; /* masks are kept for the backward pass */
    bool
        keeps_scores; /* attention scores are kept for the backward pass, else computed again block by block */
};

const struct cost_model *cost_models(int *count);
const struct cost_model *cost_model_find(const char *name);

/* Numbers of parameters. The head's own: without a tied matrix. */
double cost_embedding_parameters(const struct cost_model *model);
double cost_block_parameters(const struct cost_model *model);
double cost_head_parameters(const struct cost_model *model);

/* Of the whole model, as published. */
double cost_model_parameters(const struct cost_model *model);

#endif
