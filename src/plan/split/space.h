/* The combinations that a question allows. Private to this room. */
#ifndef REHEARSE_PLAN_SPLIT_SPACE_H
#define REHEARSE_PLAN_SPLIT_SPACE_H

#include "core/arena.h"
#include "plan/split/choice.h"

#define SPACE_MICROBATCHES 512 /* sequences, unless the question allows more */

/* A split of layers across devices, and its priced layers. */
struct space_cut {
    struct degrees degrees;    /* pipeline and data: 1 */
    int expert_tensor;         /* 0: the usual one */
    int first_group, groups;   /* of struct space.groups */
    struct job_layers *layers; /* of its first group: the numbers of parameters are the same in all */
};

/* A way of recomputation. */
struct space_mode {
    enum recompute recompute;
    int modules;
    enum recompute_method some; /* METHOD_ALL, or full recomputation of some blocks, whose number is open */
    enum expert_overlap overlap;
    /* the fastest of the cut, set when its layers are priced */
    enum dispatcher dispatch;
    enum context_kind context_kind;
};

#define SPACE_MAX_MODES (2 * ((1 << RECOMPUTE_MODULES) + 4))

/* Priced layers of a cut, with one micro-batch and one way of recomputation. */
struct space_layers {
    const struct space_cut *cut;
    int64_t microbatch;
    struct space_mode mode;
    bool useful; /* no other way of recomputation is as fast and as small */
    struct job_layers priced;
    double ends;   /* seconds of embedding and head */
    double blocks; /* of all blocks */
};

/* A cut with one micro-batch. Most groups are dismissed by their floors: no way of recomputation is priced then. */
struct space_group {
    struct space_cut *cut;
    int64_t microbatch;
    int modes;                /* ways of recomputation and overlap that the cut allows */
    enum dispatcher dispatch; /* the fastest */
    enum context_kind context_kind;
    double least_blocks, least;      /* floors of the seconds of all blocks, and with the ends, of any mode */
    double send_inside, send_across; /* to the next stage, and back */
    double least_kept; /* bytes of activations that all layers keep at least, once they are priced */
    _Atomic int count; /* 0: not priced yet */
    struct space_layers *layers; /* of each mode but those that are no faster and no smaller than another */
};

struct space {
    const struct job_question *question;
    int cut_count, group_count;
    struct space_cut *cuts;
    struct space_group *groups;
    int divisor_count;
    int64_t *divisors;  /* of the global batch, ascending */
    double memory;      /* usable bytes per device */
    int replicate;      /* copies of the shards, where the question gives them */
    unsigned schedules; /* bit s: schedule s of enum pipeline_schedule; bit 0: those with formulas */
    bool has_floors;    /* all groups are priced by space_price_floor */
    int mode_count;
    struct space_mode modes[SPACE_MAX_MODES];
};

static inline bool space_allows(const struct job_question *question, enum job_dimension dimension,
                                int64_t value)
{
    const struct job_range *range = &question->ranges[dimension];
    return !range->given || (value >= range->min && value <= range->max);
}

/* Checks that the software supports the techniques that the question gives. */
bool space_check_techniques(const struct job_question *question, struct error *err);

/* Returns the job's techniques with those that the question gives. */
struct technique space_techniques(const struct job_question *question);

/* Lists cuts and their layers, which are not priced yet. False: out of memory. */
bool space_init(struct space *space, const struct job_question *question, struct arena *arena,
                struct error *err);

/* Sets the floors of a group, which hold for all of its modes, and its cut's layers if it is the first of the cut.
 * False: out of memory. */
bool space_price_floor(const struct space *space, struct space_group *group, struct kernel_memo *memo);

/* Prices a group's layers in each mode, after its floors. False: out of memory. */
bool space_price(const struct space *space, struct space_group *group);

/* Returns the number that method `some` needs for the `step`-th least recomputation; 0: there is none. */
int space_blocks_of_step(const struct job *job, enum recompute_method some, int step);

/* Returns the number of such steps. */
int space_steps(const struct job *job, enum recompute_method some);

/* Returns the first of `steps` at which an even split fits, or the last one. */
int space_least_step(const struct space *space, const struct job *job, const struct space_layers *layers,
                     int steps);

/* Sets the least value of a technique in the question's range at which a plan fits, and its memory: more of it
 * takes longer and holds less. False: none does. */
bool space_offload_least(const struct space *space, struct job *job, struct job_memory *memory,
                         const struct job_layers *layers, enum technique_kind kind);

/* Frees what space_price has made. */
void space_release(struct space *space);

/* Sets recomputation as a mode says; `layers`: the number of some blocks. */
void space_set_mode(const struct space *space, const struct space_mode *mode, int layers, struct job *job);

/* Returns the job of layers and their cut; the caller chooses pipeline, data, chunks and sharding. */
struct job space_job(const struct space *space, const struct space_layers *layers);

/* Returns whether this number of chunks per stage is allowed, with the job's overlap of exchanges. */
bool space_has_chunks(const struct space *space, const struct job *job, int chunks);

/* Returns the maximum number of chunks for a pipeline of this length. */
int space_max_chunks(const struct space *space, int pipeline);

/* Returns whether the question gives what the host may hold. */
static inline bool space_opens_offload(const struct space *space)
{
    const struct job_range *ranges = space->question->ranges + JOB_TECHNIQUE;
    return ranges[TECHNIQUE_OFFLOAD].given || ranges[TECHNIQUE_OFFLOAD_ACTIVATIONS].given;
}

/* A way to hold and gather shards of parameters. */
struct space_shards {
    int replicate; /* 0: one copy */
    enum technique_switch reshard;
};

#define SPACE_MAX_SHARDS 512

/* Lists the ways to shard parameters (ZeRO-3) that the software has; SPACE_MAX_SHARDS at most. */
int space_list_shards(const struct space *space, const struct job *job, struct space_shards *shards);

/* Returns the allowed ZeRO stages; bit z: stage z. */
unsigned space_shardings(const struct space *space, int pipeline);

/* Returns whether this data parallel degree is allowed with a cut and a pipeline. */
bool space_data_allowed(const struct space *space, const struct space_cut *cut, int pipeline, int64_t data);

/* Returns bytes that all combinations of a cut, a pipeline and a data parallel degree, those of `job`, need at least.
 * `kept`: bytes of activations of one micro-batch of all layers. */
double space_least_memory(const struct space *space, const struct space_cut *cut, struct job job,
                          unsigned shardings, double kept);

/* Returns the same of any data parallel degree. */
double space_least_of(const struct space *space, const struct space_cut *cut, int pipeline);

/* Returns the number of chunks, more than one, with which a job holds least. 0: none is allowed. */
int space_smallest_chunks(const struct space *space, struct job job);

/* Says that nothing fits, and how much the smallest combination needs, or that none is allowed. Returns false. */
bool space_does_not_fit(const struct space *space, const struct job *min, double bytes, struct error *err);

#endif
