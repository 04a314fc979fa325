/* What an instruction does: operations and bytes, by the rules of whoever is asked.
 *
 * `xla` and `xla-gpu` count exactly as XLA's HloCostAnalysis and GpuHloCostAnalysis do (openxla/xla,
 * xla/service/hlo_cost_analysis.cc and xla/service/gpu/model/gpu_hlo_cost_analysis.cc), with 64-bit sums instead
 * of float. `xla-fork` is xla-gpu as umichAC99/xla had it in April 2024. `rehearse` is xla with loops multiplied
 * by their trip count, batch normalisation counted, and custom calls from a named table. */
#ifndef REHEARSE_COST_COUNT_H
#define REHEARSE_COST_COUNT_H

#include "core/arena.h"
#include "core/error.h"
#include "hlo/module.h"

enum count_rules { COUNT_REHEARSE, COUNT_XLA, COUNT_XLA_GPU, COUNT_XLA_FORK };

/* Cycles of elementwise operations, one SM: what the xla-gpu rules multiply elements by. */
struct op_cycles;

/* The table of a compute capability ("sm_86"); the one XLA falls back to when it has none. Never NULL. */
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
    double transferred; /* collectives under xla-gpu: bytes on the wire */
    double repeats;     /* rehearse: how often it runs, loops around it multiplied (1 outside of loops) */
    bool unknown;       /* a custom call, or what calls one, that no table knows: not in the sums */
};

struct module_count {
    struct arena arena;
    double flops, transcendentals, bytes;    /* of the entry computation */
    struct instruction_count **computations; /* [computation index][instruction index] */
    int unknown_count;                       /* custom calls that no table knows, */
    const char **unknown;                    /* each target once, sorted */
    int unbounded_loops;                     /* while loops whose trip count cannot be told, counted once */
};

/* On failure *count holds nothing; on success the caller ends it with module_count_release. */
bool module_count(struct module_count *count, const struct hlo_module *module,
                  const struct count_options *options, struct error *err);
void module_count_release(struct module_count *count);

#endif
