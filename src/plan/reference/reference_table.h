/* The reference's divide and conquer, over arrays. Private to this room and its tests.
 *
 * For every part of the cluster, every run of layers and every number of stages there is one best sub-plan,
 * found by cutting the layers and the part of the cluster in two in every way and putting the two halves'
 * best sub-plans together:
 *   - several nodes: the left half takes any of the sub-multisets of the nodes;
 *   - one node: each half takes half of its devices, down to one device;
 *   - one stage: all devices of (a part of) one node.
 * Best is the smallest own time; of equals the first in order of cut, left half, stages on the left. That one
 * retained sub-plan is not always the one a longer pipeline needs: the method is not exact
 * (docs/objectives.md). */
#ifndef REHEARSE_PLAN_REFERENCE_REFERENCE_TABLE_H
#define REHEARSE_PLAN_REFERENCE_REFERENCE_TABLE_H

#include "core/arena.h"
#include "core/error.h"
#include "core/progress.h"
#include "plan/reference/reference.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the cluster: some nodes, or a part of one. */
struct reference_share {
    int nodes;   /* 0: less than a node */
    int devices; /* in all */
    int group;   /* nodes <= 1: of this group */
    int min_stages, max_stages;
    int min_others, max_others; /* shares before and after it in the pipeline */
    int half_count;             /* ways to cut it in two */
    uint32_t (*halves)[2];      /* the shares on the left and on the right */
    size_t *start;              /* [layers]: where the rows of that many layers start */
};

struct reference_origin {
    int32_t cut, half, left_stages; /* cut 0: a single stage */
};

struct reference_table {
    struct arena arena;
    const struct plan_problem *problem;
    struct reference_objective objective;
    bool one_device; /* only stages of one device */
    struct progress *progress;
    int share_count;
    struct reference_share *shares; /* halves come before wholes; the last one is the whole cluster */
    size_t value_count;
    double *values;                   /* four per sub-plan: struct row in reference_table.c */
    struct reference_origin *origins; /* one per sub-plan */
    double *count;                    /* [stages] micro-batches of the slowest stage, but for its place */
    double *best;                     /* scratch, [stages]: the minimum time */
    double *limit;                    /* scratch, [stages]: times above it are certainly not smaller */
    double *time;                     /* scratch, [stages] */
    bool uncountable; /* a sub-plan with a count of micro-batches that is not positive was found */
};

/* Fills the table. `one_device`: only sub-plans with one stage per device. ERROR_INFEASIBLE if the reference
 * stops or the table would be too large. *problem must outlive the table. */
bool reference_table_init(struct reference_table *table, const struct plan_problem *problem, bool one_device,
                          struct progress *progress, struct error *err);
void reference_table_release(struct reference_table *table);

/* Returns the time of the best plan of the whole cluster with this many stages; INFINITY: none. */
double reference_table_time(const struct reference_table *table, int stages);

/* Writes its stages in order; `out` has room for `stages`. Nodes are numbered in pipeline order per group. */
void reference_table_stages(const struct reference_table *table, int stages, struct pipeline_stage *out);

#endif
