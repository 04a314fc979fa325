/* Fusion: which instructions of a graph run together as one kernel, and what the kernels read and write.
 *
 * A kernel is a hero with what surrounds it. Heroes are products (with elementwise operations on their result,
 * the epilogue), reductions along rows with all that is computed of the same rows before and after (softmax,
 * layer normalisation), reductions across rows with what is computed before them, and what stands alone (sorts,
 * scatters, custom calls, the module's own fusions). The rest is elementwise. Views (reshape, transpose,
 * broadcast, slice) run in whatever reads them; where something needs their result in memory they are copies.
 * What depends on constants alone is computed where it is used and read from nowhere.
 *
 * Fusing only joins: each tensor that a kernel reads counts once, each that something else needs is written
 * once, and nothing but views is computed twice. So a fused graph never moves more than an unfused one. */
#ifndef REHEARSE_COST_DERIVE_FUSE_H
#define REHEARSE_COST_DERIVE_FUSE_H

#include "cost/derive/op_graph.h"
#include "cost/kernel.h"

struct fused_kernel {
    struct kernel kernel; /* its type of fp32 numbers is COST_FP32 */
    int count;
    const struct hlo_instruction *
        *instructions; /* the hero first, then as they run; views are not among them */
};

struct fused_transfer { /* a collective */
    const struct hlo_instruction *instruction;
    double bytes;  /* of the larger of its operands and its result */
    int64_t group; /* devices that take part; 0: all */
    double repeats;
};

struct fused {
    int kernel_count;
    struct fused_kernel *kernels;
    int transfer_count;
    struct fused_transfer *transfers;
    int unknown_count;
    const char **unknown;   /* targets of custom calls that no table knows, each once: not in the kernels */
    double unbounded_loops; /* whose trip count cannot be told: run once */
    double peak_bytes;      /* the most that results of kernels take at once, those that are kept included */
};

struct fuse_options {
    int first;                         /* instructions before this one have run: their values lie in memory */
    const bool *kept;                  /* by index: is written although nothing here needs it; NULL: none */
    const struct module_count *counts; /* of the graph's module */
    enum attention_kind attention;     /* what rehearse.attention is */
    bool unfused;                      /* each instruction a kernel of its own, for comparison */
};

/* The kernels in an order in which they can run, in `arena`. */
bool fuse_graph(struct fused *fused, struct arena *arena, const struct op_graph *graph,
                const struct fuse_options *options, struct error *err);

/* Sums over all kernels, repeats counted. */
double fused_product_flops(const struct fused *fused); /* products and attention */
double fused_bytes(const struct fused *fused);

/* Finds attention (a product, then scale, mask and softmax, then a product with its result, and no other use of
 * what is between) and puts rehearse.attention in its place. Returns how often. */
int attention_rewrite(struct op_graph *graph);

#endif
