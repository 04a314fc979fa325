/* Groups of a cluster file as the fleet's question has them. */
#ifndef REHEARSE_PLAN_FLEET_GROUPS_H
#define REHEARSE_PLAN_FLEET_GROUPS_H

#include "cluster/cluster.h"
#include "devices/tables.h"
#include "plan/fleet/of_job.h"

/* Devices, calibrations and links of a group, by their names; links that the file describes are made like those that are
 * usual for the device, and live in *links. `across` NULL: the link that is usual. */
struct fleet_links {
    int count;
    struct cost_link links[2 * FLEET_MAX_TYPES];
};
bool fleet_group_of(struct fleet_group *group, const struct cluster *cluster, int index, const char *across,
                    const struct tables *tables, struct fleet_links *links, struct error *err);

#endif
