/* `rehearse plan --objective iteration` with a cluster file. */
#ifndef REHEARSE_CLI_PLAN_CLUSTER_H
#define REHEARSE_CLI_PLAN_CLUSTER_H

#include "cli/plan/command.h"
#include "cluster/cluster.h"
#include "plan/fleet/groups.h"

/* A model on several groups. `job` has model, software and sequence. */
bool plan_model_on_cluster(const struct plan_options *options, const struct cluster *cluster,
                           const struct tables *tables, const struct job *job, int64_t batch,
                           struct error *err);

/* A measured profile on any cluster. */
bool plan_profile_on_cluster(const struct plan_options *options, int64_t batch, struct error *err);

#endif
