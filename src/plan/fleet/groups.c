#include "plan/fleet/groups.h"

#include "devices/tables.h"
#include "devices/usual.h"

static const struct cost_link *link_like(const struct tables *tables, struct fleet_links *links,
                                         const char *name, const struct cluster_link *given, int sharers)
{
    const struct cost_link *known = tables_link(tables, name);
    if (!known || given->bandwidth == 0.0)
        return known;
    struct cost_link *own = &links->links[links->count++];
    *own = *known;
    own->bandwidth = given->bandwidth / sharers;
    return own;
}

bool fleet_group_of(struct fleet_group *group, const struct cluster *cluster, int index, const char *across,
                    const struct tables *tables, struct fleet_links *links, struct error *err)
{
    const struct cluster_group *from = &cluster->groups[index];
    if (!tables_ready(err))
        return false;
    *group = (struct fleet_group){
        .device = tables_device(tables, from->device),
        .nodes = from->nodes,
        .devices_per_node = from->devices_per_node,
    };
    if (!group->device)
        return error_set(err, ERROR_INPUT,
                         "%s.device: '%s' is not a device that is known: see 'rehearse cost --list'",
                         from->place, from->device);
    group->calibration = tables_calibration(tables, group->device);
    group->memory = from->memory > 0 ? (double)from->memory : (double)group->device->memory;
    group->inside = link_like(tables, links, group->device->link, &from->intra_node, 1);
    /* what the file says is a node's, a link's bandwidth is a device's when all of them send */
    group->across = across ? tables_link(tables, across)
                           : link_like(tables, links, usual_node(group->device).across, &cluster->inter_node,
                                       from->devices_per_node);
    return (group->inside && group->across) ||
           error_set(err, ERROR_USAGE, "--across: unknown '%s', see 'rehearse cost --list'",
                     across ? across : "");
}
