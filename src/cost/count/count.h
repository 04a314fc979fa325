/* Operations and bytes of instructions, by selectable rules.
 *
 * `xla` and `xla-gpu` count exactly as XLA's HloCostAnalysis and GpuHloCostAnalysis (openxla/xla,
 * xla/service/hlo_cost_analysis.cc and xla/service/gpu/model/gpu_hlo_cost_analysis.cc), with 64-bit sums
 * instead of float. `xla-fork` is xla-gpu as in umichAC99/xla in April 2024. `rehearse` is xla with loops
 * multiplied by their trip count, batch normalisation counted, and custom calls from a named table. */
#ifndef REHEARSE_COST_COUNT_COUNT_H
#define REHEARSE_COST_COUNT_COUNT_H

#include "core/arena.h"
#include "core/error.h"
#include "hlo/module.h"

enum count_rules { COUNT_REHEARSE, COUNT_XLA, COUNT_XLA_GPU, COUNT_XLA_FORK };

/* Cycles of elementwise operations per element, one SM: the factors of the xla-gpu rules. */
struct op_cycles {
    const char *capability;                                /* "sm_86" */
    bool fork;                                             /* from XLA of April 2024 */
    int32_t elementwise[HLO_OPCODE_COUNT][HLO_TYPE_COUNT]; /* 0: not measured, XLA takes OP_CYCLES_DEFAULT */
};

#define OP_CYCLES_DEFAULT 3

/* Returns the table of a compute capability ("sm_86", also for NULL), of April 2024 if `fork`; sm_86's if XLA
 * has none. NULL only if memory is out. */
const struct op_cycles *op_cycles_find(const char *capability, bool fork);

struct custom_calls;

struct count_options {
    enum count_rules rules;
    const struct custom_calls *custom_calls; /* the user's, count/custom_calls.h; NULL: none */
    const struct op_cycles *cycles;          /* xla-gpu and xla-fork; NULL: sm_86 */
    bool once_per_operand;                   /* xla-gpu: do not count repeated reads of an operand */
    bool repeated_reads;                     /* xla: count_multiple_input_accesses */
};

/* The counts of one instruction, including everything it calls. */
struct instruction_count {
    double flops;
    double transcendentals;
    double bytes;          /* operands and output */
    double *operand_bytes; /* operand_count entries */
    double *operand_use;   /* share of the operand read; over 1 with repeated reads */
    double output_bytes;
    double transferred; /* collectives: bytes on the wire */
    double emitted;     /* xla-gpu: instructions of the code, in a fusion as often as each is emitted */
    /* runs per run of the module, calls and (rehearse) loops multiplied; 0 inside of fusions and of functions
     * applied to elements */
    double runs;
    bool unknown; /* an unknown custom call or a caller of one: not in the sums; XLA's rules count it as -1 */
};

struct module_count {
    struct arena arena;
    double flops, transcendentals, bytes;    /* of the entry computation */
    struct instruction_count **computations; /* [computation index][instruction index] */
    const bool *elementwise;                 /* [computation index]: nothing but elementwise operations */
    int unknown_count;                       /* unknown custom calls */
    const char **unknown;                    /* their targets, each once, sorted */
    int unbounded_loops;                     /* while loops of unknown trip count, counted once */
    enum count_rules rules;
    const struct custom_calls *custom_calls; /* of the options */
};

/* Counts a module. On failure *count holds nothing; on success the caller releases it with
 * module_count_release. */
bool module_count(struct module_count *count, const struct hlo_module *module,
                  const struct count_options *options, struct error *err);
void module_count_release(struct module_count *count);

#endif
