/* A training job: a model, split over devices, and the time of its iteration.
 *
 * Closed formulas, no simulation: the forward and backward pass of the slowest stage, the pipeline's bubble,
 * and the exposed communication. docs/job.md lists everything counted. */
#ifndef REHEARSE_PLAN_SPLIT_JOB_H
#define REHEARSE_PLAN_SPLIT_JOB_H

#include "cluster/cluster.h"
#include "core/error.h"
#include "core/json.h"
#include "cost/collective.h"
#include "cost/context.h"
#include "cost/experts.h"
#include "cost/kernel_memo.h"
#include "cost/transformer.h"
#include "devices/architecture.h"
#include "devices/calibration.h"
#include "devices/degrees.h"
#include "devices/device.h"
#include "devices/software.h"
#include "devices/technique.h"

#include <stdbool.h>
#include <stdint.h>

struct job {
    const struct architecture *model;
    const struct cost_device *device;
    const struct calibration *calibration;
    const struct software *software;
    const struct cost_link *inside, *across; /* links inside a node and between nodes */
    const struct cluster_network *network;   /* above the nodes; NULL: unknown */
    int devices, devices_per_node;
    struct degrees degrees;  /* data: devices / (tensor x pipeline x context) */
    int chunks;              /* of an interleaved pipeline, per stage; 1: plain 1F1B */
    const int *stage_blocks; /* [pipeline] blocks of each stage; NULL: even, with fewer in the last stages */
    int sharding;        /* ZeRO stage: 0 nothing, 1 optimizer states, 2 and gradients, 3 and parameters */
    int64_t microbatch;  /* sequences */
    int64_t batch;       /* sequences per iteration, over all ranks */
    int64_t sequence;    /* tokens */
    int64_t document;    /* tokens per document packed into a sequence; 0: one document */
    enum cost_type type; /* of the matrix products */
    enum recompute recompute;
    struct technique technique; /* 0: as the software does it */
    int rounds;                 /* times that the pipeline fills in an iteration; 0: once */
    bool in_turn;               /* experts are given tokens in turn, not by a gate (expert_places_in_turn) */
};

/* Puts the job on the devices of a resolved group. */
static inline void job_set_group(struct job *job, const struct cluster_group *group)
{
    job->device = group->type;
    job->calibration = group->calibration;
    job->inside = group->inside;
    job->across = group->across;
    job->devices_per_node = group->nodes.devices;
    job->network = group->network;
}

/* Seconds of one iteration; the parts add up to the whole. */
struct job_time {
    double seconds;
    double compute; /* forward, backward and recomputation of the slowest stage, all its micro-batches */
    double bubble;  /* fill and drain of the pipeline */
    double tensor;  /* exposed tensor, context and expert parallel communication */
    double send;    /* between stages */
    double data;    /* gradients, and shards of parameters */
    double optimizer;
    double other;
    double flops; /* of the model, forward and backward, without recomputation; per device */
};

/* Seconds of layers on one device, one micro-batch. */
struct job_pass {
    double forward, backward; /* kernels */
    double recompute;
    double tensor; /* exposed communication */
    double flops;
    double weight; /* of `backward`: gradients of weights */
    double ahead;  /* of all communication: that of the forward pass */
    double host;   /* of `backward`: waiting for the host */
    double hidden; /* communication that the kernels of another micro-batch hide in the steady state */
};

/* Returns the seconds that a stage is busy per micro-batch. */
static inline double job_pass_seconds(const struct job_pass *pass)
{
    return pass->forward + pass->backward + pass->recompute + pass->tensor;
}

/* Returns the same where no other micro-batch is there, as while a pipeline fills and drains. */
static inline double job_pass_alone(const struct job_pass *pass)
{
    return job_pass_seconds(pass) + pass->hidden;
}

/* A layer on one device, one micro-batch. */
struct job_layer {
    struct job_pass pass;
    double parameters, experts; /* numbers of parameters, without and of experts */
    double ends;                /* of these, embedding's and head's */
    double adapters;            /* of LoRA's matrices, beside these */
    struct layer_low low, expert_low;
    double kept;           /* bytes for the backward pass, with the job's recomputation */
    double activations;    /* the same without recomputation */
    double working;        /* further bytes while it is computed, without its largest matrix */
    double largest_matrix; /* parameters of the largest matrix */
    double blocks;         /* number of blocks in it */
    double gathered;       /* parameters of a block, which are gathered together, */
    double gathered_alone; /* and without its experts */
};

