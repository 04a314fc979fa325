/* The backward pass of a graph, derived instruction by instruction (reverse mode: Griewank and Walther 2008,
 * "Evaluating Derivatives", chapter 3), and what it needs of the forward pass.
 *
 * Each product has two gradients, which are products; what is elementwise is multiplied with its local
 * derivative; sums are broadcast and broadcasts summed; slices are padded, lookups scattered. The shift of a
 * softmax by its maximum has no gradient. What the backward pass needs is kept, or, where that takes less memory,
 * computed again from what is kept: the least memory is a minimum cut between the forward values that are not
 * cheap to compute and those that are needed. */
#ifndef REHEARSE_COST_DERIVE_DERIVE_H
#define REHEARSE_COST_DERIVE_DERIVE_H

#include "cost/derive/op_graph.h"

enum argument_kind {
    ARGUMENT_INPUT,     /* what the layer before gives, or tokens, masks, positions */
    ARGUMENT_PARAMETER, /* weights, scales, biases */
};

struct derive_options {
    bool no_input_gradients; /* for a first layer: no layer before wants them */
    bool keep_all;           /* keep all that is needed, compute nothing again */
    bool is_body;            /* of a loop: all results have gradients */
    const enum argument_kind *arguments;
};

/* The body of a loop, backwards. */
struct derived_loop {
    struct op_graph graph;
    int first;
    double times;
};

struct derived {
    struct op_graph
        graph; /* the forward pass, from `first` on what is computed again, then the backward pass; its
                           roots are the gradients */
    int first;
    bool *kept;         /* by index: values of the forward pass that the backward pass reads */
    int64_t kept_bytes; /* of those, and of the arguments but parameters that it reads */
    int64_t gradients;  /* how many results had a gradient: 0, there is no backward pass */
    int loop_count;
    struct derived_loop *loops;
};

/* What the arguments of a graph (its parameters in HLO's word) are, by number. A parameter is an array of
 * floating point numbers that, with views and conversions only between,
 *   - is multiplied with something computed in a product without batch dimensions, or, when it has three
 *     dimensions (experts), with them; of two arguments multiplied with each other, without batch dimensions, it
 *     is the right one; or
 *   - is the kernel of a convolution; or
 *   - is the table of a lookup; or
 *   - has one dimension, of more than one element: a scale or a bias.
 * Everything else is input. */
bool derive_arguments(const struct op_graph *graph, struct arena *arena, enum argument_kind **arguments,
                      struct error *err);

/* Bytes of the results that go to the next layer (those that no other instruction reads: what a given forward
 * pass returns for its backward pass is read inside too), and of the other results but arguments, which are
 * there anyway. */
bool derive_result_bytes(const struct op_graph *graph, int64_t *output_bytes, int64_t *kept_bytes,
                         struct error *err);

/* Appends the backward pass to a copy of `graph`, whose instructions stay as they are. */
bool derive_backward(struct derived *derived, struct arena *arena, const struct op_graph *graph,
                     const struct derive_options *options, struct error *err);

/* A constant that must be a model's parameter: many floating point numbers. */
bool derive_is_weight(const struct hlo_instruction *instruction);

#endif
