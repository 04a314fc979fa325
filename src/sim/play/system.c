#include "sim/play/system.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- messages ---- */

/* Numbers the channels of what a device sends by its own ports, in the order of devices. Returns their number; -1: too
 * many. */
static int number_channels(const struct play_system *system, int *first)
{
    int64_t count = 0;
    for (int d = 0; d < system->layout.count; d++) {
        first[d] = (int)count;
        count += system->orders.devices[layout_rank(&system->layout, d)].port_count;
        if (count > INT_MAX)
            return -1;
    }
    return (int)count;
}

/* Sets the ports of all devices: what one sends by a port, its peer receives by the port that has the sender's place in
 * its block. */
static void connect(const struct play_system *system, const int *first, int *const *ports)
{
    const struct layout *layout = &system->layout;
    for (int d = 0; d < layout->count; d++) {
        struct layout_place at = layout->at[d];
        const struct play_pipeline *pipeline = &system->model->pipelines[at.pipeline];
        const struct layer_ports *of = &system->orders.ports[system->orders.first_stage[at.pipeline]];
        for (int s = 0; s < pipeline->order.stages; s++) {
            if (pipeline->order.device_of[s] != at.place)
                continue;
            for (int back = 0; back < 2; back++) {
                int peer = of[s].peer[back], own = of[s].first[back ? PORT_SEND_BACK : PORT_SEND_FORWARD];
                if (peer < 0)
                    continue;
                struct layout_block block = layout_block(layout, d, pipeline->order.device_of[peer]);
                int theirs = of[peer].first[back ? PORT_RECEIVE_BACK : PORT_RECEIVE_FORWARD];
                for (int i = 0; i < block.count; i++) {
                    int channel = first[d] + own - 1 + i;
                    ports[d][own - 1 + i] = channel;
                    ports[block.first + i][theirs - 1 + block.own] = channel;
                }
            }
        }
    }
}

/* ---- devices ---- */

static struct sim_straggler straggler_of(const struct sim_options *options, int device)
{
    for (int i = options->straggler_count - 1; i >= 0; i--)
        if (device >= options->stragglers[i].first && device <= options->stragglers[i].last)
            return options->stragglers[i];
    return (struct sim_straggler){.factor = 0.0};
}

static void set_device(const struct play_system *system, int d, int *const *ports, struct engine_device *to)
{
    struct layout_place at = system->layout.at[d];
    const struct play_pipeline *pipeline = &system->model->pipelines[at.pipeline];
    const struct sim_options *options = system->model->options;
    const struct sim_memory *state = &pipeline->devices[at.place].state;
    const struct sim_straggler slow = straggler_of(options, d);
    int rank = pipeline->first_device + at.place;
    *to = (struct engine_device){
        .rank = d,
        .members = 1,
        .order = rank,
        .ports = ports[d],
        .groups = wires_groups(&system->wires, d),
        .routes = wires_routes(&system->wires, d),
        .port_count = system->orders.devices[rank].port_count,
        .group_count = LAYER_GROUPS - 1,
        .route_count = system->orders.devices[rank].route_count,
        .factor = slow.factor,
        .slow_from = slow.from,
        .slow_until = slow.until,
        .key = (uint64_t)d,
        .memory = {[MEMORY_PARAMETERS] = llround(state->parameters),
                   [MEMORY_GRADIENTS] = llround(state->gradients),
                   [MEMORY_OPTIMIZER] = llround(state->optimizer),
                   [MEMORY_WORKING] = 0},
    };
}

static bool make_devices(struct play_system *system, struct engine_system *whole, struct error *err)
{
    size_t count = (size_t)system->layout.count;
    int *first = ARENA_ARRAY(&system->arena, count, int);
    int **ports = ARENA_ARRAY(&system->arena, count, int *);
    struct engine_device *devices = ARENA_ARRAY(&system->arena, count, struct engine_device);
    if (!first || !ports || !devices)
        return error_memory(err);
    whole->channel_count = number_channels(system, first);
    if (whole->channel_count < 0)
        return error_set(err, ERROR_INPUT, "the plan's devices have too many messages between them");
    int *numbers = ARENA_ARRAY(&system->arena, (size_t)whole->channel_count + 1, int);
    if (!numbers)
        return error_memory(err);
    for (size_t d = 0; d < count; d++)
        ports[d] = &numbers[first[d]];
    connect(system, first, ports);
    for (size_t d = 0; d < count; d++)
        set_device(system, (int)d, ports, &devices[d]);
    whole->devices = system->devices = devices;
    whole->device_count = system->layout.count;
    return true;
}

