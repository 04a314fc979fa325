/* The slow way: every plan of a tiny problem, one after the other.
 *
 * Written from the definitions alone and without a line of the planner's code, so that the two can be
 * compared. By the reference's objective, and where the micro-batches follow from the stages, what is enumerated is what the
 * reference's exhaustive search ranges over:
 *   - the nodes in every order along the pipeline; nodes of one group are alike; every node and every device is used;
 *   - the devices of a node halved again and again; each part that is not halved is a stage, if its size is a
 *     power of two;
 *   - the layers in order over the stages, at least one each.
 * Else devices may be idle: each stage takes 1, 2, 4, … of the devices that a group has left, no more than a node has. */
#ifndef REHEARSE_TESTS_BRUTE_H
#define REHEARSE_TESTS_BRUTE_H

#include "plan/pipeline.h"
#include "plan/problem.h"

#include <stdbool.h>
#include <stdint.h>

#define BRUTE_MAX_LAYERS 8

struct brute {
    double time;   /* seconds; INFINITY when there is no plan */
    int64_t plans; /* looked at */
    int stage_count;
    struct pipeline_stage
        stages[BRUTE_MAX_LAYERS]; /* of the first best plan: layers, group and devices are set */
};

/* The best of all plans. The problem must have 1 to BRUTE_MAX_LAYERS layers. */
struct brute brute_force(const struct plan_problem *problem);

/* Is this plan (of any size) one of those that are enumerated? Says nothing about memory. */
bool brute_contains(const struct plan_problem *problem, const struct pipeline *plan);

#endif