/* Identical blocks out of first..last - 1: all, the last of each `every`, counted from `from`, or all others; and of
 * these likewise by `experts_every`. 0: all. With a `pattern`: those of its letters. */
struct job_kind {
    int first, last, from, every;
    bool is_last;
    int experts_every;
    bool has_experts; /* the last of each experts_every */
    const struct architecture *pattern;
    char mixer, mlp;
    int period;        /* blocks of the pattern; 0 if they are more than JOB_PATTERN */
    int each;          /* how many of them are of this kind */
    uint64_t alike[2]; /* by bits: which */
    struct job_layer layer;
    struct job_layer again; /* recomputed as a whole, where full recomputation covers only some blocks */
};

/* encoder, dense and other blocks, each with full attention or a window; the others with or without experts; or those of
 * a tower and six pairs of letters */
#define JOB_MAX_KINDS 8
#define JOB_PATTERN   128

/* The costs of a job's layers, which do not depend on data and pipeline degrees, chunks, sharding and batch:
 * a search over those prices the layers once. */
struct job_layers {
    int block_count, kind_count;
    struct job_kind kinds[JOB_MAX_KINDS];
    struct job_layer blocks; /* sum of all blocks; working, largest_matrix and gathered: the maximum */
    struct job_pass again;   /* of all blocks, each recomputed as a whole if some are */
    struct job_layer embedding, head;
    struct job_layer further;        /* blocks and heads that predict further tokens: of the last stage */
    double send_inside, send_across; /* seconds to the next stage in the same or another node, and back */
    double sent;                     /* bytes that a device sends to the next stage */
};

/* Seconds of the iteration's transfers of held parameters and gradients: the same for any micro-batch,
 * recomputation and number of chunks. */
struct job_exchange {
    double parameters, experts;      /* numbers of parameters on a device of the fullest stage, */
    double trained, trained_experts; /* and those that have gradients */
    struct layer_low low;            /* of both */
    double
        gradients; /* one all-reduce, or one reduce-scatter and all-gather: the share that is exposed at least */
    double scatter; /* the reduce-scatter's part */
    double shards;  /* a stage's shards, gathered twice or once and scattered once, block by block, */
    double
        expert_shards; /* and those of experts that fewer ranks share: between nodes, so that kernels do not wait */
};

/* Bytes of a parameter; from `trained` on, of one that has a gradient. */
struct job_formats {
    double parameter; /* in memory */
    double gathered;  /* on the wire, when shards are gathered */
    double trained;   /* in memory */
    double gradient;  /* in memory */
    double wire;      /* of its gradient, when it is exchanged */
    double state;     /* of the optimizer */
    double step;      /* that a step of the optimizer reads and writes */
    double added;     /* that the accumulation of a gradient reads and writes */
};
struct job_formats job_formats_of(const struct job *job);

/* Returns whether weights are frozen: LoRA's matrices beside them have gradients, and embedding and head if `ends` says
 * so. */
static inline bool job_is_frozen(const struct job *job)
{
    return job->technique.rank > 0;
}

/* Returns the rank of the optimizer's moments; 0: they are as large as the matrices. */
static inline int job_low_rank(const struct job *job)
{
    bool low = job->technique.optimizer == OPTIMIZER_GALORE || job->technique.optimizer == OPTIMIZER_APOLLO;
    return !low ? 0 : job->technique.optimizer_rank > 0 ? job->technique.optimizer_rank : 128;
}

/* Returns the states' bytes that a layer's moments of low rank save, without and of experts. */
double job_low_bytes(const struct job *job, const struct layer_low *low);

/* Returns the exposed share of the exchange of gradients, and of parameters that ranks updated. */
double job_data_shown(const struct job *job);

/* Returns the seconds of an exchange that no kernel hides: `seconds` are the share of it that shows beside many
 * kernels, and kernels of `compute` seconds hide no more than that. */
double job_exposed(double seconds, double shown, double compute);

/* Returns whether a job gathers its shards once in an iteration, and scatters their gradients once. */
bool job_keeps_gathered(const struct job *job);

/* Returns the seconds that kernels lose beside a second of gathering or scattering shards. */
double job_slow_shards(const struct job *job);

