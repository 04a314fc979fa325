#include "plan/pipeline_plan.h"

#include "plan/parts.h"
#include "plan/plan_digest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- out ---- */

static int add_link(struct plan *plan, const char *name, const struct cluster_link *link)
{
    return link->bandwidth > 0 ? plan_add_link(plan, name, link->bandwidth, link->latency) : -1;
}

bool plan_take_groups(struct plan *plan, const struct plan_problem *problem, const struct cluster *cluster,
                      struct error *err)
{
    if (!plan_add_types(plan, problem->group_count, err))
        return false;
    if (cluster && cluster->network)
        plan->network = *cluster->network;
    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        struct plan_device_type *type = &plan->types[g];
        type->name = arena_string(&plan->arena, group->device ? group->device : "device");
        type->nodes = group->nodes;
        if (cluster) {
            const struct cluster_group *from = &cluster->groups[g];
            type->inside = from->inside ? plan_add_link(plan, from->inside->name, from->inside->bandwidth,
                                                        plan_link_latency(from, true))
                                        : add_link(plan, "intra_node", &from->intra_node);
            type->across = from->across ? plan_add_link(plan, from->across->name, from->across->bandwidth,
                                                        plan_link_latency(from, false))
                                        : add_link(plan, "inter_node", &cluster->inter_node);
            if (!from->across && type->across >= 0) /* a node's, for all its devices */
                plan->links[type->across].shared_by = type->nodes.devices;
        }
        if (!type->name)
            return error_memory(err);
    }
    return true;
}

static void set_seconds(struct plan_stage *to, const struct pipeline_stage *from,
                        const struct plan_problem *problem)
{
    const struct plan_group *group = &problem->groups[from->group];
    int log2 = 0;
    while (from->devices >> (log2 + 1))
        log2++;
    to->seconds.forward = to->seconds.backward = to->seconds.collectives = 0;
    for (int i = from->layers.first; i <= from->layers.last; i++) {
        to->seconds.forward += group->forward[i] / from->devices;
        to->seconds.backward += group->backward[i] / from->devices;
        if (log2 > 0)
            to->seconds.collectives += 2 * group->allreduce[log2][i];
    }
}

/* MEMORY_STATE_FACTOR counts parameters and gradients, which take as many bytes, and the optimizer's state. */
static void set_bytes(struct plan_stage *to, const struct pipeline_stage *from, int from_end,
                      const struct plan_problem *problem, const struct profile *profile)
{
    double parameters = 0, activations = 0;
    for (int i = from->layers.first; i <= from->layers.last; i++) {
        parameters += (double)problem->parameter_bytes[i] / from->devices;
        activations += (double)problem->activation_bytes[i] / from->devices;
    }
    to->bytes.parameters = to->bytes.gradients = parameters;
    to->bytes.optimizer = (MEMORY_STATE_FACTOR - 2) * parameters;
    to->bytes.activations = activations;
    to->bytes.in_flight = memory_in_flight(problem->memory, problem->microbatches, from_end);
    to->bytes.total = (double)from->memory / from->devices;
    if (profile && profile->layers[from->layers.last].output_bytes > 0)
        to->bytes.sent = (double)profile->layers[from->layers.last].output_bytes / from->devices;
}

/* Devices of a node go to stages in the order of the pipeline. */
static bool set_devices(struct plan *plan, int index, const struct pipeline *from, struct error *err)
{
    const struct pipeline_stage *stage = &from->stages[index];
    if (stage->node < 0)
        return true;
    struct plan_run *run = ARENA_NEW(&plan->arena, struct plan_run);
    if (!run)
        return error_memory(err);
    *run = (struct plan_run){.node = stage->node, .nodes = 1, .count = stage->devices};
    for (int s = 0; s < index; s++)
        if (from->stages[s].node == stage->node)
            run->first += from->stages[s].devices;
    plan->pipelines[0].stages[index].runs = run;
    plan->pipelines[0].stages[index].run_count = 1;
    return true;
}

/* Tensor parallel all-reduces: a layer's takes as long forwards as backwards. The profile has their seconds, not their
 * bytes. */
