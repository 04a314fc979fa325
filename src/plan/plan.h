/* A plan: one document for a pipeline, a training job, DAPPLE's hybrid, unlike pipelines, and a template.
 *
 * It holds everything by value, so it can be scored, drawn, emitted and played without its input files.
 * Planners fill it in (plan_of_pipeline, plan_of_dapple, plan_of_job, plan_of_fleet), plan_load reads it,
 * plan_write_json writes it: rehearse-plan/2, docs/schema/plan-2.json. Unknown numbers are NAN (null in
 * JSON).
 *
 * Seconds are per micro-batch on one device and bytes per device, unless stated otherwise. */
#ifndef REHEARSE_PLAN_PLAN_H
#define REHEARSE_PLAN_PLAN_H

#include "cluster/network.h"
#include "core/arena.h"
#include "core/doc.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "devices/degrees.h"
#include "devices/link.h"
#include "devices/technique.h"

#include <stdbool.h>
#include <stdint.h>

#define PLAN_FORMAT "rehearse-plan/2"

#define PLAN_MAX_TYPES        64
#define PLAN_MAX_LINKS        256
#define PLAN_MAX_PIPELINES    4096
#define PLAN_MAX_STAGES       100000 /* of one pipeline, chunks counted */
#define PLAN_MAX_RUNS         100000 /* of devices, of one stage */
#define PLAN_MAX_ALTERNATIVES 10000
#define PLAN_MAX_PARTS        16
#define PLAN_MAX_TRANSFERS    256 /* of one stage */
#define PLAN_MAX_FIGURES      64
#define PLAN_MAX_LAYERS       1000000
#define PLAN_MAX_DEVICES      (1 << 24)

struct plan_link {
    const char *name;
    double bandwidth; /* bytes/s of one device */
    double latency;   /* seconds */
    int shared_by; /* devices that have this bandwidth together, as behind an oversubscribed switch; 1: none */
};

/* A group of identical nodes. Nodes are numbered across all groups, in order. */
struct plan_device_type {
    const char *name;
    struct equal_nodes nodes;
    int inside, across; /* links within a node and between nodes; -1: unknown */
    /* of plans over several types; NULL: unknown */
    const char *products; /* type of its matrix products, where the plan's precision leaves it open */
    const char *like;     /* the device that was measured in its place; NULL: itself, or unknown */
};

/* Devices first..first + count - 1 of each of `nodes` nodes, from `node` on. */
struct plan_run {
    int node, nodes, first, count;
};

/* They add up to the time that a stage is busy; gradients and optimizer come once, after all
 * micro-batches. */
struct plan_seconds {
    double forward, backward;
    double backward_weight; /* the part of `backward` that computes gradients of weights */
    double recompute;
    double collectives; /* exposed communication of tensor, context and expert parallelism */
    double send;        /* exposed transfers to the next stage and of the gradient back */
    double gradients;   /* exposed part of their exchange; per iteration */
    double optimizer;   /* of an iteration */
};

struct plan_bytes {
    double parameters, gradients, optimizer;
    double activations; /* kept for the backward pass of one micro-batch */
    double in_flight;   /* micro-batches whose activations are kept at once */
    double working;     /* buffers, and memory of the runtime */
    double sent;        /* to the next stage, for one micro-batch */
    double total;
};

/* The use of a transfer. */
enum plan_purpose {
    PURPOSE_STAGE, /* activations to the next stage, or their gradients to the one before */
    PURPOSE_TENSOR,
    PURPOSE_CONTEXT,
    PURPOSE_EXPERT,
    PURPOSE_SHARDS,    /* parameters gathered, and gradients scattered, in every micro-batch (ZeRO-3, FSDP) */
    PURPOSE_GRADIENTS, /* between data parallel copies */
    PURPOSE_EXPERT_GRADIENTS,
    PURPOSE_TIE,  /* gradients of an embedding that first and last stage share */
    PURPOSE_NORM, /* of the gradients of all stages */
    PLAN_PURPOSES
};

enum plan_when { WHEN_FORWARD, WHEN_BACKWARD, WHEN_AFTER, PLAN_WHENS };

/* Equal collectives or messages of a stage, as its planner priced them. Those of forward and backward passes are of one
 * micro-batch, those after all passes of an iteration. */
struct plan_transfer {
    enum collective_kind kind;
    enum plan_purpose purpose;
    enum plan_when when;
    int group;      /* devices that take part */
    int per_node;   /* of these in one node */
    int link;       /* the slowest link on the way; -1: unknown */
    double count;   /* of equal ones: on average, where micro-batches differ */
    double bytes;   /* of one, as cost/collective.h counts them for its kind */
    double seconds; /* of one, on links without other traffic */
    double shown;   /* share that the formula does not hide behind computation */
};

