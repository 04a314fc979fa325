/* Plays a plan: what every device does in an iteration, and what that adds up to.
 *
 * Two levels. By passes, a whole pass of a stage for a micro-batch is one task (schedule/timing.h); what hides behind
 * computation inside a pass is what the planner's formula says. By layers, a pass is its blocks with their collectives
 * and messages on streams and links (sim/engine), and overlap follows from them.
 *
 * An iteration. Each device does the passes of its schedule. Collectives inside a pass take the share of their seconds
 * that the formula shows. A message to the next stage, or back, delays its receiver, or occupies the stream of passes
 * at both ends, as the plan says. Gradients are exchanged when all devices that hold the same layers have done their
 * last pass; the optimizer waits for all stages where a norm of all gradients is needed, except in schedules without
 * that barrier ("post-validated", arXiv 2401.10241, section 4). Then a device begins the next iteration while others
 * are still at the last one, and an iteration takes as long as the device with the longest time from its first pass to
 * its optimizer. */
#ifndef REHEARSE_SIM_PLAY_H
#define REHEARSE_SIM_PLAY_H

#include "core/arena.h"
#include "core/error.h"
#include "core/json.h"
#include "plan/plan.h"
#include "schedule/order.h"
#include "sim/timeline.h"

#define SIM_MAX_REASONS 8

enum sim_level { SIM_AUTO, SIM_PASSES, SIM_LAYERS };

enum sim_answer { SIM_AS_PLANNED = 0, SIM_YES, SIM_NO };

/* While a checkpoint is saved, passes wait until it is copied to the hosts; until it is written; or only the next
 * optimizer waits for the copies. */
enum sim_save_waits { SIM_WAITS_FOR_COPIES, SIM_WAITS_FOR_WRITES, SIM_WAITS_FOR_NOTHING };

/* Gathered parameters of shards are freed: after each pass, so that they are gathered for both; after the backward
 * pass; at the end of the iteration. By layers. */
enum sim_reshard { SIM_RESHARD_AS_PLANNED, SIM_RESHARD_PASS, SIM_RESHARD_BACKWARD, SIM_RESHARD_ITERATION };

/* Kernels of devices first … last take `factor` times their seconds, from one second of the run until another; until 0:
 * always. */
struct sim_straggler {
    int first, last;
    double factor, from, until;
};

struct sim_options {
    enum sim_level level;
    const char *schedule;           /* by name; NULL: the plan's */
    const struct pass_order *given; /* this order, which `schedule` names; NULL: the schedule's */
    int chunks;                     /* of each device; 0: the plan's or the schedule's */
    enum sim_answer send_blocks;    /* messages occupy the stream of passes */
    enum sim_answer
        post_validate; /* no barrier before the optimizer; as planned: for zero-bubble schedules */
    double memory;     /* of a device for activations, bytes; 0: as the schedule is defined */
    bool plain;        /* no sensitivities and no search for reasons */
    bool no_symmetry;  /* devices that are alike are played one by one, too */
    double jitter;     /* standard deviation of the time of kernels, a share; 0: none */
    uint64_t seed;     /* of the jitter */
    const struct sim_straggler *stragglers; /* slow devices; of several that name a device, the last counts */
    int straggler_count;
    /* Share of a device's multiprocessors that a hidden collective takes from the kernels beside it, which are slower
     * by as much while it runs (DeepSeek-V3: 20 of 132); by layers. */
    double collective_share; /* 0: of gathers and scatters of shards, the plan's own (shards_share) */
    int prefetch;            /* blocks whose shards are gathered ahead, by layers; 0: as planned, -1: none */
    enum sim_reshard reshard;
    /* Samples a second that storage gives all readers together (rehearse feed measures it), and the bytes of one (0:
     * unknown); load_rate 0: loading takes no time. The samples of an iteration are loaded during the one before. By
     * layers, as saving. */
    double load_rate, load_bytes;
    /* Every so many iterations (0: never) devices copy parameters and optimizer states to the host, at `copy_rate`
     * bytes/s of a device (0: at once), and the hosts write them, at `save_rate` bytes/s of all devices together (0: at
     * once); the next copy waits until that is done. Copies of a pipeline share the work. */
    int64_t save_every;
    double copy_rate, save_rate;
    enum sim_save_waits save_waits;
    double
        /* bytes/s of a device to and from its host, which transfers between nodes share; 0: nothing shares it */
        host_rate;
    bool storage_network;      /* loading and writing go over the links between nodes */
    const double *link_speeds; /* of each link of the plan: a factor of its bandwidth; NULL: as planned */
    const struct timeline_sink *sink; /* NULL: none */
    struct pass_order
        *order; /* NULL, or filled in with the order of the first pipeline, for the caller to release */
};

