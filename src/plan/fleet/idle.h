/* Why devices of a type stay idle: the best plan that would use one of them.
 *
 * Problem. A plan leaves devices of a type idle. How long does a plan take that must use one of them?
 *
 * Answer. From each kind of the plan's pipelines one copy is changed: a stage on an idle device, with any of the type's
 * options, is put before or behind each of its stages, or takes the place of one. Also a further pipeline of idle
 * devices alone is tried, of any number of stages with one option. The layers are cut again, with the minimum cycle
 * that memory allows, which is exact for a given order of options, but for the differences of messages: a cycle is
 * tried by the layers at which each stage can end, and halved in. The new pipeline does at least one micro-batch, and
 * the others share the rest.
 *
 * The fastest of these is an upper bound of what the best such plan takes, and never less than the plan's own time by
 * more than the search missed.
 *
 * Checked: against brute force over all cuts of small pipelines (tests/plan/fleet). */
#ifndef REHEARSE_PLAN_FLEET_IDLE_H
#define REHEARSE_PLAN_FLEET_IDLE_H

#include "plan/fleet/fleet.h"

/* Returns the seconds, `after` included, of the best plan found that uses `left` more devices of the type at most, and
 * at least one; INFINITY: none fits; NAN: memory ran out. After the deadline (clock_now; 0: none) the first one found
 * is enough. */
double fleet_seconds_with(const struct fleet_choice *plan, const struct fleet_problem *problem, int type,
                          int left, double deadline);

/* Cuts the layers for stages with these options, so that the slowest takes the minimum time. Sets the pipeline's
 * stages, which have room for `count`, and scores it. `work` has room for `count` x (layers + 1). False: nothing
 * fits. */
bool fleet_cut(const struct fleet_problem *problem, const int *options, int count,
               struct fleet_pipeline *pipeline, int *work);

#endif
