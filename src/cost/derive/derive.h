/* The backward pass of a graph, derived instruction by instruction (reverse mode: Griewank and Walther 2008,
 * "Evaluating Derivatives", chapter 3), and the forward values that it needs.
 *
 * Each product has two gradients, which are products; elementwise operations multiply with their local
 * derivative; sums are broadcast and broadcasts summed; slices are padded, lookups scattered. The shift of a
 * softmax by its maximum has no gradient. Values needed by the backward pass are kept or, if that takes less
 * memory, recomputed from kept ones: the minimum memory is a minimum cut between the forward values that are
 * expensive to compute and those that are needed. */
#ifndef REHEARSE_COST_DERIVE_DERIVE_H
#define REHEARSE_COST_DERIVE_DERIVE_H

#include "cost/derive/op_graph.h"

enum argument_kind {
    ARGUMENT_INPUT,     /* the previous layer's output, or tokens, masks, positions */
    ARGUMENT_PARAMETER, /* weights, scales, biases */
};

struct derive_options {
    bool no_input_gradients; /* for a first layer: input gradients are not needed */
    bool keep_all;           /* keep everything needed, recompute nothing */
    bool attention;          /* attention_rewrite holds in loops, too */
    const enum argument_kind *arguments;
    /* of a loop's body, by number: parameters that need a gradient, and results that have one; else NULL */
    const bool *needs, *given;
};

/* The backward pass of a loop's body. */
struct derived_loop {
    struct op_graph graph;
    int first;
    double times;
    const struct hlo_computation *body;
    const bool *kept; /* by index: values of a forward turn that are written for the backward one */
};

struct derived {
    /* the forward pass, from `first` on recomputed instructions, then the backward pass; its roots are the
     * gradients */
    struct op_graph graph;
    int first;
    bool *kept;         /* by index: forward values that the backward pass reads */
    int64_t kept_bytes; /* of those, and of the arguments it reads, without parameters */
    int64_t gradients;  /* number of results with a gradient; 0: there is no backward pass */
    bool *arguments_given, *arguments_read; /* by number: has a gradient; is read by the backward pass */
    bool *turned; /* of a loop's body, by number: its turns end with the first operation on this gradient */
    int gap_count;
    const char *
        *gaps; /* names of operations whose gradient has no rule, each once: the backward pass lacks it */
    int loop_count;
    struct derived_loop *loops;
};

/* Finds the kinds of the arguments of a graph (HLO's parameters), by number. A parameter is an array of
 * floating point numbers that, with only views and conversions between,
 *   - is multiplied with a computed value in a product without batch dimensions or, if it has three
 *     dimensions (experts), with them; of two arguments multiplied with each other, without batch
 *     dimensions, it is the right one; or
 *   - is the kernel of a convolution; or
 *   - is the table of a lookup; or
 *   - has one dimension, of more than one element: a scale or a bias.
 * Everything else is input. */
bool derive_arguments(const struct op_graph *graph, struct arena *arena, enum argument_kind **arguments,
                      struct error *err);

/* Sets the bytes of the results that go to the next layer (no other instruction reads them: values that a
 * given forward pass returns for its backward pass are also read inside), and of the other results
 * without arguments, which exist anyway. */
bool derive_result_bytes(const struct op_graph *graph, int64_t *output_bytes, int64_t *kept_bytes,
                         struct error *err);

/* Appends the backward pass to a copy of `graph`, whose instructions stay unchanged. */
bool derive_backward(struct derived *derived, struct arena *arena, const struct op_graph *graph,
                     const struct derive_options *options, struct error *err);

/* Returns whether a constant must be a model's parameter: many floating point numbers. */
bool derive_is_weight(const struct hlo_instruction *in);

#endif
