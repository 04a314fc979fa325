/* All pipelines that a plan before a deadline can have.
 *
 * Problem. Pipelines do m_k micro-batches by a deadline T, fractions counted (fleet.h), and use devices_k. Which of
 * them can be part of a set that does M of them, if no such set is known yet?
 *
 * Bound. For any prices w, the losses w . devices_k - m_k of a set's pipelines and the price of idle devices add up to
 * w . N - (what the set does) <= w . N - M. If no pipeline's loss is below -e, each of a set of R pipelines loses at
 * most `slack` = w . N - M + (R - 1) e: none that loses more is in any such set. For cycles within (a, b] the loss is
 * at least [sum of seconds / a + w . devices] - T / a - 1, a sum over stages, so that the shortest path of the layers
 * left (path.h) tells whether a beginning of a pipeline can end below the cutoff.
 *
 * Labels (stages left, layers left) are continued from the first layer on; of two with the same stages left, the one
 * that is as good in fill, cycle, time afterwards and every type's devices replaces the other.
 *
 * Checked: with these pipelines the exact choice (choose.h) finds what brute force over all sets finds. */
#ifndef REHEARSE_PLAN_FLEET_NEAR_H
#define REHEARSE_PLAN_FLEET_NEAR_H

#include "plan/fleet/search.h"

#define FLEET_MAX_TOGETHER 8 /* different numbers of copies that share a node */

/* The number of operations that are left, of all calls: about 1e9 take a second. */
struct fleet_effort {
    double left;
};

struct fleet_near_query {
    const struct fleet_problem *problem; /* with the minimum of seconds after the pipelines */
    /* the same problem if 1, 2, ... pipelines are alike: only their options' `after` differs */
    const struct fleet_problem *together;
    int together_count; /* 1..FLEET_MAX_TOGETHER */
    double deadline, slack;
    const double *prices;
    double after; /* maximum seconds of a stage after the pipelines */
    struct fleet_effort *effort;
};

struct fleet_near_pipeline {
    int stage_count;
    struct fleet_stage *stages;
    int devices[FLEET_MAX_ROWS];
    double fill, cycle;
    double after[FLEET_MAX_TOGETHER]; /* as many as `together` */
};

struct fleet_near {
    struct arena arena;
    int count;
    size_t capacity;
    struct fleet_near_pipeline *pipelines;
};

#endif
