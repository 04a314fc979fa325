/* What a plan over several types owes to each of them, to the links and to its settings.
 *
 * Each question is asked again with one change, and searched as before: without a type that works; with a node more of
 * each; with a share more of the matrix units, the memory and its bandwidth, and the links of all types; with the
 * neighbouring micro-batches, the other recomputations and ZeRO stages. More of a resource never makes the plan slower:
 * where the search misses that, the plan's own time counts. */
#ifndef REHEARSE_PLAN_FLEET_EXPLAIN_H
#define REHEARSE_PLAN_FLEET_EXPLAIN_H

#include "plan/fleet/best.h"

/* Adds the changes to the plan's sensitivity, and the plans found to the best one's rivals. `more`: 0.1 is 10 % more of
 * a resource. */
bool fleet_explain(struct plan *plan, struct fleet_best *best, const struct fleet_question *question,
                   double more, struct parallel *pool, struct progress *progress, struct error *err);

/* The same of a measured profile: without a type, with a node more of each, and with a share more of what it was
 * measured on. It has no settings to change. */
bool fleet_explain_profile(struct plan *plan, const struct fleet_profile_question *question, double more,
                           struct error *err);

/* Adds the plans of parts of a profile's types to the rivals: of all sets of up to five types, of more those without
 * one. */
bool fleet_profile_rivals(struct fleet_rivals *rivals, const struct fleet_profile_question *question,
                          struct error *err);

#endif
