/* All-reduce times of a computed profile. */
#ifndef REHEARSE_COST_PROFILE_LINKS_H
#define REHEARSE_COST_PROFILE_LINKS_H

#include "devices/link.h"
#include "model/profile.h"

#include <stdbool.h>

/* Fills in one device type's all-reduce times of every layer's gradients (the bytes of its parameters):
 * inside a node for 1 to devices_per_node devices, across 1 to `nodes` nodes with one device of each. 0:
 * none. False: out of memory. */
bool profile_fill_allreduce(struct profile *profile, struct profile_device *device,
                            const struct cost_link *inside, const struct cost_link *across,
                            int devices_per_node, int nodes);

#endif
