/* The best way to train a model on identical devices.
 *
 * Problem. Given a model, N devices in nodes, a global batch of B sequences and a software, choose parallel
 * degrees (tensor t, context c, expert e, pipeline p, data d), sequences per micro-batch b, chunks v per
 * stage, ZeRO stage, recomputation and the blocks of each stage, so that t c p d <= N, the iteration time
 * (job_time_of) is minimal and no device holds more than its memory less the headroom (job_memory_of).
 * Devices may be idle: more devices never make the answer slower.
 *
 * Search. Every combination is decided. Layers are priced once for each (t, c, e, b, recomputation); a
 * combination of those with p and d is dismissed when its lower bound,
 *
 *     B / (d b) x (all layers / p + send) + (p - 1) x blocks / (p v_max) + transfers of parameters + fixed time,
 *
 * exceeds the worst plan still wanted: no pace is below the mean of the stages, and no bubble below that of
 * the maximum number of chunks. The bound leaves terms out, and holds whatever else is added to the time, as long as
 * that is not negative. Where an even split is not optimal or does not fit, blocks are laid out anew:
 * the minimum pace at which stages, each filled from the first on as far as pace and memory allow, hold all
 * blocks. That is exact, as filling a stage less cannot help those behind it. It is not looked for where stages filled
 * at the longest pace that could still count do not hold all blocks.
 *
 * Most of what remains is the price of layers. A search for a plan without some degree, beside the best one, takes the
 * prices of the search before (job_search_again).
 *
 * The cheapest plan within a time is found by the same search: what is compared is the time by the devices in use, so
 * that a plan on n devices is dismissed when its bound exceeds the time, or an n-th of the cheapest plan's
 * device-seconds. */
#ifndef REHEARSE_PLAN_SPLIT_SEARCH_H
#define REHEARSE_PLAN_SPLIT_SEARCH_H

#include "core/arena.h"
#include "plan/split/choice.h"

struct job_search {
    struct arena arena;
    int plan_count;           /* at least 1 */
    struct job_choice *plans; /* fastest first; then fewer devices, less memory, … `within`: cheapest first */
    double lower_bound;       /* seconds, or device-seconds; plans[0]'s if the search is complete */
    bool complete;
    double combinations; /* decided, layouts of blocks counted as one */
    struct space *space; /* of the question, which job_search_again searches; NULL: of several questions */
};

/* Finds the best plans. ERROR_INFEASIBLE if no combination is allowed or fits; the text then names the
 * minimum needed. On failure *search holds nothing; on success the caller releases it with
 * job_search_release. */
bool job_search(struct job_search *search, const struct job_question *question,
                const struct job_search_options *options, struct error *err);
void job_search_release(struct job_search *search);

/* The same for a question that differs from that of `before` in narrower ranges of the tensor, context and pipeline
 * degrees alone: what was priced then is used. */
bool job_search_again(struct job_search *search, const struct job_search *before,
                      const struct job_question *question, const struct job_search_options *options,
                      struct error *err);

/* The same where the question has sets of values to choose from: job_search calls it. */
bool job_search_choices(struct job_search *search, const struct job_question *question,
                        const struct job_search_options *options, struct error *err);

/* Returns whether it has. */
bool job_has_choices(const struct job_question *question);

/* Finds the minimum pace and its layout, blocks[job->pipeline], with `memory` bytes per device. Chunks count
 * as one. False: none fits that takes `pace` seconds at most (INFINITY: however many). */
bool job_layout(const struct job *job, const struct job_layers *layers, double memory, double pace,
                int *blocks);

enum job_resource {
    JOB_MORE_COMPUTE,   /* rate of the matrix units */
    JOB_MORE_BANDWIDTH, /* of the devices' memory */
    JOB_MORE_MEMORY,
    JOB_MORE_INSIDE,  /* link inside a node */
    JOB_MORE_ACROSS,  /* link between nodes */
    JOB_MORE_DEVICES, /* rounded up to whole nodes, at least one */
    JOB_ALL_MEMORY,   /* as much as any split needs */
    JOB_RESOURCES
};

const char *job_resource_name(enum job_resource resource);

struct job_sensitivity {
    double seconds; /* of the best plan with more of it, never above the time without */
    bool differs;   /* its split differs from the best one without */
    int devices;    /* of JOB_MORE_DEVICES: the new number of devices */
};

/* Fills in `results`. `more`: 0.1 is 10 % more. `best`: the best plan without. False: out of memory. */
bool job_sensitivity(struct job_sensitivity results[JOB_RESOURCES], const struct job_question *question,
                     const struct job_choice *best, double more, struct parallel *pool, struct error *err);

#endif