struct plan_stage {
    struct layer_range layers;
    int chunk; /* of an interleaved schedule; stages are listed in the order that a micro-batch takes */
    int type;  /* device type: index into device_types */
    struct degrees degrees; /* each copy runs on tensor x context x data devices; pipeline: 1 */
    int run_count;
    struct plan_run *runs; /* of all copies, copy by copy; NULL: unknown */
    struct plan_seconds seconds;
    struct plan_bytes bytes;
    int transfer_count, transfer_room;
    struct plan_transfer *transfers; /* NULL: unknown */
    int line;                        /* in the input file; 0: none */
};

/* Copies share the work evenly: each runs `microbatches` of an iteration. */
struct plan_pipeline {
    int copies;
    int64_t microbatches; /* of each copy */
    int stage_count;
    struct plan_stage *stages;
    int line;
};

/* A named number: a part of the iteration, or a figure of the search. */
struct plan_figure {
    const char *name;
    double value;
};

/* Another plan considered by the search: a row of a table. */
struct plan_alternative {
    double iteration_time;
    int devices, chunks, sharding;
    struct degrees degrees;
    int64_t microbatch, microbatches;
    const char *recompute;
    double memory;      /* bytes of the fullest device */
    double utilisation; /* share of the devices' peak; NAN: unknown */
    bool on_front;      /* no other plan is better in time, memory and devices at once */
    int part_count;
    struct plan_figure parts[PLAN_MAX_PARTS];
};

/* The iteration time with more of a resource. Over several types also without one of them, and with another setting. */
struct plan_sensitivity {
    const char *resource;
    double more; /* share; NAN: unlimited; -1: it was taken away; 0: a setting */
    double iteration_time;
    bool split_differs;
};

/* Another plan over several types: other devices work, or with other settings. */
struct plan_fleet {
    double iteration_time;
    const int *works;   /* [type_count] devices of each type that work */
    const char *way;    /* "jobs": of their own on the types, "pipelines": over them */
    int pipelines;      /* all copies */
    int64_t microbatch; /* samples */
    int sharding;       /* ZeRO stage */
    const char *recompute;
    double memory; /* bytes of the fullest device */
};

/* Devices of a type that do not help. */
struct plan_idle {
    int type, devices;
    double with_one;    /* seconds of the best plan found that uses one of them; NAN: none is known */
    const char *reason; /* for people */
};

/* Of a whole training, see plan/budget.h; NAN: not known. */
struct plan_budget {
    double tokens; /* 0: not asked for */
    double seconds, device_hours;
    double dollars, dollars_per_hour, dollars_per_million_tokens;
    double watt_hours,
        watt_hours_computing; /* at the boards' limits for the whole time, and while they compute */
};

/* An iteration on a storage that was measured, see plan/storage.h; NAN: not known. */
struct plan_storage {
    const char *workload, *verdict, *limit; /* limit: the longest of compute, load_seconds and checkpoints */
    double accelerators, samples_per_second, sample_bytes, load_seconds;
    double save_rate, save_every, checkpoint_bytes;
    double seconds, compute, loading, checkpoints; /* parts of an iteration; seconds 0: not asked for */
};

/* Of the measured time, by similar measured runs. */
struct plan_interval {
    double low, high;  /* seconds, of 80 %; NAN: unknown */
    bool extrapolates; /* there is no similar measured run */
    /* the same if it were like measured runs, and if nothing were known of its kind; not of a plan's file */
    double like_low, like_high, unlike_low, unlike_high;
};

/* A published run that is similar to a plan. */
struct plan_nearest {
    const char *id; /* in the table of runs; NULL: no run is similar */
    const char *source, *model, *device;
    int devices;
    const char *differs; /* "fp8 instead of bf16, pipeline 8 instead of 4"; "", NULL: nothing */
};

struct plan {
    struct arena arena; /* owns everything below */
    const char *path;   /* of the input file, for messages; NULL: none */

    const char *version;      /* version of rehearse */
    const char *planner;      /* "exact", "split", "fleet", …; NULL: made by hand */
    const char *objective;    /* "pipeline", "oobleck", "dapple", "iteration"; NULL: not given */
    const char *search;       /* "exact", "divide", …; NULL: made by hand */
    const char *rules;        /* of dapple; NULL: another objective */
    const char *import;       /* of dapple: how its graph became a chain */
    const char *memory_model; /* of a pipeline, one of plan_memory_models; NULL: not given */

