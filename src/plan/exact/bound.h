/* The objectives in ticks, exactly and as lower bounds over an interval of the slowest stage's time.
 *
 * Were the slowest stage's time L known, each objective would be a sum over stages (N micro-batches, j stages
 * after the slowest):
 *     pipeline       sum l                                   + (N - 1) L     every stage l <= L
 *     pipeline N=0   sum (l + 3 L)                           - L             (N = 3 x stages)
 *     oobleck        sum_before l + sum_after (2 l - L)      + (N + 2) L     before l <= L, after l < L, j < N
 *     oobleck  N=0   sum_before (l + 3 L) + sum_after (2 l + 2 L) + 5 L
 * (one stage under oobleck: 4 l), and a dynamic program (program.h) minimises such a sum exactly. For all L
 * in [low, high] together the program caps stages at `high` and charges what grows with L at `low`. Only
 * oobleck's reward of -L per stage after the slowest shrinks with L. With m the maximum number of stages
 * after it, and any reward r <= low,
 *     (N + 2) L - j L  >=  (N + 2 - m) L + m r - j r
 * so each of them is granted r alone, and L is charged N + 2 - m times. r = low is best unless the program's
 * pipeline then has more than m of them, which no plan may: a smaller r prices that. The best r is found as for any
 * Lagrange multiplier: the bound is concave in it. */
#ifndef REHEARSE_PLAN_EXACT_BOUND_H
#define REHEARSE_PLAN_EXACT_BOUND_H

#include "plan/exact/ticks.h"
#include "plan/exact/tiles.h"
#include "plan/problem.h"

#include <stdbool.h>

/* Relative tolerance within which stage times are equal, as in plan_score: ticks are rounded. */
#define BOUND_TIE 1e-10

struct bound {
    const struct ticks *ticks;
    enum plan_objective objective;
    int microbatches;
    int most_after; /* m */
};

struct interval {
    double low, high; /* ticks; existing stage times. high = INFINITY: no upper end */
    double bound;     /* lower bound on plans in the interval */
    double reward;    /* r; limited to below `low` */
    int first, last;  /* the slowest stage is in one of these nodes of the pipeline, from 1 on */
    bool counting;    /* the program counts stages from the end (counted.h) */
    double margin;    /* of the bound: values above it by more are not looked for yet, when counting */
};

struct bound bound_init(const struct ticks *ticks, const struct plan_problem *problem);

/* Costs of stages in the interval's program, and the constant left out: value + constant is a lower bound,
 * and exact in an interval of one value if the program's pipeline has an objective (bound_evaluate). */
struct tile_costs bound_costs(const struct bound *bound, const struct interval *interval);
double bound_constant(const struct bound *bound, const struct interval *interval);

/* Returns r; 0 where there is none. */
double bound_reward(const struct bound *bound, const struct interval *interval);

/* Returns a lower bound, without a program, on all plans whose slowest stage takes at least `low`. */
double bound_simple(const struct bound *bound, double low);

/* Returns the objective of a stage list; INFINITY if undefined. *slowest: the slowest stage's ticks. */
double bound_evaluate(const struct bound *bound, const struct tile_stage *stages, int count, double *slowest);

/* The bound as a function of r is the minimum of straight lines, one for each pipeline: that of a pipeline with j
 * stages after the slowest rises by m - j. */
struct tangent {
    double reward, value;
    int slope;
    int node; /* with the slowest stage, from 1 on */
};

/* What an interval's programs said: the last lines that rise and that fall; slope 0: none yet. */
struct tangents {
    struct tangent rising, falling;
    int count;
};

/* Returns the line of a program's pipeline; `value`: its bound. Slope 0 where r does not matter. */
struct tangent bound_tangent(const struct bound *bound, const struct interval *interval, double value,
                             const struct tile_stage *stages, int count);

/* Adds a line. Returns whether another r is worth a program, for a bound that now is `reached` and should be `wanted`;
 * then *reward is that r. */
bool bound_next_reward(const struct interval *interval, struct tangents *tangents,
                       const struct tangent *tangent, double reached, double wanted, double *reward);

/* Returns a lower bound on the slowest stage of any plan. */
double bound_min_slowest(const struct bound *bound);

#endif
