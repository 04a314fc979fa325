#include "plan/problem.h"

#include "core/text.h"

#include <string.h>

const char *const plan_memory_models[] = {"in-flight", "reference", NULL};

struct builder {
    struct plan_problem *problem;
    const struct profile *profile;
    const struct cluster *cluster;
    enum plan_allreduce allreduce;
    struct error *err;
};

/* What a lone Oobleck folder was measured on: it does not say so itself. */
static const char *lone_device(const struct builder *b)
{
    if (b->cluster->profile_device)
        return b->cluster->profile_device;
    const char *device = b->cluster->groups[0].device;
    for (int g = 1; g < b->cluster->group_count; g++)
        if (strcmp(device, b->cluster->groups[g].device) != 0)
            return NULL;
    return device;
}

static const struct profile_device *find_device(const struct builder *b, const char *name)
{
    const struct profile *profile = b->profile;
    if (profile->device_count == 1 && !profile->devices[0].name) {
        const char *lone = lone_device(b);
        return lone && strcmp(lone, name) == 0 ? &profile->devices[0] : NULL;
    }
    return profile_find_device(profile, name);
}

static bool no_times(const struct builder *b, const char *place, const char *device, const char *advice)
{
    const char *names[PROFILE_MAX_DEVICES];
    struct text_hint hint;
    size_t count = 0;
    for (int d = 0; d < b->profile->device_count; d++)
        if (b->profile->devices[d].name)
            names[count++] = b->profile->devices[d].name;
    return error_set(b->err, ERROR_INPUT, "%s.device: profile '%s' has no times for '%s'%s", place,
                     b->profile->path, device,
                     text_suggest(&hint, text_nearest(device, names, count), advice));
}

/* What a group of a type without times of its own needs: a type to scale from, and the speeds of both. */
static bool check_scaling(const struct builder *b, const struct cluster_group *group)
{
    const struct cluster *cluster = b->cluster;
    if (!cluster->profile_device)
        return no_times(b, group->place, group->device,
                        "; measure it, or name under profile: what was measured, with the speeds of both");
    if (!find_device(b, cluster->profile_device))
        return no_times(b, cluster->profile_place, cluster->profile_device, "");
    if (cluster->profile_speed <= 0)
        return error_set(b->err, ERROR_INPUT, "%s: 'speed' is missing, to scale times from '%s' to '%s'",
                         cluster->profile_place, cluster->profile_device, group->device);
    return group->speed > 0 ||
           error_set(b->err, ERROR_INPUT, "%s: 'speed' is missing, to scale times from '%s' to '%s'",
                     group->place, cluster->profile_device, group->device);
}

/* The profiled device type that stands for this group, and how much faster the group is than it. */
static const struct profile_device *device_of_group(const struct builder *b,
                                                    const struct cluster_group *group, double *speedup)
{
    const struct profile_device *device = find_device(b, group->device);
    *speedup = 1;
    if (device)
        return device;
    if (!check_scaling(b, group))
        return NULL;
    *speedup = group->speed / b->cluster->profile_speed;
    b->problem->used |= CLUSTER_SPEED;
    return find_device(b, b->cluster->profile_device);
}

static const double *scaled(struct builder *b, const double *times, double speedup)
{
    int layers = b->profile->layer_count;
    double *out = ARENA_ARRAY(&b->problem->arena, (size_t)layers, double);
    for (int i = 0; out && i < layers; i++)
        out[i] = times[i] / speedup;
    return out;
}

/* Ring all-reduce: each device sends and receives 2 (g-1)/g of the bytes, in 2 (g-1) steps. */
static double ring_seconds(int64_t bytes, int devices, const struct cluster_link *link)
{
    double steps = 2.0 * (devices - 1);
    return steps / devices * (double)bytes / link->bandwidth + steps * link->latency;
}

static bool allreduce_seconds(struct builder *b, const struct cluster_group *group,
                              const struct profile_device *device, int devices, int layer, double *seconds)
{
    *seconds = 0;
    if (b->allreduce == ALLREDUCE_NONE)
        return true;
    if (device->in_node && profile_allreduce_find(&device->in_node[layer], devices, seconds))
        return true;
    if (b->allreduce == ALLREDUCE_PROFILE)
        return error_set(b->err, ERROR_INPUT,
                         "%s: layers[%d]: no all-reduce time for %d devices in a node, which %s needs; "
                         "try --allreduce model or --allreduce none",
                         device->path, layer, devices, group->place);
    if (group->intra_node.bandwidth <= 0)
        return error_set(
            b->err, ERROR_INPUT,
            "%s: --allreduce model needs intra_node: {bandwidth: …} for an all-reduce over %d devices",
            group->place, devices);
    b->problem->used |= CLUSTER_INTRA_NODE;
    *seconds = ring_seconds(b->profile->layers[layer].parameter_bytes, devices, &group->intra_node);
    return true;
}

bool plan_group_check(const struct plan_group *group, struct error *err)
{
    return group->nodes.devices == 1 << (group->splits - 1) ||
           error_set(err, ERROR_INFEASIBLE,
                     "no plan: %s%sa '%s' node has %d devices, and a node is only ever split by halving: the "
                     "number must be a power of two, at most %d",
                     group->place ? group->place : "", group->place ? ": " : "", group->device,
                     group->nodes.devices, 1 << (PLAN_MAX_SPLITS - 1));
}

