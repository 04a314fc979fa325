/* Iteration time of a training plan whose stages run on devices of several kinds.
 *
 * A plan cuts a model's layers into stages; each stage has one replica per pipeline, and a replica is a group
 * of tensor parallel devices of one type in one node. Replicas of a stage may differ in device type and
 * degree. Closed formulas, no simulation and no allocation: docs/mixed.md lists the terms and their sources.
 *
 * Layer times come from the caller, measured or predicted, as sums (struct mixed_times). */
#ifndef REHEARSE_EVIDENCE_MIXED_H
#define REHEARSE_EVIDENCE_MIXED_H

#include "cluster/cluster.h"
#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

#define MIXED_MAX_NODES     4096
#define MIXED_MAX_PIPELINES 1024
#define MIXED_MAX_STAGES    1024

struct mixed_node {
    struct cluster_link inside;  /* as one device sees it */
    struct cluster_link network; /* of all its devices together */
};

/* Times and bytes of the layers on a device type at a tensor parallel degree, for one micro-batch of the plan. Sums: entry l
 * is that of the layers before l, so that a stage is one subtraction. */
struct mixed_times {
    const double *seconds; /* [layer_count + 1] forward and backward */
    const double *launch;  /* [layer_count + 1] of those, host time in which nothing runs; NULL: not known */
    const double *update;  /* [layer_count + 1] optimizer; NULL: not known, taken as 0 */
    const double *activations; /* [layer_count + 1] bytes kept on each device; NULL: not known, taken as 0 */
};

/* Values equal on every device. */
struct mixed_model {
    int layer_count;
    const double *parameters; /* [layer_count + 1] sums, as above */
    const double
        *outputs; /* [layer_count] bytes of one micro-batch that go to the next layer, of all ranks */
    double tied;  /* parameters that the first and the last stage both hold; 0: none */
};

struct mixed_software {
    double gradient_bytes; /* of a parameter, in the all-reduce between replicas */
    double tied_bytes;     /* in the one between the first and the last stage */
    double state_bytes;    /* of a parameter, in memory: itself, gradient, optimizer */
    double runtime_bytes;  /* of a device's memory: context, buffers of communication and reduction */
    double buffer_bytes;   /* messages up to this size leave their sender free to go on */
    double stage_seconds;  /* of each stage and micro-batch beside its layers */
    double step_seconds;   /* of each iteration beside everything else */
};

struct mixed_replica {
    const struct mixed_times *times;
    int tensor; /* devices */
    int node;   /* where they are */
};

struct mixed_plan {
    const struct mixed_model *model;
    const struct mixed_software *software;
    const struct mixed_node *nodes;
    int node_count;
    int stages, pipelines;
    const int *first; /* [stages + 1] first layer of each stage; the last entry: layer_count */
    const struct mixed_replica *replicas; /* [stages * pipelines]: stage after stage */
    const int64_t *microbatches;          /* [pipelines] of each pipeline in an iteration */
};

/* Seconds of one iteration; the parts add up to the total. */
struct mixed_time {
    double seconds;
    double compute;   /* of the stage that limits the slowest pipeline, all its micro-batches */
    double send;      /* of the same stage: waiting for its neighbours' activations and gradients */
    double bubble;    /* the pipeline fills and drains */
    double gradients; /* all-reduces between replicas */
    double tied;      /* all-reduce between the first and the last stage */
    double optimizer;
    double other;
    int pipeline, stage; /* the slowest */
    bool
        launch_bound; /* on tensor parallel devices of a pipeline with several stages, kernels are shorter than
                            launching them takes: the waiting there is not modelled, seconds is a lower bound */
};

/* Checks the order of layers, that nodes exist, and limits. */
bool mixed_check(const struct mixed_plan *plan, struct error *err);

/* Requires a plan that mixed_check accepts, as do the following. */
struct mixed_time mixed_time(const struct mixed_plan *plan);

/* Bytes on each device of a replica: parameters, gradients, optimizer, activations of the micro-batches in flight. */
double mixed_memory(const struct mixed_plan *plan, int stage, int pipeline);

/* Fills `sums`, of layer_count + 1 entries, from forward times of single samples, each run alone: `launch` of a layer's
 * seconds is host time, which a training step takes once per micro-batch, and the rest is kernels, of which the backward
 * pass has twice as many and which grow with the micro-batch. `launches` may be NULL. */
void mixed_sums_of_forward(const double *forward, const double *launch, int layer_count, int64_t microbatch,
                           double *sums, double *launches);

#endif
