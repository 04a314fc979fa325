/* Looks up the parts that a plan names, in the tables: model, software, devices and links. */
#ifndef REHEARSE_PLAN_PARTS_H
#define REHEARSE_PLAN_PARTS_H

#include "cluster/cluster.h"
#include "cost/model_profile.h"
#include "devices/software.h"
#include "devices/tables.h"
#include "plan/plan.h"

/* Overrides of the plan's names; NULL: the plan's. */
struct plan_parts {
    const struct tables *tables; /* for lookups by name; NULL: the built-in ones */
    const struct architecture *model;
    const struct cost_device *device; /* for every device type of this name, or for a plan with one type */
};

/* Each fails if the tables lack the name; the error names the option that is needed. */
const struct architecture *plan_model_of(const struct plan *plan, const struct plan_parts *given,
                                         struct error *err);
const struct software *plan_software_of(const struct plan *plan, const struct plan_parts *given,
                                        struct error *err);
bool plan_named_precision(const struct plan *plan, enum model_precision *precision, struct error *err);

/* Returns the plan's device types as resolved groups, with the plan's memory and links, in the plan's arena. nodes 0:
 * the plan does not say how many. NULL: an error. */
const struct cluster_group *plan_groups_of(struct plan *plan, const struct plan_parts *given,
                                           struct error *err);

/* cluster_resolve, with the latencies that the file gives. */
bool plan_resolve_cluster(struct cluster *cluster, const struct tables *tables, const char *across,
                          struct error *err);

/* Returns the seconds of sending a byte to the next device, or to the next node, of a resolved group: a link has no
 * other single latency, and plans have this one. */
double plan_link_latency(const struct cluster_group *group, bool inside);

/* Returns the number of devices that the plan was made for: the whole cluster, or as many as were
 * requested. */
int64_t plan_devices_asked(const struct plan *plan);

#endif