static bool add_transfers(struct plan *plan, struct plan_stage *to, const struct pipeline_stage *from)
{
    double layers = from->layers.last - from->layers.first + 1;
    struct plan_transfer reduce = {
        .kind = COLLECTIVE_ALL_REDUCE,
        .purpose = PURPOSE_TENSOR,
        .when = WHEN_FORWARD,
        .group = from->devices,
        .per_node = from->devices,
        .link = plan->types[from->group].inside,
        .count = layers,
        .bytes = NAN,
        .seconds = to->seconds.collectives / 2 / layers,
        .shown = 1,
    };
    if (!plan_add_transfer(plan, to, reduce))
        return false;
    reduce.when = WHEN_BACKWARD;
    return plan_add_transfer(plan, to, reduce);
}

static bool add_stages(struct plan *plan, const struct pipeline *from, const struct plan_problem *problem,
                       const struct profile *profile, struct error *err)
{
    if (!plan_add_pipelines(plan, 1, err) ||
        !plan_add_stages(plan, &plan->pipelines[0], from->stage_count, err))
        return false;
    plan->pipelines[0].microbatches = pipeline_microbatches(from);
    plan->memory = 0;
    for (int s = 0; s < from->stage_count; s++) {
        struct plan_stage *stage = &plan->pipelines[0].stages[s];
        stage->layers = from->stages[s].layers;
        stage->type = from->stages[s].group;
        stage->degrees.tensor = from->stages[s].devices;
        set_seconds(stage, &from->stages[s], problem);
        set_bytes(stage, &from->stages[s], from->stage_count - s, problem, profile);
        if (stage->bytes.total > plan->memory)
            plan->memory = stage->bytes.total;
        if (!set_devices(plan, s, from, err))
            return false;
        if (!add_transfers(plan, stage, &from->stages[s]))
            return error_memory(err);
    }
    return true;
}

static uint64_t digest_of(const struct plan_problem *problem)
{
    size_t layers = (size_t)problem->layer_count;
    uint64_t digest = plan_digest_integers(PLAN_DIGEST_BEGIN, problem->parameter_bytes, layers);
    digest = plan_digest_integers(digest, problem->activation_bytes, layers);
    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        digest = plan_digest_text(digest, group->device);
        digest = plan_digest_numbers(digest, group->forward, layers);
        digest = plan_digest_numbers(digest, group->backward, layers);
        for (int split = 1; split < group->splits; split++)
            digest = plan_digest_numbers(digest, group->allreduce[split], layers);
    }
    return digest;
}

bool plan_of_pipeline(struct plan *plan, const struct pipeline *pipeline, const struct plan_problem *problem,
                      const struct profile *profile, const struct cluster *cluster, struct error *err)
{
    plan->objective = plan_objective_name(pipeline->objective);
    plan->planner = plan->search = pipeline->search;
    plan->memory_model = plan_memory_models[problem->memory];
    plan->layer_count = problem->layer_count;
    plan->asked_microbatches = pipeline->microbatches;
    plan->microbatch = profile ? profile->microbatch_size : 0;
    plan->iteration_time = pipeline->iteration_time;
    plan->lower_bound = pipeline->lower_bound;
    plan->proven_optimal = pipeline->proven_optimal;
    plan->proof_over = pipeline->proof_over;
    plan->planning_seconds = pipeline->planning_seconds;
    plan->bottleneck_pipeline = 0;
    plan->bottleneck_stage = pipeline->bottleneck;
    plan_add_part(plan, "t1", pipeline->t1);
    plan_add_part(plan, "t2", pipeline->t2);
    plan_add_part(plan, "t3", pipeline->t3);
    plan_add_figure(plan, "programs", (double)pipeline->programs);
    plan_add_figure(plan, "states", (double)pipeline->states);
    if (profile && profile->model && !(plan->model = arena_string(&plan->arena, profile->model)))
        error_memory(err);
    else if (plan_take_groups(plan, problem, cluster, err) &&
             add_stages(plan, pipeline, problem, profile, err) &&
             plan_set_digests(plan, digest_of(problem), err) && plan_place(plan, err))
        return true;
    plan_release(plan);
    return false;
}

