/* Writes a plan as launch options of other software, and reads Megatron-LM's arguments back.
 *
 * Unsupported settings are never dropped silently: if a job would not run, or would run differently, writing
 * it is ERROR_INFEASIBLE; settings that belong elsewhere become notes in the output (comments; in JSON a list
 * under "rehearse"). docs/launch.md describes each format. */
#ifndef REHEARSE_LAUNCH_LAUNCH_H
#define REHEARSE_LAUNCH_LAUNCH_H

#include "core/arena.h"
#include "core/error.h"
#include "core/text.h"
#include "plan/plan.h"
#include "plan/split/search.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum launch_format {
    LAUNCH_MEGATRON,   /* Megatron-LM with Megatron-Core: arguments of pretrain_gpt.py, one per line */
    LAUNCH_DEEPSPEED,  /* its configuration (JSON), and the parts of a PipelineModule */
    LAUNCH_TORCHTITAN, /* TOML */
    LAUNCH_PIPELINING, /* torch.distributed.pipelining: Python with the split and the schedule */
    LAUNCH_OOBLECK,    /* its cache of pipeline templates (JSON), and the plan of one of them */
    LAUNCH_FORMAT_COUNT
};

/* "megatron", "deepspeed", …; ends with NULL. */
extern const char *const launch_format_names[LAUNCH_FORMAT_COUNT + 1];

/* Appends the options to *out, nothing on failure. `job`: the job of a plan over equal devices, which passes
 * job_check; NULL: the plan has no job, or its model is unknown. ERROR_INFEASIBLE if the format cannot
 * express the plan. */
bool launch_write(enum launch_format format, const struct plan *plan, const struct job *job, struct text *out,
                  struct error *err);

/* ---- reading ---- */

#define LAUNCH_MAX_BYTES   ((size_t)4 << 20) /* of a file of arguments */
#define LAUNCH_MAX_UNKNOWN 1000              /* unknown options */
#define LAUNCH_MAX_STAGES  65536             /* of a pipeline layout, chunks counted */

/* An optional number from the arguments. */
struct launch_value {
    bool given;
    int line; /* line of the argument */
    int64_t value;
};

struct launch_unknown {
    const char *name; /* "--train-iters" */
    int line;
};

/* A job's settings in a file of arguments. The data parallel degree follows from the devices. */
struct launch_options {
    struct arena arena;
    struct launch_value tensor, pipeline, context, expert;
    struct launch_value chunks;         /* per stage */
    struct launch_value chunk_blocks;   /* or the blocks per chunk; never both */
    bool counts_embedding, counts_head; /* count as a block when blocks are spread over stages */
    struct launch_value microbatch, batch, sequence;
    struct launch_value rank_batch;                /* sequences per iteration and data parallel rank */
    struct launch_value sharding;                  /* ZeRO stage */
    struct launch_value recompute;                 /* enum recompute */
    struct launch_value type;                      /* enum cost_type */
    struct launch_value first_blocks, last_blocks; /* of the first and last stage; the others are even */
    const int *stage_blocks;                       /* of every stage, from a layout; NULL: not set */
    int stage_count;
    struct launch_value layers, hidden, heads, kv_heads, head_width, ffn, vocabulary, experts, active_experts,
        expert_ffn;
    int unknown_count; /* no error: most arguments of a script do not matter here */
    const struct launch_unknown *unknown;
};

/* Reads Megatron-LM's arguments from a shell script (`--name value`, `--name=value`, continued lines,
 * comments, quotes, arrays, variables set in the script) and the variables of MLPerf's configurations
 * (`export TENSOR_MODEL_PARALLEL=4`). The last of repeated options counts, as in argparse. `path` is for
 * errors. On failure *options is empty; on success the caller ends it with launch_options_release. */
bool launch_read_megatron(const char *path, const char *data, size_t length, struct launch_options *options,
                          struct error *err);
void launch_options_release(struct launch_options *options);

/* Sets Megatron-LM's defaults for missing options: degrees and chunks of 1, no sharding or recomputation,
 * fp32. Without this call such a dimension stays open. */
void launch_complete(struct launch_options *options);

/* Sets all given options in *job. Given model sizes must equal the job's model, else ERROR_INFEASIBLE. The
 * data parallel degree is chosen to fit job->devices. stage_blocks lives as long as *options. */
bool launch_apply(struct launch_options *options, struct job *job, struct error *err);

/* Restricts a search over question->job.devices: given options are fixed, the others are searched. Sets
 * batch, sequence and type if given. A layout lives as long as *options. */
bool launch_fix(struct launch_options *options, struct job_question *question, struct error *err);

#endif
