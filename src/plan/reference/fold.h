/* Folding: declarations shared by its files (fold.c explains it). Private to this room. */
#ifndef REHEARSE_PLAN_REFERENCE_FOLD_H
#define REHEARSE_PLAN_REFERENCE_FOLD_H

#include "core/arena.h"
#include "core/error.h"
#include "plan/reference/reference_table.h"
#include "plan/search.h"

#define FOLD_NOISE 1e-9 /* 2 + 1e-16 is 2 */

struct fold {
    const struct plan_problem *problem;
    const struct plan_search_options *options;
    struct reference_objective objective;
    struct arena arena;
    double factor[PLAN_MAX_GROUPS];
    struct plan_problem folded;    /* the virtual cluster; borrows everything from *problem */
    int max_stages;                /* one per virtual device */
    struct pipeline_stage *stages; /* the result: room for most_stages */
    int stage_count;
    double time;
    struct error *err;
};

/* Assign the stages of the table's virtual plans to real devices: set fold->stages and fold->stage_count. */
bool fold_recover_greedily(struct fold *fold, const struct reference_table *table);
bool fold_recover_dp(struct fold *fold, const struct reference_table *table);

#endif
