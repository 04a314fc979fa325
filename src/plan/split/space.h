/* The combinations that a question allows. Private to this room. */
#ifndef REHEARSE_PLAN_SPLIT_SPACE_H
#define REHEARSE_PLAN_SPLIT_SPACE_H

#include "core/arena.h"
#include "plan/split/job.h"

#define SPACE_MICROBATCHES 512 /* sequences, unless the question allows more */

/* A split of layers across devices, and its priced layers. */
struct space_cut {
    int tensor, context, expert;
    int first_layers, layers; /* of struct space.layers */
};

struct space_layers {
    const struct space_cut *cut;
    int64_t microbatch;
    enum recompute recompute;
    struct job_layers priced;
    double ends;   /* seconds of embedding and head */
    double blocks; /* of all blocks */
};

struct space {
    const struct job_question *question;
    int cut_count, layers_count;
    struct space_cut *cuts;
    struct space_layers *layers;
    int divisor_count;
    int64_t *divisors; /* of the global batch, ascending */
    double memory;     /* usable bytes per device */
};

static inline bool space_allows(const struct job_question *question, enum job_dimension dimension,
                                int64_t value)
{
    const struct job_range *range = &question->ranges[dimension];
    return !range->given || (value >= range->min && value <= range->max);
}

/* Lists cuts and their layers, which are not priced yet. False: out of memory. */
bool space_init(struct space *space, const struct job_question *question, struct arena *arena,
                struct error *err);

void space_price(const struct space *space, struct space_layers *layers);

/* Returns the job of layers and their cut; the caller chooses pipeline, data, chunks and sharding. */
struct job space_job(const struct space *space, const struct space_layers *layers);

/* Returns whether this number of chunks per stage is allowed; 1 always is. */
bool space_has_chunks(const struct space *space, const struct job *job, int chunks);

/* Returns the maximum number of chunks for a pipeline of this length. */
int space_max_chunks(const struct space *space, int pipeline);

/* Returns the allowed ZeRO stages; bit z: stage z. */
unsigned space_shardings(const struct space *space, int pipeline);

#endif
