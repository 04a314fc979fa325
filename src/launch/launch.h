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
#include "devices/technique.h"
#include "launch/budget.h"
#include "plan/parts.h"
#include "plan/plan.h"
#include "plan/split/search.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum launch_format {
    LAUNCH_MEGATRON,          /* Megatron-LM with Megatron-Core: arguments of pretrain_gpt.py, one per line */
    LAUNCH_DEEPSPEED,         /* its configuration (JSON), and the parts of a PipelineModule */
    LAUNCH_TORCHTITAN,        /* TOML, until v0.2.2 */
    LAUNCH_TORCHTITAN_PYTHON, /* a function for its registry, since then */
    LAUNCH_PIPELINING,        /* torch.distributed.pipelining: Python with the split and the schedule */
    LAUNCH_OOBLECK,           /* its cache of pipeline templates (JSON), and the plan of one of them */
    LAUNCH_FORMAT_COUNT
};

/* "megatron", "deepspeed", …; ends with NULL. */
extern const char *const launch_format_names[LAUNCH_FORMAT_COUNT + 1];

/* The software that reads a format, by its name in devices/software.h. NULL: a library that any software may use. */
extern const char *const launch_format_software[LAUNCH_FORMAT_COUNT];

/* Appends the options to *out, nothing on failure. `job`: the job of a plan over equal devices, which passes
 * job_check; NULL: the plan has no job, or its model is unknown. ERROR_INFEASIBLE if the format cannot
 * express the plan. */
bool launch_write(enum launch_format format, const struct plan *plan, const struct job *job, struct text *out,
                  struct error *err);

/* The same for a plan over several device types, of a model by name: a run of the software for all pipelines that are
 * alike, with its part of the batch and notes on ranks and gradients (runs.c). Formats that have pipelines of several
 * kinds write them as one. */
bool launch_write_runs(enum launch_format format, const struct plan *plan, const struct plan_parts *parts,
                       struct text *out, struct error *err);

/* What starts the processes of a script. */
enum launch_launcher {
    LAUNCHER_TORCHRUN,   /* the script runs on each node */
    LAUNCHER_SBATCH,     /* slurm runs it: srun starts torchrun on each node */
    LAUNCHER_KUBERNETES, /* an indexed job, whose pods run torchrun */
    LAUNCHER_COUNT
};

extern const char *const launch_launcher_names[LAUNCHER_COUNT + 1];

/* Appends a shell script (for Kubernetes YAML that holds one) that starts the plan's job: the options of launch_write,
 * and nodes, processes and port. What a plan does not know (data, tokenizer, learning rate) are variables with a
 * default. ERROR_USAGE: a format that no program starts from; ERROR_INFEASIBLE: also without a job. */
bool launch_write_script(enum launch_format format, enum launch_launcher launcher, const struct plan *plan,
                         const struct job *job, struct text *out, struct error *err);

/* ---- reading ---- */

#define LAUNCH_MAX_BYTES     ((size_t)2 << 20) /* of a file */
#define LAUNCH_MAX_ARGUMENTS 10000
#define LAUNCH_MAX_STAGES    65536 /* of a pipeline layout, chunks counted */

/* The effect of an argument on the price. */
enum launch_use {
    LAUNCH_UNKNOWN,    /* the software has no such argument, or it is not known here */
    LAUNCH_READ,       /* read */
    LAUNCH_IDLE,       /* none: paths, logging, learning rates, … */
    LAUNCH_UNMODELLED, /* some, which is not priced */
    LAUNCH_USES
};

/* What stood where a value is due. */
enum launch_shape {
    SHAPE_VALUE,
    SHAPE_LIST,
    SHAPE_NESTED,
    SHAPE_MAP
}; /* NESTED: a list of lists or maps; MAP: an empty one */

/* An argument of a file, as written. */
struct launch_argument {
    const char *name;  /* "--train-iters", "training.seq_len", "MINIBS" */
    const char *value; /* NULL: a switch without a value */
    const char *path;
    int line;
    enum launch_use use;
    const char *note; /* why it is not priced, or the argument that was meant; NULL: none */
    bool
        is_made; /* by a call in a recipe: a class, or a value by its place; without a rule it is no setting */
    enum launch_shape shape;
    const char *hashed; /* the name that `hash` is of: launch_argument brings it up to date */
    uint32_t hash;
    const char *setting; /* "datasets.path" of "datasets[0].path", an item's; NULL: the name itself */
};

/* Something that must be known and that no file says. */
struct launch_missing {
    const char *name; /* "MBS", "the number of devices" */
    const char *why;  /* "used by --micro-batch-size (run.sh:12)" */
    const char *give; /* "--set MBS=VALUE" */
};

/* An optional number from the arguments. */
struct launch_value {
    bool given;
    int line; /* line of the argument */
    int64_t value;
};

/* The numbers of a model that a file gives. What it does not give has the default of its software. */
/* clang-format off */
#define LAUNCH_MODEL_VALUES(X) \
    X(layers) X(hidden) X(heads) X(kv_heads) X(head_width) X(ffn) X(vocabulary) X(padding) X(experts) \
    X(active_experts) X(expert_ffn) X(shared_ffn) X(shared_experts) X(dense_layers) X(positions) \
    X(window) X(window_every) X(query_rank) X(kv_rank) X(rope_width) X(nope_width) X(value_width) \
    X(grouped) X(gated) X(biased) X(qkv_biased) X(qk_norm) X(sinks) X(rms_norm) X(tied) X(rotary) \
    X(dropout) X(router_biased) X(experts_every) X(latent) X(mtp_layers) X(route_groups) X(route_active_groups) \
    X(bidirectional) X(linear_key_heads) X(linear_value_heads) X(linear_key_width) X(linear_value_width) \
    X(linear_convolution) X(index_heads) X(index_width) X(index_keys) X(attention_gated) X(expert_latent)
