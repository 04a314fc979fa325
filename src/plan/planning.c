#include "plan/planning.h"

#include "cost/profile_devices.h"
#include "plan/parts.h"
#include "plan/pipeline_plan.h"

#include <string.h>

/* Returns the index of the first group of the same type. */
static int first_like(const struct cluster *cluster, int group)
{
    int first = 0;
    while (strcmp(cluster->groups[first].type->name, cluster->groups[group].type->name) != 0)
        first++;
    return first;
}

/* Prices the model's layers on each device type of the cluster, and all-reduces over the nodes' own links. */
static bool price_layers(struct planning *planning, const struct planning_options *options, struct error *err)
{
    struct cluster *cluster = &planning->cluster;
    const struct cost_device *devices[CLUSTER_MAX_GROUPS];
    const struct cluster_group *groups[CLUSTER_MAX_GROUPS];
    struct model_options pricing = options->pricing;
    int count = 0;
    planning->pricing = pricing;
    pricing.microbatch = options->microbatch_size > 0 ? options->microbatch_size : 1;
    pricing.tensor = 1;
    pricing.reach = (struct profile_reach){0}; /* below, over each group's own link */
    if (!plan_resolve_cluster(cluster, pricing.tables, NULL, err))
        return false;
    for (int g = 0; g < cluster->group_count; g++) {
        struct cluster_group *group = &cluster->groups[g], *first = &cluster->groups[first_like(cluster, g)];
        group->device = group->type->name; /* as the profile has it */
        if (first == group) {
            groups[count] = group;
            devices[count++] = group->type;
        } else if (first->inside->bandwidth != group->inside->bandwidth ||
                   first->intra_node.latency != group->intra_node.latency ||
                   first->intra_node.has_latency != group->intra_node.has_latency)
            return error_set(err, ERROR_INPUT, "%s.intra_node: differs from that of another group of '%s'",
                             group->place, group->device);
    }

    if (!model_profile(&planning->profile, options->model, devices, count, &pricing, err))
        return false;
    for (int d = 0; d < count; d++)
        if (!profile_fill_allreduce(&planning->profile, &planning->profile.devices[d], groups[d]->inside,
                                    groups[d]->across, groups[d]->nodes.devices, 0)) {
            profile_release(&planning->profile);
            return error_memory(err);
        }
    return true;
}

bool planning_open(struct planning *planning, const struct planning_options *options, struct error *err)
{
    memset(planning, 0, sizeof *planning);
    if (!options->model &&
        !profile_load(&planning->profile, options->profile, (int)options->microbatch_size, err))
        return false;
    bool loaded = cluster_load(&planning->cluster, options->cluster, err);
    if (loaded && options->join_alike)
        cluster_join_alike(&planning->cluster);
    if (loaded && (!options->model || price_layers(planning, options, err)) &&
        plan_problem_init(&planning->problem, &planning->profile, &planning->cluster,
                          (enum plan_objective)options->objective, (enum plan_allreduce)options->allreduce,
                          (int)options->microbatches, err)) {
        planning->problem.memory = (enum memory_model)options->memory;
        planning->search.time_limit = options->time_limit;
        planning->search.progress = &planning->progress;
        planning->search.pool = parallel_new((int)options->threads, err);
    }
    if (!planning->search.pool) {
        planning_close(planning);
        return false;
    }
    progress_start(&planning->progress, "searching");
    return true;
}

void planning_close(struct planning *planning)
{
    progress_end(&planning->progress);
    parallel_free(planning->search.pool);
    plan_problem_release(&planning->problem);
    cluster_release(&planning->cluster);
    profile_release(&planning->profile);
}

const char *planning_not_counted(const struct planning *planning, struct arena *arena)
{
    unsigned priced = planning->pricing.software ? CLUSTER_INTRA_NODE : 0;
    return cluster_not_counted(&planning->cluster, planning->problem.used | priced, arena);
}

bool plan_of_planning(struct plan *plan, const struct planning *planning, const struct plan_problem *problem,
                      const struct pipeline *pipeline, struct error *err)
{
    if (planning->pricing.software) {
        plan->software = planning->pricing.software->name;
        plan->precision = model_precisions[planning->pricing.precision];
        plan->sequence = planning->pricing.sequence;
    }
    if (!plan_of_pipeline(plan, pipeline, problem, &planning->profile, &planning->cluster, err))
        return false;
    plan->not_counted = planning_not_counted(planning, &plan->arena);
    return true;
}