    const char *model;                          /* name; NULL: not known */
    int layer_count;                            /* 0: not known */
    const char *layers_digest, *cluster_digest; /* of the inputs, see plan_digest.h; NULL: unknown */
    int64_t asked_microbatches; /* of a pipeline; 0: three per stage; -1: follows from the batch */

    int64_t global_batch, microbatch; /* samples; 0: not known */
    int64_t sequence;                 /* tokens; 0: not known */
    const char *precision, *software; /* NULL: not known */
    const char *recompute;            /* "none", "selective", "full"; NULL: not known */
    struct technique technique;       /* 0: as the software does it */
    int sharding;                     /* ZeRO stage; -1: not known */
    double headroom;                  /* share of the memory kept free */
    int send_blocks;    /* 1: sends between stages occupy the stream of the passes; 0: not; -1: unknown */
    int prefetch;       /* blocks whose shards are gathered ahead; -1: unknown */
    int keeps_gathered; /* 1: gathered parameters stay until the iteration's end; -1: unknown */
    double
        /* of a device, which gathers and scatters of shards take from kernels beside them; NAN: unknown */
        shards_share;

    const char *schedule; /* "1f1b", "interleaved-1f1b" */
    int chunks;           /* of each device; 1: none */
    int group;            /* micro-batches that a device takes in turn in each chunk; 0: as many as stages */

    int type_count;
    struct plan_device_type *types;
    int link_count;
    struct plan_link *links;
    struct cluster_network network; /* above the nodes */
    const char *not_counted;        /* keys of the cluster file that change no time of the plan; NULL: none */
    int pipeline_count;
    struct plan_pipeline *pipelines;

    double iteration_time; /* seconds; 0: not known */
    double expected;       /* seconds: iteration_time, corrected by similar measured runs; NAN: unknown */
    struct plan_interval interval;
    struct plan_nearest nearest;
    int part_count; /* they add up to iteration_time */
    struct plan_figure parts[PLAN_MAX_PARTS];
    int bottleneck_pipeline, bottleneck_stage; /* the slowest stage; -1: not known */
    bool bottleneck_sends; /* the transfer behind that stage is the slowest, not the stage itself */
    double memory;         /* bytes of the fullest device; NAN: not known */

    double lower_bound; /* seconds; no plan is faster; 0: unknown */
    bool proven_optimal;
    double planning_seconds; /* NAN: not known */
    const char *proof_over;  /* the plans covered by the proof; NULL: not given */

    struct plan_budget budget;
    struct plan_storage storage;

    int figure_count;
    struct plan_figure figures[PLAN_MAX_FIGURES];
    int alternative_count;
    struct plan_alternative *alternatives;
    bool has_front; /* alternatives marked on_front were requested */
    int sensitivity_count;
    struct plan_sensitivity *sensitivity;
    /* of plans over several types */
    const char *merged; /* devices that are used as those of a lesser type; NULL: none */
    int idle_count;
    struct plan_idle *idle;
    int fleet_count;
    struct plan_fleet *fleets; /* fastest first, this plan's own among them */
};

/* Returns whether the plan is that of a training job, whose time is that of the formula. */
bool plan_is_of_job(const struct plan *plan);

/* Appends "60.16 s expected (60.68 s by formula)", "60.68 s by formula", or of another plan "60.68 s", with so many
 * digits. */
void plan_add_time(const struct plan *plan, int digits, struct text *out);

/* Appends "V0569, LLAMA3_70B on 64 x h100-sxm: fp8 instead of bf16"; nothing if there is no run. */
void plan_add_nearest(const struct plan_nearest *nearest, struct text *out);

/* The same as lines of at most 80 columns. */
void plan_print_nearest(const struct plan_nearest *nearest, struct text *out);

/* Appends "80 % interval 9.79 s to 11.8 s (as like known runs …, as unlike them …)". */
void plan_print_interval(const struct plan_interval *interval, struct text *out);

/* Makes *plan empty; the caller releases it with plan_release. */
void plan_init(struct plan *plan);
void plan_release(struct plan *plan);

/* Allocates `count` entries in the plan's arena, degrees and copies 1, seconds and bytes NAN. False: out of
 * memory. */
bool plan_add_types(struct plan *plan, int count, struct error *err);
bool plan_add_pipelines(struct plan *plan, int count, struct error *err);
bool plan_add_stages(struct plan *plan, struct plan_pipeline *pipeline, int count, struct error *err);

/* Adds a link unless an equal one exists and returns its index. -1: out of memory. */
int plan_add_link(struct plan *plan, const char *name, double bandwidth, double latency);

/* Adds a transfer to a stage, or to the count of an equal one. Those without effect (no count, group of one) are left
 * out. False: out of memory. */
