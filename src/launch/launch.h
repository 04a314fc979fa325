/* A plan as launch options of other software, and Megatron-LM's arguments read back.
 *
 * What a format cannot say is never left out silently: where a job would not run, or would run as another one, writing
 * it is ERROR_INFEASIBLE; what only has to be set elsewhere is a note in the output (a comment; in JSON, which has none,
 * a list under "rehearse"). docs/launch.md says what each format holds. */
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
    LAUNCH_MEGATRON,   /* Megatron-LM with Megatron-Core: arguments of pretrain_gpt.py, one a line */
    LAUNCH_DEEPSPEED,  /* its configuration (JSON), and the parts of a PipelineModule */
    LAUNCH_TORCHTITAN, /* TOML */
    LAUNCH_PIPELINING, /* torch.distributed.pipelining: Python with the split and the schedule */
    LAUNCH_OOBLECK,    /* its cache of pipeline templates (JSON), and the plan of one of them */
    LAUNCH_FORMAT_COUNT
};

/* "megatron", "deepspeed", …; NULL behind them. */
extern const char *const launch_format_names[LAUNCH_FORMAT_COUNT + 1];

/* `job`: that of a plan over devices that are alike; it must pass job_check. NULL: the plan is none of a job, or its model is
 * not known. Adds to *out, nothing on failure. ERROR_INFEASIBLE says why a format cannot say this plan. */
bool launch_write(enum launch_format format, const struct plan *plan, const struct job *job, struct text *out,
                  struct error *err);

/* ---- reading ---- */

#define LAUNCH_MAX_BYTES   ((size_t)4 << 20) /* of a file of arguments */
#define LAUNCH_MAX_UNKNOWN 1000              /* options that are not understood */
#define LAUNCH_MAX_STAGES  65536             /* of a pipeline layout, chunks counted */

/* A number that the arguments give, or not. */
struct launch_value {
    bool given;
    int line; /* where */
    int64_t value;
};

struct launch_unknown {
    const char *name; /* "--train-iters" */
    int line;
};

/* What a file of arguments says about a job. The data parallel degree is never said: it follows from the devices. */
struct launch_options {
    struct arena arena;
    struct launch_value tensor, pipeline, context, expert;
    struct launch_value chunks;         /* of each stage */
    struct launch_value chunk_blocks;   /* or how many blocks a chunk has; never both */
    bool counts_embedding, counts_head; /* as a block, where blocks are spread over stages */
    struct launch_value microbatch, batch, sequence;
    struct launch_value rank_batch;                /* sequences of an iteration, of one data parallel rank */
    struct launch_value sharding;                  /* ZeRO stage */
    struct launch_value recompute;                 /* enum recompute */
    struct launch_value type;                      /* enum cost_type */
    struct launch_value first_blocks, last_blocks; /* of the first and last stage; the others are even */
    const int *stage_blocks;                       /* of every stage, from a layout; NULL: not given */
    int stage_count;
    struct launch_value layers, hidden, heads, kv_heads, head_width, ffn, vocabulary, experts, active_experts,
        expert_ffn;
    int unknown_count; /* not an error: most arguments of a script do not matter here */
    const struct launch_unknown *unknown;
};

/* Reads arguments of Megatron-LM as they stand in a shell script (`--name value`, `--name=value`, line ends behind
 * backslashes, comments, quotes, arrays, variables that the script itself sets) and the variables of MLPerf's
 * configurations (`export TENSOR_MODEL_PARALLEL=4`). Of an option given twice the last counts, as in argparse. `path` is
 * for messages. On failure *options holds nothing; on success the caller ends it with launch_options_release. */
bool launch_read_megatron(const char *path, const char *data, size_t length, struct launch_options *options,
                          struct error *err);
void launch_options_release(struct launch_options *options);

/* What Megatron-LM takes for what is not given: degrees and chunks of 1, nothing sharded or recomputed, fp32. Without this
 * such a dimension is open. */
void launch_complete(struct launch_options *options);

/* Sets in *job all that is given, but for the model's sizes: those must be the job's model's, else ERROR_INFEASIBLE. The
 * data parallel degree is made to fit job->devices. stage_blocks lives as long as *options. */
bool launch_apply(struct launch_options *options, struct job *job, struct error *err);

/* The same for a search over question->job.devices: what is given is fixed, and what is open is chosen. Batch, sequence
 * and type are set where they are given. A layout lives as long as *options. */
bool launch_fix(struct launch_options *options, struct job_question *question, struct error *err);

#endif
