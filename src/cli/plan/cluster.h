/* `rehearse plan --objective iteration` with a cluster file. */
#ifndef REHEARSE_CLI_PLAN_CLUSTER_H
#define REHEARSE_CLI_PLAN_CLUSTER_H

#include "cli/plan/command.h"
#include "cluster/cluster.h"
#include "plan/fleet/of_job.h"

/* Devices, calibrations and links of a group, by their names; links that the file describes are made like those that are
 * usual for the device, and live in *links. */
#define PLAN_LINKS_MOST (2 * FLEET_TYPES_MOST)
struct plan_links {
    int count;
    struct cost_link links[PLAN_LINKS_MOST];
};
bool plan_cluster_group(struct fleet_group *group, const struct cluster *cluster, int index,
                        const char *across, const struct tables *tables, struct plan_links *links,
                        struct error *err);

/* A model on several groups. `job` has model, software and sequence. */
bool plan_model_on_cluster(const struct plan_options *options, const struct cluster *cluster,
                           const struct tables *tables, const struct job *job, int64_t batch,
                           struct error *err);

/* A measured profile on any cluster. */
bool plan_profile_on_cluster(const struct plan_options *options, int64_t batch, struct error *err);

#endif
