/* The counting rules, one instruction at a time; only for the files that count. */
#ifndef REHEARSE_COST_COUNT_RULES_H
#define REHEARSE_COST_COUNT_RULES_H

#include "cost/count/count.h"

/* The sums over a computation's instructions, like XLA's properties of a sub-computation. */
struct count_sum {
    double flops, transcendentals, bytes, output_bytes, transferred, emitted;
    int operand_count; /* maximum over its instructions */
    double *operand_bytes, *operand_use;
    double *parameter_reads; /* of a fused one: bytes that a parameter's users read of it, by number */
    /* the first fusion that calls it, with its operands, for other callers */
    const struct instruction_count *fused;
    int fused_operands;
    bool unknown;
};

struct counter {
    const struct hlo_module *module;
    struct module_count *out;
    struct count_options options;
    const struct op_cycles *cycles;
    bool gpu;               /* xla-gpu or xla-fork */
    bool repeated;          /* repeated reads count repeatedly */
    struct count_sum *sums; /* [computation index] */
    bool *elementwise;      /* the module_count's */
    struct arena *scratch;  /* released after counting */
    struct error *err;
};

/* Returns the counts of a computation's instructions. */
static inline struct instruction_count *count_of(const struct counter *c,
                                                 const struct hlo_computation *computation)
{
    return c->out->computations[computation->index];
}

/* Returns the elements of an array, or of all arrays of a tuple. */
double count_elements(const struct hlo_shape *shape);

/* Returns the first part of a tuple, else the shape itself. */
const struct hlo_shape *count_first(const struct hlo_shape *shape);

double count_leaf_bytes(const struct hlo_shape *shape);

/* Returns ceil(log2(n)); 0 for n <= 1. */
int count_ceil_log2(double n);

void count_nothing(const struct hlo_instruction *in, struct instruction_count *n);

void count_set_operand(const struct hlo_instruction *in, struct instruction_count *n, int operand,
                       double bytes);

/* Adds `times` the cost of an instruction's callee: all of it, or only its operations. Nothing without a
 * callee. */
void count_add_call(const struct counter *c, const struct hlo_instruction *in, struct instruction_count *n,
                    int callee, double times);
void count_add_function(const struct counter *c, const struct hlo_instruction *in,
                        struct instruction_count *n, int callee, double times);

/* Counts what a rule of elements says of each element of a shape. */
struct custom_call;
void count_by_element(const struct custom_call *rule, const struct hlo_shape *shape,
                      struct instruction_count *n);

/* Counts an unknown custom call: -1 by XLA's rules, nothing by ours. */
void count_unknown(const struct counter *c, const struct hlo_instruction *in, struct instruction_count *n);

/* The sets of rules, for an instruction whose count holds the default. GPU's and rehearse's cover only their
 * differences from XLA's and return whether they apply; XLA's return false on failure. */
bool count_xla(const struct counter *c, const struct hlo_instruction *in, struct instruction_count *n);
bool count_gpu(const struct counter *c, const struct hlo_instruction *in, struct instruction_count *n);
bool count_rehearse(const struct counter *c, const struct hlo_instruction *in, struct instruction_count *n);

void count_gather(const struct hlo_instruction *gather, const struct hlo_instruction *in,
                  struct instruction_count *n);
void count_scatter(const struct counter *c, const struct hlo_instruction *scatter,
                   const struct hlo_instruction *in, struct instruction_count *n);

bool count_fusion(const struct counter *c, const struct hlo_instruction *fusion, struct instruction_count *n);

/* Returns 2 x multiply-adds of a dot with this output. */
double count_dot_flops(const struct hlo_shape *lhs, const struct hlo_shape *output,
                       const struct hlo_ints *lhs_contracting);

/* Sets the operations of a convolution or of cuDNN's custom call; false if it is malformed. */
bool count_convolution_flops(const struct hlo_instruction *convolution, double *flops, struct error *err);

void count_reduce_window(const struct counter *c, const struct hlo_instruction *in,
                         struct instruction_count *n);

/* Returns whether every result element depends only on the operands' elements at the same place. */
bool count_is_elementwise(const bool *elementwise, const struct hlo_instruction *in);

#endif
