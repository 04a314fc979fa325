/* The searches: problem in, plan out. */
#ifndef REHEARSE_PLAN_SEARCH_H
#define REHEARSE_PLAN_SEARCH_H

#include "core/error.h"
#include "core/parallel.h"
#include "core/progress.h"
#include "plan/pipeline.h"
#include "plan/problem.h"

enum plan_search_method {
    SEARCH_EXACT,       /* the optimum, with a proof (exact.c) */
    SEARCH_DIVIDE,      /* the reference's divide and conquer (divide.c) */
    SEARCH_FOLD_GREEDY, /* fold the cluster into one of its weakest kind, plan that, recover greedily */
    SEARCH_FOLD_DP,     /* the same, recovered by the reference's dynamic program */
};

struct plan_search_options {
    enum plan_search_method method;
    double time_limit;       /* seconds; 0: none. Only exact looks at it */
    double better_than;      /* seconds; only plans that take less are of interest; 0: any. Only exact */
    bool fold_exact_factors; /* folding factors as they are (2.15), not rounded to whole nodes (2) */
    /* recover only from the virtual plan with the most stages, as the reference's script does */
    bool fold_longest_only;
    struct parallel *pool;     /* NULL: one thread */
    struct progress *progress; /* NULL: silent */
};

/* On success *plan is scored, its nodes are assigned, and the caller ends it with plan_release. Fails with
 * ERROR_INFEASIBLE ("no plan: …") when there is none or the method finds none. */
bool plan_search(const struct plan_problem *problem, const struct plan_search_options *options,
                 struct pipeline *plan, struct error *err);

/* One file each. Where the exact search fails with ERROR_INFEASIBLE, plan->lower_bound says what it has
 * proven all the same: no plan takes less (INFINITY: there is none). */
bool plan_search_exact(const struct plan_problem *problem, const struct plan_search_options *options,
                       struct pipeline *plan, struct error *err);
bool plan_search_divide(const struct plan_problem *problem, const struct plan_search_options *options,
                        struct pipeline *plan, struct error *err);
bool plan_search_fold(const struct plan_problem *problem, const struct plan_search_options *options,
                      struct pipeline *plan, struct error *err);

/* What every search needs said first: can there be a plan at all? (enough layers, group sizes that halve) */
bool plan_problem_check(const struct plan_problem *problem, struct error *err);

#endif
