#include "plan/parts.h"

#include "cost/collective.h"
#include "devices/device.h"

#include <math.h>
#include <string.h>

#define SAME_LATENCY 1e-9 /* seconds; what a changed bandwidth does to a byte is far less */

static bool unknown(const struct plan *plan, struct error *err, const char *kind, const char *name,
                    const char *option)
{
    const char *path = plan->path ? plan->path : "plan";
    if (!name)
        return error_set(err, ERROR_USAGE, "%s: no %s in the plan: add --%s", path, kind, option);
    return error_set(err, ERROR_USAGE, "%s: unknown %s '%s': add --%s", path, kind, name, option);
}

const struct architecture *plan_model_of(const struct plan *plan, const struct plan_parts *given,
                                         struct error *err)
{
    if (given->model)
        return given->model;
    if (!tables_ready(err))
        return NULL;
    const struct architecture *model = plan->model ? architecture_find(plan->model) : NULL;
    if (!model)
        unknown(plan, err, "model", plan->model, "model NAME (or --profile and --cluster)");
    return model;
}

const struct software *plan_software_of(const struct plan *plan, const struct plan_parts *given,
                                        struct error *err)
{
    const char *name = plan->software ? plan->software : "megatron-core";
    const struct software *software = tables_ready(err) ? tables_software(given->tables, name) : NULL;
    if (!software)
        error_set(err, ERROR_INPUT,
                  "%s: training.software: unknown '%s', see 'rehearse cost --list', or add --software FILE",
                  plan->path ? plan->path : "plan", name);
    return software;
}

bool plan_named_precision(const struct plan *plan, enum model_precision *precision, struct error *err)
{
    const char *said = plan->precision ? plan->precision : model_precisions[MODEL_MIXED];
    for (int p = 0; model_precisions[p]; p++)
        if (strcmp(said, model_precisions[p]) == 0) {
            *precision = (enum model_precision)p;
            return true;
        }
    return error_set(err, ERROR_INPUT, "%s: training.precision: expected mixed, fp32 or fp8, found '%s'",
                     plan->path ? plan->path : "plan", said);
}

/* A link of the plan, or the usual one of the device. */
static const struct cost_link *link_of(struct plan *plan, const struct tables *tables, int index,
                                       const char *usual, struct error *err)
{
    const struct plan_link *said = index >= 0 && index < plan->link_count ? &plan->links[index] : NULL;
    const char *name = said ? said->name : usual;
    const struct cost_link *link = cluster_link_like(
        tables, NULL, name, said && said->bandwidth > 0 ? said->bandwidth : 0, &plan->arena);
    if (!link)
        unknown(plan, err, "link", name, "links FILE");
    return link;
}

double plan_link_latency(const struct cluster_group *group, bool inside)
{
    const struct collective_group ranks = {
        .devices = 2,
        .devices_per_node = inside && group->nodes.devices > 1 ? 2 : 1,
        .inside = group->inside,
        .across = group->across,
    };
    const struct cost_link *link = ranks.devices_per_node > 1 ? group->inside : group->across;
    return link->has_latency ? link->latency
                             : transfer_seconds(COLLECTIVE_SEND, &ranks, 1.0, group->calibration);
}

/* Sets the seconds of sending a byte over a link. */
static bool apply_latency(struct cluster_group *group, bool inside, double latency, struct arena *arena)
{
    const struct cost_link **link = inside ? &group->inside : &group->across;
    double more = latency - plan_link_latency(group, inside);
    if (fabs(more) <= SAME_LATENCY)
        return true;
    struct cost_link *own = ARENA_NEW(arena, struct cost_link);
    if (!own)
        return false;
    *own = **link;
    own->later += more;
    own->latency = latency;
    own->has_latency = true;
    *link = own;
    return true;
}

/* Where a plan says others than the tables, its links are not those of the tables: of a cluster file, or changed by
 * hand. */
static bool apply_said(struct cluster_group *group, struct plan *plan, int index, bool inside)
{
    if (index < 0 || index >= plan->link_count || !isfinite(plan->links[index].latency))
        return true;
    return apply_latency(group, inside, plan->links[index].latency, &plan->arena);
}

bool plan_resolve_cluster(struct cluster *cluster, const struct tables *tables, const char *across,
                          struct error *err)
{
    if (!cluster_resolve(cluster, tables, across, err))
        return false;
    for (int g = 0; g < cluster->group_count; g++) {
        struct cluster_group *group = &cluster->groups[g];
        const struct cluster_link *inside = &group->intra_node, *between = &cluster->inter_node;
        if ((inside->has_latency && !apply_latency(group, true, inside->latency, &cluster->arena)) ||
            (between->has_latency && !across &&
             !apply_latency(group, false, between->latency, &cluster->arena)))
            return error_memory(err);
    }
    return true;
}

static bool resolve_type(struct cluster_group *group, struct plan *plan, int index,
                         const struct plan_parts *given, struct error *err)
{
    const struct plan_device_type *said = &plan->types[index];
    const struct cost_device *device = given->device;
    if (!device || (plan->type_count > 1 && strcmp(device->name, said->name) != 0))
        device = tables_device(given->tables, said->name);
    if (!device)
        return unknown(plan, err, "device", said->name, "device NAME");
    struct usual_node usual = usual_node(device);
    bool counted = said->nodes.devices > 1 || (said->nodes.count > 0 && said->nodes.devices > 0);
    *group = (struct cluster_group){
        .device = said->name,
        .nodes = {said->nodes.count, counted ? said->nodes.devices : usual.devices, said->nodes.memory},
        .network = &plan->network,
        .inside = link_of(plan, given->tables, said->inside, device->link, err),
    };
    group->across = group->inside ? link_of(plan, given->tables, said->across, usual.across, err) : NULL;
    if (!group->across)
        return false;
    return (cluster_set_type(group, given->tables, device, &plan->arena) &&
            apply_said(group, plan, said->inside, true) && apply_said(group, plan, said->across, false)) ||
           error_memory(err);
}

const struct cluster_group *plan_groups_of(struct plan *plan, const struct plan_parts *given,
                                           struct error *err)
{
    if (!tables_ready(err))
        return NULL;
    struct cluster_group *groups =
        ARENA_ARRAY(&plan->arena, (size_t)plan->type_count + 1, struct cluster_group);
    if (!groups)
        error_memory(err);
    for (int t = 0; groups && t < plan->type_count; t++)
        if (!resolve_type(&groups[t], plan, t, given, err))
            return NULL;
    return groups;
}

int64_t plan_devices_asked(const struct plan *plan)
{
    double asked = plan_figure(plan, "devices");
    return asked >= 1 && asked <= (double)plan_devices(plan) ? (int64_t)asked : plan_devices(plan);
}
