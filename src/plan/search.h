/* The searches: from a problem to a plan. */
#ifndef REHEARSE_PLAN_SEARCH_H
#define REHEARSE_PLAN_SEARCH_H

#include "core/error.h"
#include "core/parallel.h"
#include "core/progress.h"
#include "plan/pipeline.h"
#include "plan/problem.h"

enum plan_search_method {
    SEARCH_EXACT, /* the optimum, with a proof; devices may be idle but to reproduce the reference (exact.c) */
    SEARCH_DIVIDE,      /* the reference's divide and conquer (divide.c) */
    SEARCH_FOLD_GREEDY, /* fold the cluster into one of its weakest type, plan that, recover greedily */
    SEARCH_FOLD_DP,     /* the same, recovered by the reference's dynamic program */
};

struct plan_search_options {
    enum plan_search_method method;
    double time_limit;  /* seconds; 0: none */
    double better_than; /* seconds; only faster plans are of interest; 0: any; only for exact */
    /* recover only from the longest virtual plan, as the reference's script does */
    bool fold_longest_only;
    struct parallel *pool;     /* NULL: one thread */
    struct progress *progress; /* NULL: silent */
};

/* Searches. On success *plan is scored, its nodes are assigned, and the caller releases it with
 * pipeline_release. ERROR_INFEASIBLE ("no plan: …") if there is none or the method finds none. */
bool plan_search(const struct plan_problem *problem, const struct plan_search_options *options,
                 struct pipeline *plan, struct error *err);

/* The methods. If the exact search fails with ERROR_INFEASIBLE, plan->lower_bound is the bound proven
 * nevertheless (INFINITY: there is no plan). */
bool plan_search_exact(const struct plan_problem *problem, const struct plan_search_options *options,
                       struct pipeline *plan, struct error *err);
bool plan_search_divide(const struct plan_problem *problem, const struct plan_search_options *options,
                        struct pipeline *plan, struct error *err);
bool plan_search_fold(const struct plan_problem *problem, const struct plan_search_options *options,
                      struct pipeline *plan, struct error *err);

/* Says that the time was over before a plan was found. */
bool plan_late_error(double time_limit, struct error *err);

/* Checks for every search that a plan is possible: enough layers for all nodes if none may be idle, group sizes that
 * halve. */
bool plan_problem_check(const struct plan_problem *problem, bool all_nodes, struct error *err);

#endif