/* ---- back ---- */

struct pipeline_source {
    const struct plan_problem *problem;
    const struct plan *plan;
    int64_t used[PLAN_MAX_GROUPS]; /* devices given away so far */
    struct error *err;
};

/* "plan.json:7: pipelines[0].stages[2].devices: …"; a node of -1: about the device type. */
static bool wrong(const struct pipeline_source *t, int index, const char *device, int node)
{
    const struct plan_stage *stage = &t->plan->pipelines[0].stages[index];
    char place[256] = "";
    if (t->plan->path)
        snprintf(place, sizeof place, "%.200s:%d: ", t->plan->path, stage->line);
    return node < 0 ? error_set(t->err, ERROR_INPUT,
                                "%spipelines[0].stages[%d].device_type: the cluster has no '%s'", place,
                                index, device)
                    : error_set(t->err, ERROR_INPUT, "%spipelines[0].stages[%d].devices: node %d is no '%s'",
                                place, index, node, device);
}

static int first_node_of(const struct plan_problem *problem, int group)
{
    int node = 0;
    for (int g = 0; g < group; g++)
        node += problem->groups[g].nodes.count;
    return node;
}

static int64_t devices_of(const struct plan_group *group)
{
    return (int64_t)group->nodes.count * group->nodes.devices;
}

static bool find_group(struct pipeline_source *t, int index, struct pipeline_stage *stage)
{
    const char *device = t->plan->types[t->plan->pipelines[0].stages[index].type].name;
    int match = -1;
    for (int g = 0; g < t->problem->group_count; g++) {
        const struct plan_group *group = &t->problem->groups[g];
        if (strcmp(group->device, device) != 0)
            continue;
        int first = first_node_of(t->problem, g);
        bool named = stage->node >= first && stage->node < first + group->nodes.count;
        bool room = t->used[g] + stage->devices <= devices_of(group);
        if (match < 0 || named ||
            (stage->node < 0 && room &&
             t->used[match] + stage->devices > devices_of(&t->problem->groups[match])))
            match = g;
        if (named)
            break;
    }
    if (match < 0)
        return wrong(t, index, device, -1);
    int first = first_node_of(t->problem, match);
    if (stage->node >= 0 &&
        (stage->node < first || stage->node >= first + t->problem->groups[match].nodes.count))
        return wrong(t, index, device, stage->node);
    t->used[match] += stage->devices;
    stage->group = match;
    return true;
}

static bool take_stages(struct pipeline_source *t, struct pipeline *pipeline)
{
    const struct plan_pipeline *from = &t->plan->pipelines[0];
    for (int s = 0; s < from->stage_count; s++) {
        const struct plan_stage *stage = &from->stages[s];
        pipeline->stages[s] = (struct pipeline_stage){
            .layers = stage->layers,
            .devices = plan_stage_devices(stage),
            .node = stage->run_count == 1 ? stage->runs[0].node : -1,
            .line = stage->line,
        };
        if (!find_group(t, s, &pipeline->stages[s]))
            return false;
    }
    return true;
}

bool pipeline_of_plan(struct pipeline *pipeline, const struct plan_problem *problem, const struct plan *plan,
                      struct error *err)
{
    struct pipeline_source taking = {.problem = problem, .plan = plan, .err = err};
    *pipeline = (struct pipeline){.path = plan->path, .microbatches = (int)plan->asked_microbatches};
    if (plan->pipeline_count != 1 || plan->pipelines[0].copies != 1 || plan->chunks != 1)
        return error_set(err, ERROR_INPUT,
                         "%s%sthe pipeline and oobleck objectives score one plain pipeline, found %s",
                         plan->path ? plan->path : "", plan->path ? ": " : "",
                         plan->chunks != 1 ? "an interleaved one" : "several");
    pipeline->stage_count = plan->pipelines[0].stage_count;
    pipeline->stages = calloc((size_t)pipeline->stage_count, sizeof *pipeline->stages);
    if (!pipeline->stages)
        return error_memory(err);
    if (take_stages(&taking, pipeline))
        return true;
    pipeline_release(pipeline);
    return false;
}