static bool add_group(struct builder *b, const struct cluster_group *from)
{
    struct plan_problem *problem = b->problem;
    struct plan_group *group = &problem->groups[problem->group_count++];
    double speedup;
    const struct profile_device *device = device_of_group(b, from, &speedup);
    if (!device)
        return false;
    group->device = arena_string(&problem->arena, from->device);
    group->place = arena_string(&problem->arena, from->place);
    group->nodes = from->nodes;
    group->forward = scaled(b, device->forward, speedup);
    group->backward = scaled(b, device->backward, speedup);
    if (device->forward_ms) {
        group->forward_ms = scaled(b, device->forward_ms, speedup);
        group->backward_ms = scaled(b, device->backward_ms, speedup);
        if (!group->forward_ms || !group->backward_ms)
            return error_memory(b->err);
    }
    if (!group->device || !group->place || !group->forward || !group->backward)
        return error_memory(b->err);
    group->splits = 1;
    while (group->splits < PLAN_MAX_SPLITS && 1 << group->splits <= from->nodes.devices)
        group->splits++;
    if (!plan_group_check(group, b->err))
        return false;
    for (int split = 1; split < group->splits; split++) {
        double *seconds = ARENA_ARRAY(&problem->arena, (size_t)problem->layer_count, double);
        if (!seconds)
            return error_memory(b->err);
        for (int i = 0; i < problem->layer_count; i++)
            if (!allreduce_seconds(b, from, device, 1 << split, i, &seconds[i]))
                return false;
        group->allreduce[split] = seconds;
    }
    return true;
}

bool plan_problem_init(struct plan_problem *problem, const struct profile *profile,
                       const struct cluster *cluster, enum plan_objective objective,
                       enum plan_allreduce allreduce, int microbatches, struct error *err)
{
    struct builder b = {problem, profile, cluster, allreduce, err};
    memset(problem, 0, sizeof *problem);
    problem->objective = objective;
    problem->microbatches = microbatches;
    problem->layer_count = profile->layer_count;
    if (profile->device_count == 1 && !profile->devices[0].name && !lone_device(&b))
        return error_set(err, ERROR_INPUT,
                         "%s: the measured device is unknown, and %s has several device types: add profile: "
                         "{device: …, speed: …} there",
                         profile->path, cluster->path);
    int64_t *parameters = ARENA_ARRAY(&problem->arena, (size_t)profile->layer_count, int64_t);
    int64_t *activations = ARENA_ARRAY(&problem->arena, (size_t)profile->layer_count, int64_t);
    if (!parameters || !activations) {
        plan_problem_release(problem);
        return error_memory(err);
    }
    double total = 0;
    for (int i = 0; i < profile->layer_count; i++) {
        parameters[i] = profile->layers[i].parameter_bytes;
        activations[i] = profile->layers[i].activation_bytes;
        total += MEMORY_STATE_FACTOR * (double)parameters[i] + (double)activations[i];
    }
    if (total > 0x1p62) {
        plan_problem_release(problem);
        return error_set(err, ERROR_INPUT, "%s: the layers need %.3g bytes in all, more than can be counted",
                         profile->path, total);
    }
    problem->parameter_bytes = parameters;
    problem->activation_bytes = activations;
    for (int g = 0; g < cluster->group_count; g++)
        if (!add_group(&b, &cluster->groups[g])) {
            plan_problem_release(problem);
            return false;
        }
    return true;
}

void plan_problem_release(struct plan_problem *problem)
{
    arena_release(&problem->arena);
    memset(problem, 0, sizeof *problem);
}

static double stage_memory(const struct plan_problem *problem, int first_layer, int last_layer, int from_end)
{
    struct memory_stage stage = {0};
    for (int i = first_layer; i <= last_layer; i++) {
        stage.state += MEMORY_STATE_FACTOR * (double)problem->parameter_bytes[i];
        stage.kept += (double)problem->activation_bytes[i];
    }
    return memory_of_stage(&stage, memory_in_flight(problem->memory, problem->microbatches, from_end));
}

int64_t plan_stage_memory(const struct plan_problem *problem, int first_layer, int last_layer, int from_end)
{
    double bytes = stage_memory(problem, first_layer, last_layer, from_end);
    return bytes < 0x1p63 ? (int64_t)bytes : INT64_MAX;
}

bool plan_stage_fits(const struct plan_problem *problem, int group, int devices, int first_layer,
                     int last_layer, int from_end)
{
    double limit = (double)problem->groups[group].nodes.memory * devices;
    return limit == 0 || stage_memory(problem, first_layer, last_layer, from_end) <= limit;
}

int plan_problem_devices(const struct plan_problem *problem)
{
    int devices = 0;
    for (int g = 0; g < problem->group_count; g++)
        devices += problem->groups[g].nodes.count * problem->groups[g].nodes.devices;
    return devices;
}

int plan_problem_nodes(const struct plan_problem *problem)
{
    int nodes = 0;
    for (int g = 0; g < problem->group_count; g++)
        nodes += problem->groups[g].nodes.count;
    return nodes;
}
