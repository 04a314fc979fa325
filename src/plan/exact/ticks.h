/* Stage times as whole numbers.
 *
 * The exact search adds layer times in any order and compares the sums. So times become integer multiples of
 * one tick, kept in doubles below 2^53: every sum is exact, and a stage's time is a difference of two prefix
 * sums. A tick is 1/(64 x 10^d) ms with d as large as the range allows, so that profiles written in decimal
 * milliseconds, divided over 2, 4, … 64 devices, lose nothing; others are rounded by less than 1e-10 of a
 * stage, which is also what counts as a tie. */
#ifndef REHEARSE_PLAN_EXACT_TICKS_H
#define REHEARSE_PLAN_EXACT_TICKS_H

#include "core/arena.h"
#include "core/error.h"
#include "plan/problem.h"

#include <stdbool.h>

#define TICKS_MAX_GROUPS 64

/* What plans leave idle. */
enum ticks_space {
    SPACE_ALL,     /* nothing: the stages of a node follow each other, and use all of its devices */
    SPACE_NODES,   /* whole nodes */
    SPACE_DEVICES, /* any device; the stages of a node need not follow each other */
};

/* Nodes that are alike. Of single devices a group has stages of one size: its "nodes" are as many devices, never split,
 * and several groups draw on the devices of one kind. */
struct ticks_group {
    int kind;  /* index into problem.groups, and into `units` */
    int takes; /* units that a node of the group takes: 1, or its devices */
    int nodes;
    int splits;                         /* as in plan_group */
    const double *sum[PLAN_MAX_SPLITS]; /* [log2 g][layer]: ticks of all layers before this one */
    double memory[PLAN_MAX_SPLITS];     /* usable bytes for a stage of this size; INFINITY: no limit */
};

struct ticks {
    struct arena arena;
    double per_second;
    int layer_count;
    enum ticks_space space;
    int kind_count;
    int units[PLAN_MAX_GROUPS]; /* [kind]: nodes, or devices */
    int group_count;
    int node_count; /* of all units */
    int max_stages; /* maximum number of stages: the smaller of layers and devices */
    enum memory_model memory;
    int microbatches;                   /* 0: never fewer than the stages */
    const double *state_sum, *kept_sum; /* [layer]: bytes of all layers before this one (score/memory.h) */
    struct ticks_group groups[TICKS_MAX_GROUPS];
    double min_sum; /* lower bound on the sum of stage times */
};

/* Copies everything it needs from the problem. Of single devices: ticks_groups are at most TICKS_MAX_GROUPS. */
bool ticks_init(struct ticks *ticks, const struct plan_problem *problem, enum ticks_space space,
                struct error *err);
int ticks_groups(const struct plan_problem *problem, enum ticks_space space);
void ticks_release(struct ticks *ticks);

/* Ticks of layers [a, b) on 2^split devices of this group. */
static inline double ticks_stage(const struct ticks *ticks, int group, int split, int a, int b)
{
    const double *sum = ticks->groups[group].sum[split];
    return sum[b] - sum[a];
}

/* Micro-batches in flight at a stage that is the `from_end`-th from the end. */
static inline double ticks_in_flight(const struct ticks *ticks, int from_end)
{
    return memory_in_flight(ticks->memory, ticks->microbatches, from_end);
}

/* Bytes of layers [a, b) as one stage, over all its devices. */
static inline double ticks_memory(const struct ticks *ticks, int a, int b, double in_flight)
{
    const struct memory_stage stage = {
        .state = ticks->state_sum[b] - ticks->state_sum[a],
        .kept = ticks->kept_sum[b] - ticks->kept_sum[a],
    };
    return memory_of_stage(&stage, in_flight);
}

/* Returns the minimum stage time >= value (maximum <= value) over all groups, sizes and layers; INFINITY
 * (-INFINITY) if there is none. */
double ticks_at_least(const struct ticks *ticks, double value);
double ticks_at_most(const struct ticks *ticks, double value);

#endif
