/* A training job: a model, split over devices, and what an iteration of it takes.
 *
 * Closed formulas, no simulation: the forward and backward pass of the slowest stage, the pipeline's bubble, and
 * what of the transfers does not hide under them. docs/job.md says what is counted. */
#ifndef REHEARSE_PLAN_SPLIT_JOB_H
#define REHEARSE_PLAN_SPLIT_JOB_H

#include "core/error.h"
#include "cost/collective.h"
#include "cost/transformer.h"
#include "devices/architecture.h"
#include "devices/calibration.h"
#include "devices/device.h"
#include "devices/software.h"

#include <stdbool.h>
#include <stdint.h>

struct job {
    const struct architecture *model;
    const struct cost_device *device;
    const struct calibration *calibration;
    const struct software *software;
    const struct cost_link *inside, *across; /* links inside a node and between nodes */
    int devices, devices_per_node;
    int tensor, pipeline, data, context,
        expert;              /* parallel degrees; data: devices / (tensor x pipeline x context) */
    int chunks;              /* of an interleaved pipeline, per stage; 1: plain 1F1B */
    const int *stage_blocks; /* [pipeline] blocks of each stage; NULL: as even as can be, the last stage first
                                with fewer */
    int sharding;        /* ZeRO stage: 0 nothing, 1 optimizer states, 2 and gradients, 3 and parameters */
    int64_t microbatch;  /* sequences */
    int64_t batch;       /* sequences of an iteration, all ranks */
    int64_t sequence;    /* tokens */
    int64_t document;    /* tokens of the documents that sequences are packed from; 0: one document */
    enum cost_type type; /* of the matrix products */
    enum recompute recompute;
    bool frozen; /* LoRA: weights have no gradients; only small matrices beside them have */
};

/* Seconds of one iteration, and where they go: the parts add up to the whole. */
struct job_time {
    double seconds;
    double compute; /* forward, backward and recomputation of the slowest stage, all its micro-batches */
    double bubble;  /* the pipeline fills and drains */
    double tensor;  /* tensor, context and expert parallel transfers that do not hide */
    double send;    /* between stages */
    double data;    /* gradients, and shards of parameters */
    double optimizer;
    double other;
    double flops; /* of the model, forward and backward, without recomputation; of one device */
};

/* Seconds of layers on one device, one micro-batch. */
struct job_pass {
    double forward, backward; /* kernels */
    double recompute;
    double tensor; /* transfers that do not hide */
    double flops;
};

/* All of them: what a stage is busy with for a micro-batch. */
static inline double job_pass_seconds(const struct job_pass *pass)
{
    return pass->forward + pass->backward + pass->recompute + pass->tensor;
}

/* A layer on one device, one micro-batch. */
struct job_layer {
    struct job_pass pass;
    double parameters, experts; /* numbers of them; those of experts apart */
    double kept;                /* bytes for the backward pass, with the job's recomputation */
    double activations;         /* the same without recomputation */
    double working;             /* bytes beside them while it is computed, its largest matrix aside */
    double largest_matrix;      /* parameters of it */
    double gathered;            /* parameters of a block: those that are gathered together */
};

/* Blocks that are alike: of first..last - 1 all, or of each `every` the last one, or all but that. */
struct job_kind {
    int first, last, every;
    bool is_last;
    struct job_layer layer;
};

#define JOB_MAX_KINDS 6 /* encoder, dense and other blocks; each with full attention or a window */

/* What a job's layers take, whatever its data and pipeline parallel degrees, chunks, sharding and batch are: a search
 * over those prices the layers once. */
struct job_layers {
    int block_count, kind_count;
    struct job_kind kinds[JOB_MAX_KINDS];
    struct job_layer blocks; /* of all of them together; working, largest_matrix and gathered: the most */
    struct job_layer embedding, head;
    double send_inside,
        send_across; /* seconds from a stage to the next in the same node, or not; there and back */
    double sent;     /* bytes that a device sends to the next stage */
};

/* The transfers of an iteration that depend on what devices hold, not on what they compute: the same for any
 * micro-batch, recomputation and number of chunks. Seconds. */
struct job_exchange {
    double parameters, experts; /* numbers of parameters on a device of the fullest stage */
    double gradients;           /* all-reduced, or scattered and gathered, once */
    double scatter;             /* of those the reduce-scatter */
    double shards; /* all shards of a stage gathered twice and scattered once, a block at a time */
};

/* Share of the memory's bandwidth: long kernels that only stream, as an optimizer's. */
#define JOB_STREAM_RATE 0.8

/* Bytes on the fullest device. */
struct job_memory {
    double total;
    double parameters, gradients, optimizer;
    double activations; /* kept for the backward pass, of all micro-batches in flight */
    double working;     /* one block's, the loss's, gathered shards */
    double runtime;     /* context, communication buffers, fragmentation */
};

/* Degrees that multiply to the devices, a batch that splits evenly, heads and layers that divide. */
bool job_check(const struct job *job, struct error *err);

/* The same but for what published runs did all the same: batches whose rest is dropped, tables of positions made longer
 * than the model's, more stages than blocks. */
bool job_check_degrees(const struct job *job, struct error *err);

/* Micro-batches of one pipeline in an iteration. */
int64_t job_microbatches(const struct job *job);

/* How a layer of the job is cut. */
struct layer_split job_split(const struct job *job);

struct job_layers job_layers_of(const struct job *job);
struct job_exchange job_exchange_of(const struct job *job, const struct job_layers *layers);

/* Do so many blocks make so many chunks that are alike? The loss, or it and the embedding, may stand in the place of a block
 * (Megatron-Core: account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split). */
bool job_chunks_alike(int block_count, int chunks);

/* Blocks before a stage of the pipeline; `stage` may be job->pipeline. Unless they are given, stages differ by one
 * block at most, and those with one more are the ones behind the first. */
int job_stage_first(const struct job *job, int block_count, int stage);

int job_block_count(const struct job *job);
int job_stage_blocks(const struct job *job, int stage);

/* Blocks of a chunk; chunks are numbered in the order in which a micro-batch passes them: `chunk` is on stage
 * chunk % pipeline. Of a stage whose blocks do not divide, the first stage has fewer in its first chunks, where the
 * embedding is, and the last one in its last chunks, where the head is. */
int job_chunk_blocks(const struct job *job, int chunk);

/* May this stage be the slowest, or the fullest? Where all blocks are alike and spread evenly, those between the second
 * and the last are neither: none has more blocks than the second or holds more micro-batches. */
bool job_stage_tells(const struct job *job, const struct job_layers *layers, int stage);

/* What a stage of the blocks first..last - 1 takes, with what stands at its ends. */
struct job_layer job_stage(const struct job *job, const struct job_layers *layers, int stage, int first,
                           int last);

struct job_time job_time_of(const struct job *job, const struct job_layers *layers,
                            const struct job_exchange *exchange);
struct job_memory job_memory_of(const struct job *job, const struct job_layers *layers);
struct job_memory job_stage_memory(const struct job *job, const struct job_layers *layers, int stage,
                                   const struct job_layer *layer);

/* The same for a single job. */
struct job_time job_time(const struct job *job);
struct job_memory job_memory(const struct job *job);

#endif
