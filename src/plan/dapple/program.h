/* The dynamic program behind the exact search: the best stages and placement with the pivot in an interval.
 *
 * With every stage and transfer at most `high` (seconds for the whole batch), and charging the pivot at `low`
 * but the drain at `high`,
 *
 *     (M - 1) low / M + T / (r M) + min (X + max(0, D)),    X = sum of transfers,  D = max_s (allreduce_s - s high / M)
 *
 * is no more than the latency of any plan whose pivot is in [low, high], and equal if low = high. From the
 * last stage to the first, X grows by a transfer, and D becomes max(0, allreduce, D - high / M); the
 * undominated labels (X, D) make the minimum exact. They are kept for each first layer and each state of the
 * devices (places.h).
 *
 * Under DAPPLE_FIXED the labels are (L, W) of struct dapple_fixed, and the number of stages where memory binds; the
 * interval then only decides which labels are dropped. */
#ifndef REHEARSE_PLAN_DAPPLE_PROGRAM_H
#define REHEARSE_PLAN_DAPPLE_PROGRAM_H

#include "plan/dapple/model.h"
#include "plan/dapple/places.h"

struct dapple_program {
    const struct dapple_problem *problem;
    const struct places *places;
    int replicas, factor; /* r, k */
    int64_t microbatches;
    double low, high;
    /* only plans with a stage or transfer of at least `low`; for a slower pivot that may be better */
    bool reach_low;
    double cutoff; /* seconds; only faster plans are of interest */
};

struct dapple_label;
struct dapple_front;
struct dapple_fixed_front;
struct dapple_stairs;

/* The layers in front of a layer. */
struct dapple_before {
    double max_compute; /* seconds of the slowest of them */
    double max_item;    /* maximum seconds of a stage or transfer of them */
    int units;          /* needed by them */
};

/* Memory reused by successive programs; {0} to begin with. */
struct dapple_workspace {
    int32_t *head;                           /* [first layer][state] */
    struct dapple_front *fronts;             /* [first layer][state]; DAPPLE_ORIGINAL */
    struct dapple_fixed_front *fixed_fronts; /* [first layer][units left]; DAPPLE_FIXED */
    struct dapple_before *before;            /* [first layer] */
    size_t head_room, front_room, fixed_room, before_room;
    struct dapple_label *labels;
    int32_t label_count;
    size_t label_room;
    struct dapple_stairs *stairs;
    size_t stair_count;
};

struct dapple_answer {
    double min;   /* seconds; no plan is faster, even if the program fails */
    double bound; /* seconds of the best plan; INFINITY: none below the cutoff */
    bool reaches; /* whether the plan has a stage or transfer of at least `low` */
    int stage_count;
    size_t stage_room;
    struct places_stage *stages; /* the caller frees them */
};

/* Solves a program. *answer: {0}, or an earlier one. False: out of memory, or more than MAX_LABELS labels
 * (ERROR_INFEASIBLE). */
bool dapple_program_solve(const struct dapple_program *program, struct dapple_workspace *workspace,
                          struct dapple_answer *answer, struct error *err);
void dapple_workspace_release(struct dapple_workspace *workspace);

/* Returns the bytes/s of a transfer out of `count` devices along a step, for bytes of the whole stage. */
static inline double dapple_step_rate(const struct dapple_problem *problem, const struct places_step *step,
                                      int count)
{
    switch ((enum places_link)step->link) {
    case LINK_INSIDE:
        return problem->cluster->inside;
    case LINK_AWAY:
        return problem->cluster->point_to_point * count / step->away;
    case LINK_SPANS:
        return dapple_spanning_rate(problem);
    case LINK_NONE:
        break;
    }
    return 1e300;
}

#endif
