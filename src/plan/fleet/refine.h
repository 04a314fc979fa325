/* The exact answer for small fleets: branch and price, with all that could be better listed at once.
 *
 * For each number R of pipelines, which fixes their exchange of gradients and the sharding of their optimizer states,
 * and each range of the seconds afterwards: the linear program at the deadline that a better plan has to meet
 * (fleet.h), all pipelines that can be in such a plan by its prices (near.h), and the best set of them (pack.h). If all
 * are done within the effort, the plan is optimal. */
#ifndef REHEARSE_PLAN_FLEET_REFINE_H
#define REHEARSE_PLAN_FLEET_REFINE_H

#include "plan/fleet/spread.h"

/* Replaces *plan, if it has pipelines, by a better one; without any, finds one that takes less than `enough`. *optimal
 * is set if no plan is faster than *plan or `enough`. `bounds[r]`: no plan of r + 1 pipelines, or of more if it is the
 * last, takes less. False: out of memory. */
bool fleet_refine(struct fleet_choice *plan, struct fleet_problem *problem, const struct fleet_maker *maker,
                  double enough, const double *bounds, int bound_count, bool *optimal, struct error *err);

#endif
