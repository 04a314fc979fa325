/* The rules of counting, one instruction at a time; only for the files that count. */
#ifndef REHEARSE_COST_COUNT_RULES_H
#define REHEARSE_COST_COUNT_RULES_H

#include "cost/count/count.h"

/* Of a computation: each key summed over its instructions, as XLA's properties of a sub-computation are. */
struct count_sum {
    double flops, transcendentals, bytes, output_bytes, transferred, emitted;
    int operand_count; /* the most that one of its instructions has */
    double *operand_bytes, *operand_use;
    double *parameter_reads; /* of one that is fused: bytes that a parameter's users read of it, by number */
    const struct instruction_count
        *fused; /* of the first fusion that calls it, and its operands: for others */
    int fused_operands;
    bool unknown;
};

struct counter {
    const struct hlo_module *module;
    struct module_count *out;
    struct count_options options;
    const struct op_cycles *cycles;
    bool gpu;               /* xla-gpu or xla-fork */
    bool repeated;          /* what is read twice counts twice */
    struct count_sum *sums; /* [computation index] */
    bool *elementwise;      /* the module_count's */
    struct arena *scratch;  /* for the time of counting */
    struct error *err;
};

/* The counts of all instructions of a computation. */
static inline struct instruction_count *count_of(const struct counter *c,
                                                 const struct hlo_computation *computation)
{
    return c->out->computations[computation->index];
}

/* Elements of an array, of a tuple those of all its arrays. */
double count_elements(const struct hlo_shape *shape);

/* The first part of a tuple, else the shape itself. */
const struct hlo_shape *count_first(const struct hlo_shape *shape);

double count_leaf_bytes(const struct hlo_shape *shape);

/* The smallest whole number whose power of two reaches n; 0 for n of at most 1. */
int count_ceil_log2(double n);

/* Output and operands read and written whole, nothing computed. */
void count_default(const struct counter *c, const struct hlo_instruction *instruction,
                   struct instruction_count *count);

/* Nothing read, nothing written. */
void count_nothing(const struct hlo_instruction *instruction, struct instruction_count *count);

void count_set_operand(const struct hlo_instruction *instruction, struct instruction_count *count,
                       int operand, double bytes);

/* Adds `times` what an instruction's callee costs: all of it, or what it computes. Nothing if it has none. */
void count_add_call(const struct counter *c, const struct hlo_instruction *instruction,
                    struct instruction_count *count, int callee, double times);
void count_add_function(const struct counter *c, const struct hlo_instruction *instruction,
                        struct instruction_count *count, int callee, double times);

/* A custom call that no table knows: -1 by XLA's rules, nothing by ours. */
void count_unknown(const struct counter *c, const struct hlo_instruction *instruction,
                   struct instruction_count *count);

/* What each set of rules says of an instruction whose count holds the default. Those of GPU and rehearse are
 * only what differs from XLA's: they set *done when they counted. Each false on failure. */
bool count_xla(const struct counter *c, const struct hlo_instruction *instruction,
               struct instruction_count *count);
bool count_gpu(const struct counter *c, const struct hlo_instruction *instruction,
               struct instruction_count *count, bool *done);
bool count_rehearse(const struct counter *c, const struct hlo_instruction *instruction,
                    struct instruction_count *count, bool *done);

void count_gather(const struct hlo_instruction *gather, const struct hlo_instruction *instruction,
                  struct instruction_count *count);
void count_scatter(const struct counter *c, const struct hlo_instruction *scatter,
                   const struct hlo_instruction *instruction, struct instruction_count *count);

bool count_fusion(const struct counter *c, const struct hlo_instruction *fusion,
                  struct instruction_count *count);

/* 2 x multiply-adds of a dot with this output. */
double count_dot_flops(const struct hlo_shape *lhs, const struct hlo_shape *output,
                       const struct hlo_ints *lhs_contracting);

/* Operations of a convolution (or a custom call of cuDNN's that is one); false when it is no sound one. */
bool count_convolution_flops(const struct hlo_instruction *convolution, double *flops, struct error *err);

void count_reduce_window(const struct counter *c, const struct hlo_instruction *instruction,
                         struct instruction_count *count);

/* Cycles of an elementwise operation per element. */
double count_cycles(const struct counter *c, enum hlo_opcode opcode, enum hlo_type type);

/* Devices that take part in a collective: the largest group. */
double count_ranks(const struct counter *c, const struct hlo_instruction *collective);

/* Bytes that a collective puts on the wire; 0 for what is none. */
double count_transferred(const struct hlo_instruction *collective);

/* A GEMM of cuBLAS, a convolution of cuDNN; what they multiply and write. False: it is none, or its
 * attributes do not tell. */
bool count_is_gemm(const char *target);
bool count_is_convolution(const char *target);
bool count_gemm(const struct hlo_instruction *call, struct instruction_count *count);
bool count_convolution_call(const struct hlo_instruction *call, struct instruction_count *count);

/* Figures that the maker of a kernel left in `cost_estimate_json` of its backend_config. */
bool count_estimate(const struct hlo_instruction *call, struct instruction_count *count);

/* Is every result element made from the operands' elements at the same place? */
bool count_is_elementwise(const bool *elementwise, const struct hlo_instruction *instruction);

/* How the instructions of a fusion use one another, from its root up; filled in reverse of the order of
 * instructions, each entry by index. */
struct count_uses {
    double *use;     /* share of its elements that is computed; over 1 when some are computed again */
    double *emitted; /* copies of it in the code */
    double *root_use, *root_emitted;
    struct count_roots {
        int count;
        int *at; /* sorted: instructions from which this one is reached through elementwise ones alone */
    } * roots;
};

bool count_uses_find(struct count_uses *uses, const struct module_count *count,
                     const struct hlo_computation *fused, struct arena *scratch, struct error *err);

#endif