/* clang-format on */

/* Those of a job. recompute: enum recompute; type: enum cost_type; plain_fp32: products in fp32 are not in tf32 */
/* clang-format off */
#define LAUNCH_JOB_VALUES(X) \
    X(tensor) X(pipeline) X(context) X(expert) X(expert_tensor) X(data) X(replicate) X(shard) X(chunks) \
    X(chunk_blocks) X(microbatch) X(batch) X(rank_batch) X(accumulation) X(sequence) X(sharding) \
    X(recompute) X(type) X(first_blocks) X(last_blocks) X(counts_embedding) X(counts_head) X(devices) \
    X(nodes) X(devices_per_node) X(steps) X(frozen) X(rank) X(document) X(sequence_parallel) X(fsdp) \
    X(distributed_optimizer) X(bf16) X(fp16) X(fp8) X(fp4) \
    X(plain_fp32)
/* clang-format on */

struct launch_names {
    const char **items;
    int count, room;
};

/* A job's settings in files. The data parallel degree follows from the devices. */
struct launch_options {
    struct arena arena;
    const char *path;        /* of the first file */
    const char *reader;      /* "Megatron-LM", "torchtitan", … */
    const char *software;    /* by its name in devices/software.h */
    const char *model_name;  /* as the file names it; NULL: by numbers only */
    const char *device;      /* likewise, or in the file's name; NULL: not said */
    const char *device_said; /* where */
#define X(name) struct launch_value name;
    LAUNCH_MODEL_VALUES(X)
    LAUNCH_JOB_VALUES(X)
#undef X
    struct launch_value technique[TECHNIQUE_COUNT];
    const int *stage_blocks; /* of every stage, from a layout; NULL: not set */
    int stage_count;
    int stage_mtp; /* layers of multi-token prediction in the layout */
    const char *mixers,
        *mlps; /* of blocks of several kinds, as of struct architecture; mlps NULL: as experts say */
    struct architecture model; /* of a configuration of Hugging Face among the files */
    bool has_model;
    struct launch_argument *arguments;
    int argument_count, argument_room;
    struct launch_missing *missing;
    int missing_count, missing_room;
    const char *const *given;  /* struct launch_input's */
    struct launch_names asked; /* what files ask for of it */
    struct launch_names names; /* the variables of scripts */
    bool no_memory; /* for an argument, a note or something that is missing: launch_read fails at its end */
    bool has_run;   /* of a log: the software took these settings, and printed what it made of them */
    struct launch_budget budget;
    const char **notes; /* "config_common_blackwell.sh was not found: …" */
    int note_count, note_room;
    bool is_whole; /* Megatron-LM's pretrain_gpt.py is given what is read, and nothing else */
};

/* What a text is; LAUNCH_BY_NAME: as its path or its beginning says. */
enum launch_syntax { LAUNCH_BY_NAME, LAUNCH_SCRIPT, LAUNCH_JSON, LAUNCH_YAML };

/* What to read. */
struct launch_input {
    const char *path;
    enum launch_syntax syntax;
    const char *data; /* NULL: the file is read */
    size_t length;
    const char *const *given; /* "NAME=VALUE" of variables, ended by NULL; or NULL */
    bool is_alone;            /* no further files are read */
    const char *root;         /* they may lie below this folder, too (budget.h); NULL: the checkout */
};

/* Reads a launch description of any kind, and what it sources; docs/price.md lists the kinds. The last of repeated
 * arguments counts. `options` begins as {0}, or holds what was read from other files of the same job. A file of no
 * known kind, or without any setting, is ERROR_INPUT. On failure *options is empty; on success the caller ends it with
 * launch_options_release. The texts of *input outlive *options. */
bool launch_read(struct launch_options *options, const struct launch_input *input, struct error *err);
void launch_options_release(struct launch_options *options);

int launch_count(const struct launch_options *options, enum launch_use use);

/* Returns the text of all that is missing, each in a line; it lives in the options. NULL: out of memory. */
const char *launch_missing_text(struct launch_options *options);

/* Notes something that is missing; a text that is NULL is one for which no memory was left. */
void launch_miss(struct launch_options *options, const char *name, const char *why, const char *give);

/* Appends a sentence for each name that --set gives and nothing in the files asks for. */
void launch_unasked(struct launch_options *options, struct launch_names *found);

/* Adds a note for the output. */
void launch_note(struct launch_options *options, const char *format, ...) PRINTF_LIKE(2, 3);

/* Makes the model that the files describe by numbers, with the defaults of their software, or finds the one that they
 * name. *model lives as long as the options. *known: false: they leave open which. */
bool launch_model(struct launch_options *options, const struct architecture **model, bool *known,
                  struct error *err);

/* Checks what the files' software refuses at its start whatever the job is (data/software/NAME-rules.yaml). `devices`:
 * 0: open. */
bool launch_check(struct launch_options *options, int64_t devices, struct error *err);

/* Sets the defaults of the files' software for missing options. Without this call such a dimension stays open. */
void launch_complete(struct launch_options *options);

/* Sets all given options in *job. Given model sizes must equal the job's model, else ERROR_INFEASIBLE. The
 * data parallel degree is chosen to fit job->devices. stage_blocks lives as long as *options. */
bool launch_apply(struct launch_options *options, struct job *job, struct error *err);

/* Restricts a search over question->job.devices: given options are fixed, the others are searched. Sets
 * batch, sequence and type if given. A layout lives as long as *options. */
bool launch_fix(struct launch_options *options, struct job_question *question, struct error *err);

#endif
