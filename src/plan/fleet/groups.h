/* Groups of a cluster file as input of a fleet question. */
#ifndef REHEARSE_PLAN_FLEET_GROUPS_H
#define REHEARSE_PLAN_FLEET_GROUPS_H

#include "cluster/cluster.h"
#include "devices/tables.h"
#include "plan/fleet/of_job.h"

/* Looks up a group's devices, calibrations and links by name. Links described in the file are based on the
 * device's usual ones and live in *links. `across` NULL: the usual link. */
struct fleet_links {
    int count;
    struct cost_link links[2 * FLEET_MAX_TYPES];
};
bool fleet_group_of(struct fleet_group *group, const struct cluster *cluster, int index, const char *across,
                    const struct tables *tables, struct fleet_links *links, struct error *err);

#endif
