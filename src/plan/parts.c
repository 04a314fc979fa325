#include "plan/parts.h"

#include "devices/usual.h"

#include <math.h>
#include <string.h>

static bool unknown(const struct plan *plan, struct error *err, const char *kind, const char *name,
                    const char *option)
{
    const char *path = plan->path ? plan->path : "plan";
    if (!name)
        return error_set(err, ERROR_USAGE, "%s: names no %s: --%s is needed", path, kind, option);
    return error_set(err, ERROR_USAGE, "%s: %s '%s' is not in the tables: --%s is needed", path, kind, name,
                     option);
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

/* A link of the plan, or the usual one of the device. */
static bool find_link(struct cost_link *link, const struct tables *tables, const struct plan *plan, int index,
                      const char *usual, struct error *err)
{
    const struct plan_link *said = index >= 0 && index < plan->link_count ? &plan->links[index] : NULL;
    const struct cost_link *known = tables_link(tables, said ? said->name : usual);
    if (!known)
        return unknown(plan, err, "link", said ? said->name : usual, "links FILE");
    *link = *known;
    if (said && said->bandwidth > 0)
        link->bandwidth = said->bandwidth;
    return true;
}

bool plan_machine_of(struct plan_machine *machine, const struct plan *plan, int type,
                     const struct plan_parts *given, struct error *err)
{
    const struct plan_device_type *said = &plan->types[type];
    const struct cost_device *device = given->device;
    if (!tables_ready(err))
        return false;
    if (!device || (plan->type_count > 1 && strcmp(device->name, said->name) != 0))
        device = tables_device(given->tables, said->name);
    if (!device)
        return unknown(plan, err, "device", said->name, "device NAME");
    struct usual_node usual = usual_node(device);
    *machine = (struct plan_machine){
        .device = *device,
        .calibration = tables_calibration(given->tables, device),
        .nodes = said->nodes,
        .per_node =
            said->per_node > 1 || (said->nodes > 0 && said->per_node > 0) ? said->per_node : usual.devices,
    };
    if (said->memory > 0)
        machine->device.memory = said->memory;
    return find_link(&machine->inside, given->tables, plan, said->inside, device->link, err) &&
           find_link(&machine->across, given->tables, plan, said->across, usual.across, err);
}

int64_t plan_devices_asked(const struct plan *plan)
{
    double asked = plan_figure(plan, "devices");
    return asked >= 1 && asked <= (double)plan_devices(plan) ? (int64_t)asked : plan_devices(plan);
}
