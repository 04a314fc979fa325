/* What an instruction does: operations and bytes, by the rules of whoever is asked.
 *
 * `xla` and `xla-gpu` count exactly as XLA's HloCostAnalysis and GpuHloCostAnalysis do (openxla/xla,
 * xla/service/hlo_cost_analysis.cc and xla/service/gpu/model/gpu_hlo_cost_analysis.cc), with 64-bit sums
 * instead of float. `xla-fork` is xla-gpu as umichAC99/xla had it in April 2024. `rehearse` is xla with
 * loops multiplied by their trip count, batch normalisation counted, and custom calls from a named table. */
#ifndef REHEARSE_COST_COUNT_COUNT_H
#define REHEARSE_COST_COUNT_COUNT_H

#include "core/arena.h"
#include "core/error.h"
#include "hlo/module.h"

enum count_rules { COUNT_REHEARSE, COUNT_XLA, COUNT_XLA_GPU, COUNT_XLA_FORK };

/* Cycles of elementwise operations per element, one SM: what the xla-gpu rules multiply elements by. */
struct op_cycles {
    const char *capability;                                /* "sm_86" */
    bool fork;                                             /* XLA had it in April 2024 */
    int32_t elementwise[HLO_OPCODE_COUNT][HLO_TYPE_COUNT]; /* 0: not measured, XLA takes OP_CYCLES_DEFAULT */
};

#define OP_CYCLES_DEFAULT 3

/* Reads the tables, unless they are read; then a lookup cannot fail. */
bool op_cycles_read(struct error *err);

/* The table of a compute capability ("sm_86"; NULL: that one), among those of April 2024 when `fork`.
 * Where XLA has none it takes that of sm_86. NULL only when memory is short. */
const struct op_cycles *op_cycles_find(const char *capability, bool fork);

struct count_options {
    enum count_rules rules;
    const struct op_cycles *cycles; /* xla-gpu and xla-fork; NULL: sm_86 */
    bool once_per_operand;          /* xla-gpu: do not count repeated reads of an operand */
    bool repeated_reads;            /* xla: count_multiple_input_accesses */
};

/* Of one instruction, all that it calls included. */
struct instruction_count {
    double flops;
    double transcendentals;
    double bytes;          /* operands and output */
    double *operand_bytes; /* operand_count of them */
    double *operand_use;   /* share of the operand that is read; may be over 1 with repeated reads */
    double output_bytes;
    double transferred; /* collectives: bytes on the wire */
    double emitted;     /* xla-gpu: instructions of the code, in a fusion each as often as it is emitted */
    double runs;        /* how often it runs for one run of the module, calls and (rehearse) loops multiplied;
                         * 0 inside of fusions and of functions applied to elements */
    bool unknown;       /* a custom call, or what calls one, that no table knows: not in the sums; XLA's
                         * rules count it as -1 */
};

struct module_count {
    struct arena arena;
    double flops, transcendentals, bytes;    /* of the entry computation */
    struct instruction_count **computations; /* [computation index][instruction index] */
    const bool *elementwise;                 /* [computation index]: nothing but elementwise operations */
    int unknown_count;                       /* custom calls that no table knows, */
    const char **unknown;                    /* each target once, sorted */
    int unbounded_loops;                     /* while loops whose trip count cannot be told, counted once */
    enum count_rules rules;
};

/* On failure *count holds nothing; on success the caller ends it with module_count_release. */
bool module_count(struct module_count *count, const struct hlo_module *module,
                  const struct count_options *options, struct error *err);
void module_count_release(struct module_count *count);

/* Of a fused computation, counted by xla-gpu or xla-fork: how much of `a` and `b` is computed for the same
 * elements of a common user, as a share of that user (GpuHloCostAnalysis::CommonElementwiseUtilization). */
bool count_common_use(const struct module_count *count, const struct hlo_computation *fused,
                      const struct hlo_instruction *a, const struct hlo_instruction *b, double *use,
                      struct error *err);

#endif