/* Returns the ranks that share states, gradients and parameters, without and of experts. */
double job_shard_ranks(const struct job *job);
double job_expert_shard_ranks(const struct job *job);

/* Returns the seconds of the optimizer's step on the host, of `parameters` of which it holds its share. */
double job_offload_seconds(const struct job *job, double parameters);

/* Returns the share of a stage's blocks whose activations wait on the host. */
double job_offload_share(const struct job *job, double blocks);

/* Returns the seconds that the transfer of `kept` bytes to the host, or back, takes longer than the work of the block
 * that hides it. */
double job_offload_shown(const struct job *job, double kept, double seconds);

/* Share of the memory bandwidth reached by long streaming kernels such as an optimizer's. */
#define JOB_STREAM_RATE 0.8

/* Bytes on the fullest device. */
struct job_memory {
    double total;
    double parameters, gradients, optimizer;
    double activations; /* kept for the backward pass, of all micro-batches in flight */
    double working;     /* of one block, the loss, and gathered shards */
    double runtime;     /* context, communication buffers, fragmentation */
};

/* The terms that add up to it, with their formulas, and those beside it. Terms below 0 save. */
#define JOB_MEMORY_TERMS  32
#define JOB_MEMORY_BESIDE "beside"
struct job_memory_terms {
    int stage, count; /* the fullest stage, from 0 */
    struct job_memory_term {
        const char *part, *name, *when; /* part: a member of struct job_memory, or JOB_MEMORY_BESIDE */
        double bytes;
        char formula[80];
    } items[JOB_MEMORY_TERMS];
};

/* Checks that the degrees multiply to the devices, the batch splits evenly, and heads and layers divide. */
bool job_check(const struct job *job, struct error *err);

/* The same, but allows deviations of published runs: dropped rests of batches, longer position tables, more
 * stages than blocks. */
bool job_check_degrees(const struct job *job, struct error *err);

int64_t job_microbatches(const struct job *job);

struct layer_split job_split(const struct job *job);

struct job_layers job_layers_of(const struct job *job);

/* The same for `count` jobs that differ in nothing but recomputation and overlaps; layers[count]. `memo`: of their
 * device, or NULL. */
void job_layers_each(const struct job *jobs, int count, struct kernel_memo *memo, struct job_layers *layers);

/* Returns the parameters of a layer, without its experts, that have gradients. */
double job_trained(const struct job *job, const struct job_layer *layer);

struct job_exchange job_exchange_of(const struct job *job, const struct job_layers *layers);

/* Returns how many of the first `end` blocks are of a kind. */
int job_kind_before(const struct job_kind *kind, int end);

/* Returns how many blocks of a kind in first..last - 1, a stage's, full recomputation covers. */
int job_again_count(const struct job *job, const struct job_kind *kind, int first, int last);

/* Returns the share of all blocks that it covers where it covers some; else 1. */
double job_again_share(const struct job *job, int block_count);

/* Returns the kernels, or operations of the framework as short, that the host launches for a layer, forward and
 * backward; 0 of embedding and head. */
double job_launches(const struct job *job, const struct layer_work *work);

/* Returns the parts of a block that recomputation of a set of modules runs again, each by itself. */
int job_parts_again(const struct job *job, const struct layer_work *work, unsigned modules);

/* Returns the transfers that selective recomputation of a block repeats. */
void job_again_transfers(const struct job *job, const struct layer_work *work, int *reduces, int *exchanges);

/* Transfers of a layer, one micro-batch: the formulas and the list of a plan's transfers count the same. */
struct job_moved {
    double reduce;                  /* one tensor parallel all-reduce */
    double reduce_shown;            /* its exposed share */
    struct expert_seconds experts;  /* each way, with the collectives inside of split experts */
    struct context_seconds context; /* of the whole layer */
    enum collective_kind context_kind;
};

/* `attention`: seconds of its kernels, forward and backward. */
struct job_moved job_moved_of(const struct job *job, const struct layer_work *work,
                              const double attention[2]);

/* Returns the tokens of the busiest device of experts, of the mean. */
static inline double job_imbalance(const struct job *job)
{
    return job->technique.imbalance > 100 ? job->technique.imbalance / 100.0 : 1.0;
}

/* Returns how the job's tokens go to their experts, and how its context parallel ranks exchange keys and values. */
enum dispatcher job_dispatcher(const struct job *job);
enum context_kind job_context_kind(const struct job *job);

