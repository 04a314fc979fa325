#include "engine_small.h"

#include <string.h>

static const struct engine_label labels[SMALL_LABELS] = {{"kernel", TASK_FORWARD},
                                                         {"transfer", TASK_COLLECTIVE}};

struct small_system small;

void small_begin(int devices, int passes)
{
    memset(&small, 0, sizeof small);
    for (int i = 0; i < SMALL_MAX; i++)
        small.numbers[i] = i;
    for (int d = 0; d < devices; d++) {
        small.templates[d] = (struct engine_template){.tasks = small.tasks[d], .stage = {d, -1}};
        for (int i = 0; i < passes; i++)
            small.passes[d][i] = (struct engine_pass){(uint32_t)d, {(uint32_t)i, 0}};
        small.orders[d] = (struct engine_order){small.passes[d], (size_t)passes};
        small.devices[d] = (struct engine_device){.rank = d,
                                                  .members = 1,
                                                  .order = d,
                                                  .ports = small.numbers,
                                                  .groups = small.numbers,
                                                  .routes = small.numbers};
    }
    small.system = (struct engine_system){
        .labels = labels,
        .templates = small.templates,
        .orders = small.orders,
        .devices = small.devices,
        .groups = small.groups,
        .routes = small.routes,
        .links = small.links,
        .label_count = SMALL_LABELS,
        .template_count = devices,
        .order_count = devices,
        .device_count = devices,
        .channel_count = SMALL_MAX,
    };
}

void small_add(int device, struct engine_task task)
{
    small.tasks[device][small.templates[device].count++] = task;
}

void small_link(double capacity)
{
    int link = small.system.link_count++;
    small.links[link] = (struct engine_link){.capacity = capacity};
}

void small_route(int first, int count)
{
    static struct engine_use uses[SMALL_MAX][SMALL_MAX];
    int route = small.system.route_count++;
    for (int i = 0; i < count; i++)
        uses[route][i] = (struct engine_use){(uint32_t)(first + i), ENGINE_WEIGHT};
    small.routes[route] = (struct engine_route){uses[route], count};
}

void small_group(int members, int route)
{
    small.groups[small.system.group_count++] = (struct engine_group){members, route};
}

void small_allow_all(void)
{
    for (int d = 0; d < small.system.device_count; d++) {
        small.devices[d].port_count = SMALL_MAX;
        small.devices[d].group_count = small.system.group_count;
        small.devices[d].route_count = small.system.route_count;
    }
}
