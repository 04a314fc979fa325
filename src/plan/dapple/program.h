/* The dynamic program behind the exact search: the best stages and placement where the pivot lies in an interval.
 *
 * With every stage and transfer at most `high` (seconds for the whole batch), and charging the pivot at `low` but the
 * drain at `high`,
 *
 *     (M - 1) low / M + T / (r M) + min (X + max(0, D)),    X = sum of transfers,  D = max_s (allreduce_s - s high / M)
 *
 * is no more than the latency of any plan whose pivot is in [low, high], and equal where low = high. From the last
 * stage to the first X grows by a transfer, and D becomes max(0, allreduce, D - high / M); labels (X, D), of which one
 * that is no better in both is dropped, make the minimum exact. They are kept for each first layer and each state of
 * the devices (dapple_places.h).
 *
 * Under DAPPLE_FIXED the labels are dapple_fixed.h's (L, W), and the number of stages where memory binds; nothing
 * depends on the interval but what is left out. */
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
    bool
        reach_low; /* only plans that have something of `low` or more; needed where a slower pivot may be better */
    double cutoff; /* seconds; only plans that take less are of interest */
};

struct dapple_label;
struct dapple_front;
struct dapple_fixed_front;
struct dapple_stairs;

/* Memory for programs, one after the other; {0} to begin with. */
struct dapple_workspace {
    int32_t *head;                           /* [first layer][state] */
    struct dapple_front *fronts;             /* [first layer][state]; DAPPLE_ORIGINAL */
    struct dapple_fixed_front *fixed_fronts; /* [first layer][units left]; DAPPLE_FIXED */
    double *most_before, *most_item;         /* [first layer] */
    int *kept;                               /* [first layer] units that the layers in front need */
    size_t head_room, front_room, fixed_room, before_room, item_room, kept_room;
    struct dapple_label *labels;
    int32_t label_count;
    size_t label_room;
    struct dapple_stairs *stairs;
    size_t stair_count;
};

struct dapple_answer {
    double least; /* seconds; no plan takes less: known even where the program fails */
    double bound; /* the best plan's; INFINITY: none below the cutoff */
    bool reaches; /* has the plan something of `low` or more? */
    int stage_count, stage_room;
    int *first_layers, *devices, *steps; /* [stage]; steps as places_follow wants them */
};

/* *answer: {0} to begin with, or an earlier one. False when memory runs out, or more than MAX_LABELS labels are
 * needed (ERROR_INFEASIBLE). */
bool dapple_program_solve(const struct dapple_program *program, struct dapple_workspace *workspace,
                          struct dapple_answer *answer, struct error *err);
void dapple_workspace_release(struct dapple_workspace *workspace);
void dapple_answer_release(struct dapple_answer *answer);

/* Bytes/s of a transfer out of `count` devices along a step, for bytes of the whole stage; INFINITY: nothing behind. */
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
