/* Rates for policies: the iteration time for every number of nodes, and the seconds that copies
 * take. */
#ifndef REHEARSE_ELASTIC_KIT_RATES_H
#define REHEARSE_ELASTIC_KIT_RATES_H

#include "elastic/kit.h"
#include "elastic/policy/policy.h"

/* The fastest set of instances for every number of nodes; pipelines of equal length have the nodes of the
 * smallest shape. On a mixed cluster, nodes are lost from all kinds in proportion. */
bool elastic_rates_of_kit(struct elastic_rates *rates, const struct elastic_kit *kit, int faults,
                          struct error *err);

/* Sets *seconds to the mean, over all single losses, of the seconds of copies between nodes; *checkpoints:
 * the share of losses that no copy answers, so that a checkpoint is needed. */
bool elastic_copy_seconds(const struct elastic_kit *kit, double *seconds, double *checkpoints,
                          struct error *err);

#endif
