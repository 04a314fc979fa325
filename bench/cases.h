/* The clusters that the planner is measured on. */
#ifndef REHEARSE_BENCH_CASES_H
#define REHEARSE_BENCH_CASES_H

#include "plan/problem.h"

#include <stdbool.h>

struct bench_case {
    const char *name;
    const char *groups; /* "device nodes devices_per_node" for each group */
    const char *link;   /* bandwidth within a node, for ring all-reduces; NULL: all-reduce is left out */
    int microbatches;
    double published_optimum,
        published_approximation; /* seconds their planners took; 0: never finished, or never run */
};

/* Speeds relative to a V100, as the reference has them (Lambda's benchmark list). */
extern const struct bench_case bench_experiments[5]; /* gpt2-xl, 50 layers: Ditto's five experiments */
extern const struct bench_case bench_long[6];        /* 1000 layers: its six that were never run */
extern const struct bench_case bench_wide[5];   /* 1000 layers on many nodes of one kind, few micro-batches */
extern const struct bench_case bench_six_kinds; /* 6 types x 8 nodes x 8 devices, 100 layers */
extern const struct bench_case
    bench_homogeneous[4]; /* gpt2-xl on nodes of one kind; the last for templates */

/* Layer times of the case, from the reference profiles where they are there (*from says so), else gpt2-xl's
 * published numbers or, for 1000 and 100 layers, a seeded mix of such layers. Ends the program on failure. */
void bench_problem(const struct bench_case *which, enum plan_objective objective,
                   struct plan_problem *problem, const char **from);

#endif
