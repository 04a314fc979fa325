/* A plan as numbers to play: pipelines with an order of passes, and the costs of each stage in it. Private to
 * sim/play. */
#ifndef REHEARSE_SIM_PLAY_MODEL_H
#define REHEARSE_SIM_PLAY_MODEL_H

#include "devices/degrees.h"
#include "schedule/schedule.h"
#include "sim/play.h"

/* A stage of the schedule: a stage of the plan, or a part of a device's. Seconds of one micro-batch. */
struct play_stage {
    int of;                         /* a stage of the plan's pipeline whose layers it has, for names */
    bool alone;                     /* else it has as much of each further chunk on the same devices */
    double share;                   /* of these stages */
    double forward;                 /* kernels alone */
    double input;                   /* of the backward pass: gradient of the input, */
    double weight;                  /* and of the weights */
    double recompute;               /* before the backward pass */
    double moved[2][PLAN_PURPOSES]; /* exposed collectives of the forward and the backward pass */
    double send[2];                 /* to the stage after, and to the stage before */
    int link[2];                    /* of these; -1: unknown */
    double kept;                    /* bytes of activations */
};

/* A device of a pipeline, which holds one or several stages. */
struct play_device {
    int type;
    struct layer_range layers; /* of its first stage; others are asked by stage */
    int64_t members;
    double gradients; /* exposed seconds of their exchange, after the last pass */
    int gradients_link;
    double optimizer;
    struct sim_memory state; /* without activations */
    double total;            /* bytes that the plan says */
    double in_flight;        /* of that, micro-batches */
};

struct play_pipeline {
    const struct plan_pipeline *from;
    struct schedule_shape shape;
    struct pass_order order;
    struct play_stage *stages;   /* order.stages */
    struct pass_cost *costs;     /* the same for schedule/timing.h */
    struct play_device *devices; /* order.devices */
    int first_device;            /* rank among the result's devices */
};

/* Changes to a plan for a further play. */
struct play_change {
    int faster_type, faster_link; /* -1: none */
    double more;                  /* share */
    const double *link_speeds;    /* of the options */
    bool no_sends, no_gradients, no_pairs;
};

#define PLAY_NO_CHANGE ((struct play_change){.faster_type = -1, .faster_link = -1})

/* Iterations that are played one after the other, by layers, with the work of hosts (host.h). */
struct play_host {
    int iterations;
    bool loads;
    int64_t save_every; /* a save follows iterations 0, save_every, … but not the last one; 0: none */
    double written;     /* share of a checkpoint's bytes that is written */
};

#define PLAY_ALONE ((struct play_host){.iterations = 1, .written = 1.0})

/* How a plan with sharded parameters gathers them. */
struct play_shards {
    int prefetch;
    enum sim_reshard reshard; /* not as planned: what the plan says */
    double share;             /* of a device, taken from kernels beside it */
};

struct play_model {
    struct arena *arena;
    const struct plan *plan;
    const struct sim_options *options;
    const struct schedule *schedule;
    struct schedule given; /* the schedule where the order is given: no more than a name */
    bool layers;           /* played by layers */
    bool send_blocks, receive_blocks, post_validate, barrier;
    double other;              /* seconds of an iteration */
    struct play_change change; /* that the prices have */
    struct play_shards shards;
    struct play_host host; /* that is played next */
    double host_seconds;   /* of an iteration, that the last play of hosts added to it */
    double shaken; /* seconds that jitter added to the run that is explained, which is played without it */
    double slowed; /* seconds that --straggler added to it */
    int pipeline_count;
    struct play_pipeline *pipelines;
};

/* Prices a training job whose model and devices are built in, in place. Other plans are left as they are: their checks
 * name what is missing. */
bool play_price(struct plan *plan, struct error *err);

/* Makes the numbers; the caller ends them with play_model_release, also after a failure. */
bool play_model_make(struct play_model *model, const struct plan *plan, const struct sim_options *options,
                     struct arena *arena, struct error *err);
void play_model_release(struct play_model *model);

/* Returns false, with an error that names the number, if seconds or bytes of a stage are missing or cannot be. */
bool play_check_stage(const struct plan *plan, int p, int s, struct error *err);

/* Sets the costs of passes of all pipelines. */
void play_model_price(struct play_model *model, const struct play_change *change);

/* Returns the share of the shorter pass that a pair of a stage's passes hides. */
double play_hidden_share(const struct play_stage *stage, const struct pass_cost *cost);

/* Returns the seconds that a pair of passes, of which `pass` is the first, takes less than both alone. */
double play_hidden_seconds(const struct play_pipeline *pipeline, const struct pass *pass);

/* Returns the next stage of the plan, after `stage`, that a stage of the schedule has a share of; stage_count or more:
 * none. */
static inline int play_next_stage(const struct plan *plan, const struct plan_pipeline *from,
                                  const struct play_stage *own, int stage)
{
    return own->alone ? from->stage_count : plan_next_chunk(plan, from, stage);
}

/* Returns the seconds of a transfer of the plan: its own, or those that its bytes and its link suggest; 0: unknown. */
double play_transfer_seconds(const struct plan *plan, const struct plan_transfer *transfer,
                             const struct play_change *change);

/* Returns the factor of a link's bandwidth. */
double play_link_speed(int link, const struct play_change *change);

struct timing_options play_timing(const struct play_model *model, const struct play_pipeline *pipeline);

/* Plays all pipelines by passes. With `keep` the result has devices, memory, path and by-cause figures; else only
 * `seconds` and `makespan` are set. */
/* Sets the mean bubble, the slowest and the fullest device from all devices of a result. */
void play_summarise(struct sim_result *result);

/* Gives the sink what the host does at an iteration's end, on a device; begin: of that. */
bool play_show_other(const struct play_model *model, int device, double begin, int64_t id, struct error *err);

bool play_passes(const struct play_model *model, bool keep, struct sim_result *result, struct error *err);

#endif