bool plan_add_transfer(struct plan *plan, struct plan_stage *stage, struct plan_transfer transfer);

/* Adds the messages of a stage to the one after it, `bytes` forwards, and back; NAN: unknown. */
bool plan_add_sends(struct plan *plan, struct plan_stage *stage, struct plan_stage *after, int link,
                    double bytes, double forward, double backward);

/* "stage", "tensor", …; "forward", …; ended by NULL. */
extern const char *const plan_purposes[PLAN_PURPOSES + 1], *const plan_whens[PLAN_WHENS + 1];

void plan_add_part(struct plan *plan, const char *name, double seconds);
void plan_add_figure(struct plan *plan, const char *name, double value);
double plan_figure(const struct plan *plan, const char *name); /* NAN: none */

/* Returns (seconds - lower_bound) / seconds, at least 0; 1 when nothing is known: the gap of every planner. */
double plan_gap_of(double seconds, double lower_bound);
double plan_gap(const struct plan *plan);

/* Returns the seconds that a stage is busy per micro-batch; unknown parts count as 0. */
double plan_stage_seconds(const struct plan_stage *stage);

/* Devices of one copy of a stage, of all copies of all stages, and of the cluster. Chunks share devices. */
int plan_stage_devices(const struct plan_stage *stage);

/* Returns the stage of the next chunk on the devices of a stage: a chain goes around the devices, or, with a schedule
 * in a V or in waves, down and up. pipeline->stage_count or more: there is none. */
int plan_next_chunk(const struct plan *plan, const struct plan_pipeline *pipeline, int stage);
int64_t plan_copies(const struct plan *plan); /* of all its pipelines */
int64_t plan_devices_used(const struct plan *plan);
int64_t plan_devices(const struct plan *plan);
int plan_nodes(const struct plan *plan);

/* Returns the number of devices that read training data: in each copy of a pipeline, the data-parallel ranks
 * of the first stage. They pass their data on to all other ranks. */
int64_t plan_readers(const struct plan *plan);

/* Returns the samples per iteration of all readers; 0: unknown. */
int64_t plan_samples(const struct plan *plan);

/* Returns the first pipeline as a row of the alternatives. */
struct plan_alternative plan_as_alternative(const struct plan *plan);

/* Returns whether an alternative is listed as one of the front rather than as the best of its split. */
bool plan_in_front(const struct plan *plan, int alternative);

/* Gives every stage consecutive devices on nodes of its type, unless some stage names its devices already; a
 * copy that fits into one node stays within one. A stage without room gets no runs. False: out of memory. */
bool plan_place(struct plan *plan, struct error *err);

/* Checks that each pipeline covers all layers once and in order, devices exist and are used once, and memory
 * suffices. ERROR_INPUT names the stage. */
bool plan_check(const struct plan *plan, struct error *err);

/* The same without memory: a plan that does not fit can be played. */
bool plan_check_layout(const struct plan *plan, struct error *err);

/* Writes the plan as rehearse-plan/2: the next value of `json`, with `key` as there. */
void plan_write_json(const struct plan *plan, struct json *json, const char *key);

/* Writes the map `nearest`; nothing if no run is similar. */
void plan_write_nearest(const struct plan_nearest *nearest, struct json *json);

/* Reads rehearse-plan/2, also hand-made: a stage needs only layers, device type and devices. On failure *plan holds
 * nothing; on success the caller releases it with plan_release. */
bool plan_load(struct plan *plan, const char *path, struct error *err);

/* plan_load on JSON text; `path` is only for messages. */
bool plan_parse(struct plan *plan, const char *path, const char *data, size_t length, struct error *err);

/* plan_load on a map within a document, such as an entry of a set of templates. */
bool plan_read(struct plan *plan, const struct doc *doc, const struct doc_node *map, struct error *err);

/* plan_load of a plan, or of the plan for `nodes` nodes in a set of templates; 0: the file must hold a
 * plan. */
bool plan_load_template(struct plan *plan, const char *path, int nodes, struct error *err);

/* Appends a type's name, and the size of its nodes where another type has the same name. */
void plan_add_type_name(const struct plan *plan, int type, struct text *out);

/* Returns whether a stage runs on devices of the type. */
bool plan_type_works(const struct plan *plan, int type);

/* Appends the devices of a fleet that work: "16 a100-80gb + 16 t4". */
void plan_add_works(const struct plan *plan, const struct plan_fleet *fleet, struct text *out);

/* Appends a readable table: layers of each stage, where the time goes, and what is proven. */
void plan_print(const struct plan *plan, struct text *out);

/* Appends the plan as a Graphviz graph. */
void plan_write_dot(const struct plan *plan, struct text *out);

#endif
