/* The best way to train a model on devices that are alike.
 *
 * Problem. Given a model, N devices in nodes, a global batch of B sequences and a software, choose parallel degrees
 * (tensor t, context c, expert e, pipeline p, data d), sequences per micro-batch b, chunks v per stage, ZeRO stage,
 * recomputation and the blocks of each stage, so that t c p d <= N, an iteration (job_time_of) takes the least time and
 * no device holds more than its memory less the headroom (job_memory_of). Devices may be idle: more of them never make
 * the answer slower.
 *
 * Search. Every combination is decided, none by chance. Layers are priced once for each (t, c, e, b, recomputation);
 * a combination of those with p and d is dismissed when its lower bound,
 *
 *     B / (d b) x (all layers / p + send) + (p - 1) x blocks / (p v_most) + transfers of what is held + what is fixed,
 *
 * is above the worst plan that is still wanted: no pace is below the mean of the stages, and no bubble below that of the
 * most chunks. Where an even split is not the best one, or does not fit, blocks are laid out anew: the least pace for
 * which stages, each filled from the first on as far as pace and memory allow, hold all blocks; filling a stage less
 * cannot help those behind it, so that is exact. */
#ifndef REHEARSE_PLAN_SPLIT_SEARCH_H
#define REHEARSE_PLAN_SPLIT_SEARCH_H

#include "core/arena.h"
#include "core/parallel.h"
#include "core/progress.h"
#include "plan/split/question.h"

struct job_choice {
    struct job job; /* devices: those that are used; stage_blocks: in the search's arena, or NULL */
    struct job_time time;
    struct job_memory memory; /* of the fullest device */
    bool on_front;            /* none of the plans found is better in time, memory and devices at once */
};

struct job_search_options {
    int top; /* plans wanted: the best of each split (t, c, e, p, d); at least 1 */
    bool
        front; /* instead those that no other beats in time, memory and devices at once, the fastest of them. Nothing is
                   dismissed then, and of layouts only even ones and the fastest count */
    double time_limit; /* seconds; 0: none */
    struct parallel *pool;
    struct progress *progress; /* NULL: none */
};

struct job_search {
    struct arena arena;
    int plan_count; /* at least 1 */
    struct job_choice
        *plans; /* the fastest first; of equally fast ones the one with fewer devices, less memory, … */
    double lower_bound; /* seconds; plans[0]'s when the search was complete */
    bool complete;
    double combinations; /* that were decided; with layouts of blocks counted as one */
};

/* ERROR_INFEASIBLE when no combination is allowed, or none fits: then it says what the least is that is needed. On
 * failure *search holds nothing; on success the caller ends it with job_search_release. */
bool job_search(struct job_search *search, const struct job_question *question,
                const struct job_search_options *options, struct error *err);
void job_search_release(struct job_search *search);

/* The least pace, and blocks of each stage for it: blocks[job->pipeline]. `memory`: bytes that each device may hold.
 * False: there is none that fits. Chunks count as one. */
bool job_layout(const struct job *job, const struct job_layers *layers, double memory, int *blocks);

#endif