/* Seconds of the iteration of one device by cause; they add up to the iteration. */
enum sim_cause {
    SIM_FORWARD,
    SIM_BACKWARD,
    SIM_RECOMPUTE,
    SIM_TENSOR, /* exposed communication: of tensor, context and expert parallelism, of shards */
    SIM_CONTEXT,
    SIM_EXPERT,
    SIM_SHARDS,
    SIM_SEND,   /* sending and receiving that occupies the device */
    SIM_BUBBLE, /* waiting for other stages */
    SIM_GRADIENTS,
    SIM_OPTIMIZER,
    SIM_LOAD,  /* waiting for training data */
    SIM_SAVE,  /* copies of checkpoints to the host, and waiting for the last one to be written */
    SIM_OTHER, /* launches, input, waiting for slow nodes */
    SIM_CAUSES
};

struct sim_memory {
    double parameters, gradients, optimizer, activations, working;
    double total; /* NAN: unknown */
    double time;  /* seconds from the iteration's beginning at which it is first reached */
};

/* Devices of a pipeline that have the same stages. */
struct sim_device {
    int pipeline, place; /* place: in the pipeline */
    int type;            /* of the plan's device types */
    int64_t members;     /* devices that do the same */
    double begin, end;   /* of its first and last pass */
    double seconds[SIM_CAUSES];
    struct sim_memory peak;
};

/* A part of the critical path. */
struct sim_step {
    int pipeline, stage; /* stage: in the order of a micro-batch */
    const char *what;    /* "forward", "send", "gradients", … */
    int link;            /* -1: none */
    double seconds;      /* all such parts together */
    int64_t count;
    const char *link_name; /* the plan's; NULL: none */
};

/* A link that several transfers could fill together, by sim/engine/fabric.h. */
struct sim_link {
    const char *name;    /* "card 0 of node 3, out" */
    int64_t alike;       /* links that carry the same, with it */
    double capacity;     /* bytes/s */
    double bytes;        /* carried in the iterations that were played */
    double share;        /* of what it could carry in that time */
    double full;         /* seconds in which it held transfers back */
    const char **causes; /* of its transfers: sim_cause_names */
    int cause_count;
};

/* The iteration with more of a resource, or without something. */
struct sim_variant {
    const char *name;
    double more, seconds; /* the share of speed */
};

#define SIM_MAX_SEEDS 10000

/* The seconds of an iteration over several seeds. */
struct sim_spread {
    int seeds;
    double low, median, high; /* quantiles 5, 50 and 95 % */
};

struct sim_result {
    struct arena arena;           /* owns everything below */
    const char *schedule, *level; /* level: "passes" or "layers" */
    double expected;              /* the plan's own; NAN: unknown */
    double seconds;               /* of an iteration in the steady state */
    double makespan;              /* from the first pass to the last optimizer step */
    double samples, tokens;       /* a second; NAN: unknown */
    double utilisation;           /* share of the devices' peak; NAN: unknown */
    double bubble;                /* share of all devices' time in which they wait for other stages */
    double formula;               /* seconds; NAN: the plan has none */
    /* Why it differs by more than 2 %: those in the direction of the difference first, then by seconds. They may be
     * longer together than the difference, where others make up for them. */
    int reason_count;
    struct sim_reason {
        const char *name;
        double seconds; /* that the simulation has more */
    } reasons[SIM_MAX_REASONS];
    int device_count;
    struct sim_device *devices;
    int slowest;                    /* the device with the longest own work, which is shown by cause */
    int fullest;                    /* with the highest peak; -1: unknown */
    int iterations;                 /* that sinks and critical path show: several if hosts load or save */
    double shown;                   /* seconds of these */
    struct sim_straggler unreached; /* one that is slow only after them; factor 0: none */
    int step_count;
    struct sim_step *steps; /* the longest first */
    int link_count;         /* by layers */
    struct sim_link *links; /* those that held transfers back longest first, then those that are used most */
    int more_count;
    struct sim_variant *more; /* with 10 % more of each resource */
    int64_t tasks;            /* played */
    struct sim_spread drawn;  /* by sim_play_seeds; seeds 0: one run */
};

/* Plays the plan, whose missing prices are filled in where its names are built in. On failure *result holds nothing, on
 * success the caller releases it with sim_result_release. ERROR_INPUT: the plan cannot be played; the text says why. */
bool sim_play(struct plan *plan, const struct sim_options *options, struct sim_result *result,
              struct error *err);
void sim_result_release(struct sim_result *result);

/* Plays the plan with further seeds, up to `seeds` with that of the result, and says in it how far they are spread. */
bool sim_play_seeds(struct plan *plan, const struct sim_options *options, int seeds,
                    struct sim_result *result, struct error *err);

extern const char *const sim_cause_names[SIM_CAUSES]; /* "forward", … */

/* Appends a readable answer. */
void sim_print(const struct sim_result *result, const struct plan *plan, struct text *out);

/* Writes the answer as rehearse-played-plan/1: the next value of `json`. */
void sim_write_json(const struct sim_result *result, const struct plan *plan, struct json *json);

#endif
