#include "plan/fleet/of_profile.h"

#include "plan/fleet/classes.h"

#include <math.h>

/* Of a link that `devices` share. */
static struct cluster_link link_of(const struct cluster_link *given, int devices)
{
    if (given->bandwidth == 0.0)
        return (struct cluster_link){INFINITY, 0.0};
    return (struct cluster_link){given->bandwidth / devices, given->latency};
}

/* Seconds that exchanging a byte of gradients takes on each of `tensor` devices. Rings move 2 (D - 1) / D of it between D
 * pipelines, once through the port of a node for all replicas in it. */
static double exchanged(const struct fleet_profile_question *question, int index, int tensor,
                        const struct fleet_spread *spread)
{
    const struct cluster_group *group = &question->cluster->groups[index];
    int together = fleet_together(spread, group->devices_per_node, tensor);
    struct cluster_link across = link_of(&question->cluster->inter_node, group->devices_per_node);
    double bandwidth =
        together < spread->gradients ? across.bandwidth * together : link_of(&group->intra_node, 1).bandwidth;
    return 2.0 * (spread->gradients - 1) / spread->gradients / bandwidth;
}

/* A stage on so many devices of a node, as plan/problem.h counts it. Gradients are as many bytes as parameters. */
static bool add_option(struct fleet_problem *fleet, const struct fleet_profile_question *question, int index,
                       int split, const struct fleet_spread *spread, struct arena *arena)
{
    const struct plan_problem *problem = question->problem;
    const struct plan_group *group = &problem->groups[index];
    int layers = problem->layer_count, devices = 1 << split;
    struct cluster_link across = link_of(&question->cluster->inter_node, group->devices_per_node);
    double reduced = exchanged(question, index, devices, spread);
    double *seconds = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *kept = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *held = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *after = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *send = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *forward = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *updated =
        ARENA_ARRAY(arena, (size_t)layers + 1, double); /* a profile knows no optimizer: zeros */
    if (!seconds || !kept || !held || !after || !send || !forward || !updated)
        return false;
    for (int l = 0; l < layers; l++) {
        double parameters = (double)problem->parameter_bytes[l], share = devices;
        double reduce = split > 0 ? group->allreduce[split][l] : 0.0;
        seconds[l + 1] = seconds[l] + (group->forward[l] + group->backward[l]) / share + 2.0 * reduce;
        forward[l + 1] = forward[l] + group->forward[l] / share + reduce;
        kept[l + 1] = kept[l] + (double)problem->activation_bytes[l] / share;
        held[l + 1] = held[l] + MEMORY_STATE_FACTOR * parameters / share;
        after[l + 1] = after[l] + reduced * parameters / share;
        double output = l > 0 ? (double)question->profile->layers[l - 1].output_bytes : 0.0;
        send[l] = l > 0 ? 2.0 * (output / share / across.bandwidth + across.latency) : 0.0;
    }
    fleet->options[fleet->option_count++] = (struct fleet_option){
        .type = index,
        .tensor = devices,
        .seconds = seconds,
        .kept = kept,
        .held = held,
        .after = after,
        .send = send,
        .forward = forward,
        .updated = updated,
    };
    return true;
}

static bool make(const void *context, const struct fleet_spread *spread, struct fleet_problem *fleet,
                 struct arena *arena)
{
    const struct fleet_profile_question *question = context;
    const struct plan_problem *problem = question->problem;
    *fleet = (struct fleet_problem){
        .layer_count = problem->layer_count,
        .type_count = problem->group_count,
        .microbatches = question->microbatches,
        .pipelines_most = spread->most,
    };
    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        fleet->types[g] = (struct fleet_type){
            .devices = group->nodes * group->devices_per_node,
            .memory = group->memory > 0 ? (double)group->memory * (1.0 - question->headroom) : INFINITY,
        };
        for (int split = 0; split < group->splits && split < FLEET_MAX_OPTIONS / FLEET_MAX_TYPES; split++)
            if (!add_option(fleet, question, g, split, spread, arena))
                return false;
    }
    return true;
}

static bool is_small_enough(const struct fleet_profile_question *question, struct error *err)
{
    return (question->problem->group_count <= FLEET_MAX_TYPES &&
            question->problem->layer_count <= FLEET_MAX_LAYERS) ||
           error_set(err, ERROR_INPUT, "--objective iteration: expected at most %d groups and %d layers",
                     FLEET_MAX_TYPES, FLEET_MAX_LAYERS);
}

static void complete(struct fleet_answer *answer)
{
    answer->pipelines = fleet_pipelines(&answer->plan);
    answer->lower_bound = answer->plan.lower_bound;
    answer->held = (struct fleet_held){1, 1, 4}; /* plan_stage_memory */
    answer->time = (struct fleet_time){
        .seconds = answer->plan.seconds,
        .pipelines = answer->plan.seconds - answer->plan.after,
        .after = answer->plan.after,
    };
}

bool fleet_plan_profile(struct fleet_answer *answer, const struct fleet_profile_question *question,
                        struct error *err)
{
    const struct fleet_maker maker = {question, make};
    *answer = (struct fleet_answer){.combinations = 1};
    if (!is_small_enough(question, err) ||
        !fleet_search_classes(&answer->plan, &answer->problem, &maker, INFINITY, err))
        return false;
    complete(answer);
    return true;
}

bool fleet_score_profile(struct fleet_answer *answer, const struct fleet_profile_question *question,
                         const struct fleet_given *given, struct error *err)
{
    const struct fleet_maker maker = {question, make};
    *answer = (struct fleet_answer){0};
    if (!is_small_enough(question, err) ||
        !fleet_take_given(&answer->plan, &answer->problem, &maker, given, err))
        return false;
    complete(answer);
    return true;
}
