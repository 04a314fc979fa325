/* Random problems for the tests of the searches, and the random numbers behind them.
 *
 * The same seed gives the same problem on every machine. */
#ifndef REHEARSE_TESTS_RANDOM_PROBLEM_H
#define REHEARSE_TESTS_RANDOM_PROBLEM_H

#include "plan/problem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct random_source {
    uint64_t state; /* the seed, to begin with */
};

uint64_t random_bits(struct random_source *source);
int random_range(struct random_source *source, int min, int max); /* both included */
double random_unit(struct random_source *source);                 /* in [0, 1) */
bool random_one_in(struct random_source *source, int count);

/* Returns how many random cases a test runs: a third of `max`; an eighth under a sanitizer, which is slow and finds the
 * same faults of memory in fewer; or the number in REHEARSE_RANDOM_CASES, if that is less than `max`, and else `max`. */
int random_cases(int max);

/* How large a problem may become. */
struct random_shape {
    int least_layers, most_layers;
    int most_groups;
    int most_nodes;        /* of all groups together */
    bool only_powers_of_2; /* no nodes of 3 or 6 devices, which no plan can use */
    bool tight_memory;     /* every group has a limit; without, one problem in four has some */
};

extern const struct random_shape random_tiny;   /* what a brute force can do */
extern const struct random_shape random_tight;  /* the same, with limits of memory that decide about plans */
extern const struct random_shape random_medium; /* what it cannot */

/* Fills in everything but the objective. False when memory runs out; else the caller ends it with
 * plan_problem_release. */
bool random_problem_init(struct plan_problem *problem, const struct random_shape *shape, uint64_t seed);

/* The whole problem for a person who has to find out why a case fails. */
void random_problem_print(const struct plan_problem *problem, FILE *out);

#endif
