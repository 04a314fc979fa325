/* What a layer of a transformer is made of: products, passes over memory, and bytes that are kept. transformer.c says
 * which, in the order in which they run; here each becomes kernels forward and backward. */
#ifndef REHEARSE_COST_BUILDER_H
#define REHEARSE_COST_BUILDER_H

#include "cost/layer_work.h"

/* A matrix of weights on this device, by which the vector of each token, of width `in`, is multiplied. */
struct linear {
    const char *name;
    int64_t copies; /* experts: products of their own */
    int64_t tokens, in, out;
    unsigned matrices; /* of adapter_targets: those side by side in it; 0: without adapters */
    int64_t first; /* width of the first one's output, where the others share the rest; 0: all are alike */
};

struct builder {
    struct layer_work *work;
    const struct architecture *model;
    const struct layer_split *split;
    const struct software *software;
    int64_t tokens;   /* of a micro-batch on this device */
    double width;     /* bytes of an activation's number */
    double narrow;    /* bytes of a product's input that is kept, of those of an activation */
    double share;     /* of the tokens that a tensor parallel rank keeps outside of the split matrices */
    unsigned modules; /* of the kernels that are added */
    bool end;         /* they are of embedding or head */
    /* the product before casts the next one's input; the one behind, backward, the gradient of its output */
    bool cast_before, cast_behind;
    struct kernel backward[LAYER_MAX_KERNELS / 2];
    int backward_count;
};

#define MODULE(name) (1u << MODULE_##name)

/* Passes over a tensor: kernels that read it and another and write one like it. */
#define PASSES 3.0

/* The size of each of `parts` of a tensor, at least 1. */
int64_t builder_cut(int64_t size, int64_t parts);

void builder_forward(struct builder *b, struct kernel kernel);

void builder_backward(struct builder *b, struct kernel kernel);

/* A kernel that moves so many bytes, forward and backward; none for 0. */
void builder_stream(struct builder *b, const char *name, double forward, double backward);

/* Adds a matrix: its parameters, one product forward, and two backward: the gradients of its input and of its weights;
 * casts before them, and LoRA's products beside it. */
void builder_linear(struct builder *b, struct linear linear);

/* Those of `matrices`, a set of adapter_targets, that have adapters. */
unsigned builder_adapted(const struct builder *b, unsigned matrices);

#endif
