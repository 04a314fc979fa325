/* Devices of a better type used as those of a lesser one: they are lent to it.
 *
 * Problem. Jobs on groups share the batch, but each shards, and cuts, for its own devices alone (mix.h). More devices
 * of one type can be faster than a job on each of two: the lesser group alone may be too small for the model, or
 * optimizer states have more devices. A device that has no less memory, no lower rates and no slower links than one of
 * another type does whatever that one does, and no later. Choose how many devices each group lends to each lesser one,
 * so that jobs on the groups that result end earliest. (Pipelines over several types need no lending: a stage on the
 * better type is as fast as it is there.)
 *
 * Search. Whole groups are lent in every way, and each cluster that results is planned by jobs on its groups (mix.h).
 * Parts of groups are lent, too, where all numbers of nodes are at most LEND_MAX sets: whole nodes, and of a group of
 * one node what makes whole nodes of the lesser group. Of these, only jobs on two groups or more are new: one alone has
 * no more devices than where all that may be are lent to it.
 *
 * Bound. No plan of a cluster ends before the bound of its classes of settings (mix_classes.c). A cluster whose bound
 * is no lower than the best plan is left out; the bound of all is the least of theirs. Where parts are too many, it
 * says nothing of them.
 *
 * Law. Where all numbers are searched, neither more devices nor better ones in place of others make a plan slower: the
 * cluster before is one of those that result from the cluster after.
 *
 * Checked: against every cluster that results, planned alone, on small clusters (tests/plan/fleet), and by
 * tests/laws. */
#ifndef REHEARSE_PLAN_FLEET_LEND_H
#define REHEARSE_PLAN_FLEET_LEND_H

#include "plan/fleet/mix.h"

#define LEND_MAX 16

/* Devices of a group that are used as those of another one. */
struct fleet_lending {
    int devices[FLEET_MAX_TYPES][FLEET_MAX_TYPES]; /* [better][lesser] */
};

/* Returns whether a device of group `better` may be used as one of `worse`, and a node as whole nodes. */
bool fleet_may_lend(const struct fleet_question *question, int better, int worse);

/* Changes the numbers of nodes; groups that are left without any are dropped, so that others may have another place. */
void fleet_lend(struct fleet_question *question, const struct fleet_lending *lent);

/* Lends so many devices that groups have as many as are wanted of each, as far as better ones have more than that. */
void fleet_lend_for(struct fleet_question *question, const int *wanted);

#endif
