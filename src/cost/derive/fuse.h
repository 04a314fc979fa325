/* Fusion: the instructions of a graph that run together as one kernel, and the kernels' memory traffic.
 *
 * A kernel is a hero with its surroundings. Heroes are products (with elementwise operations on their result,
 * the epilogue), reductions along rows with everything computed from the same rows before and after (softmax,
 * layer normalisation), reductions across rows with their elementwise inputs, and single instructions (sorts,
 * scatters, custom calls, the module's own fusions). The rest is elementwise. Views (reshape, transpose,
 * broadcast, slice) run inside their readers; if their result is needed in memory they are copies. Values
 * that depend only on constants are computed where they are used.
 *
 * Fusing only joins: each tensor read by a kernel counts once, each needed elsewhere is written once, and
 * only views are computed twice. So a fused graph never moves more bytes than an unfused one. */
#ifndef REHEARSE_COST_DERIVE_FUSE_H
#define REHEARSE_COST_DERIVE_FUSE_H

#include "cost/derive/op_graph.h"
#include "cost/kernel.h"

struct fused_kernel {
    struct kernel kernel; /* its type for fp32 numbers is COST_FP32 */
    int count;
    const struct hlo_instruction **instructions; /* the hero first, then in running order; without views */
};

struct fused_transfer { /* a collective */
    const struct hlo_instruction *instruction;
    double bytes;  /* of the larger of its operands and its result */
    int64_t group; /* participating devices; 0: all */
    double repeats;
};

struct fused {
    int kernel_count;
    struct fused_kernel *kernels;
    int transfer_count;
    struct fused_transfer *transfers;
    int unknown_count;
    const char **unknown;   /* targets of unknown custom calls, each once: not in the kernels */
    double unbounded_loops; /* of unknown trip count: run once */
    double peak_bytes;      /* maximum bytes of kernels' results at one time, kept ones included */
};

struct fuse_options {
    int first;                         /* earlier instructions have run: their values are in memory */
    const bool *kept;                  /* by index: written even if nothing here needs it; NULL: none */
    const struct module_count *counts; /* of the graph's module */
    enum attention_kind attention;     /* kind of rehearse.attention */
    const struct derived *derived;     /* its backward pass, for what bodies of loops keep; NULL: none */
    bool unfused;                      /* one kernel per instruction, for comparison */
};

/* Lists the kernels in a valid running order, in `arena`. */
bool fuse_graph(struct fused *fused, struct arena *arena, const struct op_graph *graph,
                const struct fuse_options *options, struct error *err);

/* Sums over all kernels, repeats counted. */
double fused_product_flops(const struct fused *fused); /* products and attention */
double fused_bytes(const struct fused *fused);

/* Replaces attention (a product, then scale, mask and softmax, then a product with its result, without other
 * uses in between) by rehearse.attention. Returns the number of replacements. */
int attention_rewrite(struct op_graph *graph);

#endif