static const struct engine_label labels[LAYER_LABELS] = {
    [SIM_FORWARD] = {"forward", TASK_FORWARD},
    [SIM_BACKWARD] = {"backward", TASK_BACKWARD},
    [SIM_RECOMPUTE] = {"recompute", TASK_RECOMPUTE},
    [SIM_TENSOR] = {"tensor", TASK_COLLECTIVE},
    [SIM_CONTEXT] = {"context", TASK_COLLECTIVE},
    [SIM_EXPERT] = {"expert", TASK_COLLECTIVE},
    [SIM_SHARDS] = {"shards", TASK_COLLECTIVE},
    [SIM_SEND] = {"send", TASK_SEND},
    [SIM_BUBBLE] = {"bubble", TASK_OTHER},
    [SIM_GRADIENTS] = {"gradients", TASK_COLLECTIVE},
    [SIM_OPTIMIZER] = {"optimizer", TASK_OPTIMIZER},
    [SIM_LOAD] = {"loading", TASK_LOAD},
    [SIM_SAVE] = {"saving", TASK_SAVE},
    [SIM_OTHER] = {"other", TASK_OTHER},
    [LABEL_INPUT] = {"input gradient", TASK_INPUT},
    [LABEL_WEIGHT] = {"weight gradient", TASK_WEIGHT},
    [LABEL_RECEIVE] = {"receive", TASK_RECEIVE},
    [LABEL_COPY] = {"copy to host", TASK_SAVE},
};

/* What tasks of a group do; a plan's gradients, reduced and gathered or scattered, are the same bytes on the wire. */
static const char *const collectives[LAYER_GROUPS] = {
    [GROUP_TENSOR] = "allreduce",    [GROUP_CONTEXT] = "all_gather",     [GROUP_EXPERT] = "all_to_all",
    [GROUP_GATHER] = "all_gather",   [GROUP_SCATTER] = "reduce_scatter", [GROUP_SHOWN] = "allreduce",
    [GROUP_GRADIENTS] = "allreduce", [GROUP_TIE] = "allreduce",          [GROUP_ALL] = "barrier",
    [GROUP_SAVED] = "barrier",       [GROUP_COPIES] = "allreduce",       [GROUP_PAIR] = "all_to_all",
};

enum sim_cause play_cause_of(int label)
{
    return label == LABEL_RECEIVE                          ? SIM_SEND
           : label == LABEL_COPY                           ? SIM_SAVE
           : label == LABEL_INPUT || label == LABEL_WEIGHT ? SIM_BACKWARD
                                                           : (enum sim_cause)label;
}

/* ---- the system ---- */

/* Leaves one device of each kind. */
static bool reduce(struct play_system *system, const struct engine_system *whole, struct error *err)
{
    if (!engine_symmetry_find(whole, &system->symmetry, err))
        return false;
    system->engine = system->symmetry.system;
    system->shown = system->symmetry.device;
    size_t count = (size_t)system->engine.device_count;
    system->devices = ARENA_ARRAY(&system->arena, count, struct engine_device);
    if (!system->devices)
        return error_memory(err);
    memcpy(system->devices, system->engine.devices, count * sizeof *system->devices);
    system->engine.devices = system->devices;
    return true;
}

static bool keep_all(struct play_system *system, const struct engine_system *whole, struct error *err)
{
    system->engine = *whole;
    system->shown = ARENA_ARRAY(&system->arena, (size_t)whole->device_count, int);
    if (!system->shown)
        return error_memory(err);
    for (int d = 0; d < whole->device_count; d++)
        system->shown[d] = d;
    return true;
}

bool play_system_make(struct play_system *system, const struct play_model *model, struct error *err)
{
    const struct sim_options *options = model->options;
    *system = (struct play_system){.model = model};
    struct engine_system whole = {
        .labels = labels,
        .collectives = collectives,
        .label_count = LAYER_LABELS,
        .order_count = layout_rank_count(model),
        .seed = options->seed,
        .jitter = options->jitter,
    };
    if (!layer_orders_make(&system->orders, model, err) || !layout_make(&system->layout, model, err))
        return false;
    for (int i = 0; i < options->straggler_count; i++)
        if (options->stragglers[i].first < 0 || options->stragglers[i].last >= system->layout.count)
            return error_set(err, ERROR_USAGE, "straggler: expected a device from 0 to %d, found %d",
                             system->layout.count - 1, options->stragglers[i].last);
    if (!wires_make(&system->wires, &system->layout, &system->orders, err))
        return false;
    whole.templates = system->orders.templates;
    whole.template_count = system->orders.template_count;
    whole.orders = system->orders.orders;
    whole.groups = system->wires.groups;
    whole.group_count = system->wires.group_count;
    whole.routes = system->wires.routes;
    whole.route_count = system->wires.route_count;
    whole.links = system->wires.links;
    whole.link_count = system->wires.link_count;
    if (!make_devices(system, &whole, err))
        return false;
    bool all = options->no_symmetry || options->jitter > 0;
    if (!(all ? keep_all(system, &whole, err) : reduce(system, &whole, err)))
        return false;
    system->by_place = system->engine.device_count == layout_rank_count(model);
    for (int a = 0; system->by_place && a < system->engine.device_count; a++)
        system->devices[a].rank = layout_rank(&system->layout, system->shown[a]);
    return true;
}

void play_system_release(struct play_system *system)
{
    engine_symmetry_release(&system->symmetry);
    wires_release(&system->wires);
    arena_release(&system->layout.arena);
    arena_release(&system->orders.arena);
    arena_release(&system->arena);
}