/* Returns the ranks between which a2a+p2p exchanges heads. */
int job_context_neighbours(const struct job *job);

/* Returns which kernels of another micro-batch run beside the exchanges of experts. */
enum expert_overlap job_overlap(const struct job *job);

/* Sets the fastest dispatcher, and the fastest exchange of keys and values, of those that the software has: they change
 * nothing but seconds, so that no other one can be better. `memo`: see job_layers_each. */
void job_choose_transfers(struct job *job, struct kernel_memo *memo, bool dispatch, bool context);

/* ---- schedules without a formula (schedules.c) ---- */

/* Returns whether the job's schedule is made and timed, not priced by a formula. */
bool job_is_timed(const struct job *job);

/* Returns whether devices hold two stages: of two chains (DualPipe), or of one that is folded (ZB-V, DualPipeV). */
bool job_is_double(const struct job *job);
bool job_is_folded(const struct job *job);

/* Returns whether a device's forward and backward passes overlap in pairs. */
bool job_has_pairs(const struct job *job);

/* Returns how many stages a micro-batch goes through: 2 x pipeline where the chain is folded, else one for each device
 * of the pipeline, whose chunks count as one stage. */
int job_depth(const struct job *job);

/* Returns the other stage of the device that holds `stage`, of a job of either kind. */
struct job_layer job_other_stage(const struct job *job, const struct job_layers *layers, int stage);

/* Returns what a micro-batch takes on the device of a stage, in the mean. */
struct job_pass job_device_pass(const struct job *job, const struct job_layers *layers, int stage);

/* Returns whether the schedule takes the job's stages and micro-batches. */
bool job_schedule_allowed(const struct job *job);

/* Returns the name of the job's schedule in schedule/schedule.h; finds one by that name. */
const char *job_schedule_name(const struct job *job);
bool job_schedule_find(const char *name, enum pipeline_schedule *schedule);

/* Returns seconds that all passes take at least: a device begins when the first micro-batch has come through the stages
 * before its own. */
double job_makespan_floor(const struct job *job, const struct job_layers *layers);

/* Returns the seconds of all passes; NAN: out of memory. */
double job_makespan(const struct job *job, const struct job_layers *layers);

/* Returns the number of devices that hold the same parameters, without and of experts. */
int job_copies(const struct job *job);
int job_expert_copies(const struct job *job);

/* Returns the group of `devices` ranks whose neighbours are `apart` ranks apart: tensor parallel ranks are
 * adjacent, data parallel ranks tensor x context apart, as Megatron-LM lays them out. */
struct collective_group job_group(const struct job *job, int devices, int apart);

double job_transfer(const struct job *job, enum collective_kind kind, int devices, int apart, double bytes);

/* The same of an iteration's gradients, whose large messages no kernel waits for. */
double job_gradient_transfer(const struct job *job, enum collective_kind kind, int devices, int apart,
                             double bytes);

/* Returns whether the blocks make equal chunks. The loss, or loss and embedding, may take the place of a
 * block (Megatron-Core: account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split). */
bool job_chunks_alike(int block_count, int chunks);

/* Returns the number of blocks before a stage; `stage` may be job_depth(job). Without a given layout stages
 * differ by at most one block, and the larger ones follow the first. */
int job_stage_first(const struct job *job, int block_count, int stage);

int job_block_count(const struct job *job);
int job_stage_blocks(const struct job *job, int stage);

/* Returns the blocks of a chunk. Chunks are numbered in a micro-batch's order: `chunk` is on stage chunk %
 * pipeline. If blocks do not divide, the first stage has fewer in its first chunks, with the embedding, and
 * the last one in its last chunks, with the head. */
int job_chunk_blocks(const struct job *job, int chunk);

/* Returns whether this stage may be the slowest or the fullest. With equal, evenly spread blocks no stage
 * between the second and the last is: it has no more blocks or micro-batches than the second. */
bool job_stage_tells(const struct job *job, const struct job_layers *layers, int stage);

/* Returns the costs of a stage with blocks first..last - 1 and any embedding or head. */
struct job_layer job_stage(const struct job *job, const struct job_layers *layers, int stage, int first,
                           int last);

/* Blocks first..last - 1 of a job, and the ends of the model: a chunk of a stage. */
struct job_part {
    int first, last;
    bool embedding, head;
};

