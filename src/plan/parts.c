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

const struct software *plan_software_of(const struct plan *plan, struct error *err)
{
    const char *name = plan->software ? plan->software : "megatron-core";
    const struct software *software = tables_ready(err) ? software_find(name) : NULL;
    if (!software)
        error_set(err, ERROR_INPUT, "%s: training.software: unknown '%s', see 'rehearse cost --list'",
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
    if (!tables_link(tables, name)) {
        unknown(plan, err, "link", name, "links FILE");
        return NULL;
    }
    const struct cost_link *link =
        cluster_link_like(tables, name, said && said->bandwidth > 0 ? said->bandwidth : 0, &plan->arena);
    if (!link)
        error_memory(err);
    return link;
}

/* Makes every step over a link so many seconds longer, or shorter as far as it can be. */
static const struct cost_link *slower_link(const struct cost_link *link, double more, struct arena *arena)
{
    struct cost_link *own = ARENA_NEW(arena, struct cost_link);
    if (!own)
        return NULL;
    *own = *link;
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
        for (int p = 0; p < LINK_PROTOCOLS; p++) {
            struct link_protocol *protocol = &own->transfers[kind].protocols[p];
            double hop = protocol->hop + more;
            protocol->hop = fmax(0, hop);
            protocol->base = fmax(0, protocol->base + fmin(0, hop));
        }
    return own;
}

/* Plans give a link the seconds of sending a byte over it. Where a plan says others than the tables, it was changed by hand,
 * and so is the link. `inside`: the link within a node. */
static bool apply_latency(struct cluster_group *group, struct plan *plan, int index, bool inside)
{
    const struct cost_link **link = inside ? &group->inside : &group->across;
    const struct collective_group ranks = {
        .devices = 2,
        .devices_per_node = inside && group->devices_per_node > 1 ? 2 : 1,
        .inside = group->inside,
        .across = group->across,
    };
    if (index < 0 || index >= plan->link_count || !isfinite(plan->links[index].latency))
        return true;
    double known = transfer_seconds(COLLECTIVE_SEND, &ranks, 1.0, group->calibration),
           more = plan->links[index].latency - known;
    if (fabs(more) > SAME_LATENCY)
        *link = slower_link(*link, more, &plan->arena);
    return *link;
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
    bool counted = said->per_node > 1 || (said->nodes > 0 && said->per_node > 0);
    *group = (struct cluster_group){
        .device = said->name,
        .nodes = said->nodes,
        .devices_per_node = counted ? said->per_node : usual.devices,
        .memory = said->memory,
        .network = &plan->network,
        .inside = link_of(plan, given->tables, said->inside, device->link, err),
    };
    group->across = group->inside ? link_of(plan, given->tables, said->across, usual.across, err) : NULL;
    if (!group->across)
        return false;
    return (cluster_set_type(group, given->tables, device, &plan->arena) &&
            apply_latency(group, plan, said->inside, true) &&
            apply_latency(group, plan, said->across, false)) ||
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