/* Returns the costs of a part. */
struct job_layer job_part_layer(const struct job *job, const struct job_layers *layers,
                                const struct job_part *part);

struct job_time job_time_of(const struct job *job, const struct job_layers *layers,
                            const struct job_exchange *exchange);
/* Returns seconds that the job takes at least: where its schedule is timed, with a floor of the bubble. */
double job_time_floor(const struct job *job, const struct job_layers *layers,
                      const struct job_exchange *exchange);
/* Returns seconds that exchanges of gradients and the optimizer take at least. */
double job_rest_floor(const struct job *job, const struct job_exchange *exchange);

/* Returns whether the next stage is in the same node. */
static inline bool job_sends_inside(const struct job *job)
{
    return job->devices_per_node / (job->degrees.tensor * job->degrees.context * job->degrees.data) >= 2;
}
struct job_memory job_memory_of(const struct job *job, const struct job_layers *layers);
/* Returns bytes that the fullest device holds at least, whatever the blocks of its stages are. `kept`: bytes of
 * activations of one micro-batch, of all layers. */
double job_memory_floor(const struct job *job, const struct job_layers *layers, double kept);
struct job_memory job_stage_memory(const struct job *job, const struct job_layers *layers, int stage,
                                   const struct job_layer *layer);

/* What a device holds beside tensors (beside.c): its context, and the buffers of communicators. */
#define JOB_COMMUNICATORS 6
struct job_beside {
    double context;
    int count;
    struct job_communicator {
        const char *name;
        int devices;
        double bytes;
    } items[JOB_COMMUNICATORS];
};

/* Returns the sum of these. */
double job_beside(const struct job *job, struct job_beside *parts);

/* cuBLAS's workspace, and cuBLASLt's or Transformer Engine's beside it. */
#define JOB_WORKSPACES 2.0

/* Returns workspaces, what a software's share of the memory stands for, and of the above what the software prints. */
double job_runtime(const struct job *job);

/* Returns the bytes of a device that a job needs: what its software prints, and what that leaves out. */
double job_needed(const struct job *job, double printed);

/* Sets the terms of the fullest device. */
void job_memory_explain(const struct job *job, struct job_memory_terms *terms);
void job_memory_print(const struct job *job, struct text *out);
void job_memory_write(const struct job *job, struct json *json); /* as a list "memory_terms" */

/* The same for a single job. */
struct job_time job_time(const struct job *job);
struct job_memory job_memory(const struct job *job);

/* ---- the question: allowed degrees and other dimensions of a job ---- */

enum job_dimension {
    JOB_TENSOR,
    JOB_PIPELINE,
    JOB_DATA,
    JOB_CONTEXT,
    JOB_EXPERT,
    JOB_MICROBATCH,
    JOB_CHUNKS,
    JOB_SHARDING,
    JOB_RECOMPUTE,
    JOB_TECHNIQUE, /* + enum technique_kind */
    JOB_DIMENSIONS = JOB_TECHNIQUE + TECHNIQUE_COUNT
};

/* "tp", "pp", "dp", "cp", "ep", "mbs", "vp", "zero", "recompute", as launch scripts abbreviate them, and techniques by
 * their names. */
const char *job_dimension_name(enum job_dimension dimension);
int64_t job_dimension_value(const struct job *job, enum job_dimension dimension);

/* Sets a degree, micro-batch, number of chunks or ZeRO stage. */
void job_dimension_set(struct job *job, enum job_dimension dimension, int64_t value);

/* Appends a value as `--fix` takes it: "8", "full", "core_attn+mlp"; a technique that is the software's own is "usual".
 * Is it a number, or words? */
void job_dimension_write(struct text *out, enum job_dimension dimension, int64_t value);
bool job_dimension_is_number(enum job_dimension dimension);

struct job_range {
    int64_t min, max;
    bool given; /* false: everything that the software supports */
};

struct job_question {
    struct job job; /* its degrees, micro-batch, chunks, sharding, recomputation and layout are ignored */
    struct job_range ranges[JOB_DIMENSIONS];
    unsigned choices[TECHNIQUE_COUNT]; /* values to choose from, by bits; 0: as the range says */
    const int *stage_blocks;           /* a given layout of stage_count stages; NULL: the best one */
    int stage_count;
    double headroom; /* share of the memory kept free: below 1; negative to exceed it */
};

#endif
