#include "plan/fleet/of_job.h"

#include "core/stop.h"

#include "plan/fleet/classes.h"

#include <inttypes.h>
#include <math.h>

#define EFFORT 1e9 /* to prove that a plan is the best */

/* Returns the link that each of `devices` sharers sees. */
static struct cluster_link link_of(const struct cluster_link *given, int devices)
{
    if (given->bandwidth == 0.0)
        return (struct cluster_link){.bandwidth = INFINITY};
    return (struct cluster_link){.bandwidth = given->bandwidth / devices, .latency = given->latency};
}

/* Returns the seconds that exchanging a byte of gradients takes on each of `tensor` devices. A ring moves
 * 2 (D - 1) / D of it between D pipelines, once through the port of a node for all replicas in it. Those of one node
 * use its port, too, if that is faster than its own links. */
static double exchanged(const struct fleet_profile_question *question, int index, int tensor,
                        const struct fleet_spread *spread)
{
    const struct cluster_group *group = &question->cluster->groups[index];
    int together = fleet_together(spread, group->nodes.devices, tensor);
    struct cluster_link across = link_of(&question->cluster->inter_node, group->nodes.devices);
    double inside = link_of(&group->intra_node, 1).bandwidth, outside = across.bandwidth * together;
    double bandwidth = together < spread->gradients ? outside : fmax(inside, outside);
    return 2.0 * (spread->gradients - 1) / spread->gradients / bandwidth;
}

/* Adds an option on 2^split devices of a node, as plan/problem.h counts it. Gradients take as many bytes as
 * parameters. A profile knows no optimizer: `updated` stays 0. */
static bool add_option(struct fleet_problem *fleet, const struct fleet_profile_question *question, int index,
                       int split, const struct fleet_spread *spread, struct arena *arena)
{
    const struct plan_problem *problem = question->problem;
    const struct plan_group *group = &problem->groups[index];
    int layers = problem->layer_count, devices = 1 << split;
    struct cluster_link across = link_of(&question->cluster->inter_node, group->nodes.devices);
    double reduced = exchanged(question, index, devices, spread);
    struct fleet_option *option = fleet_add_option(fleet, arena);
    if (!option)
        return false;
    const struct fleet_sums sums = option->sums;
    option->type = index;
    option->tensor = devices;
    for (int l = 0; l < layers; l++) {
        double parameters = (double)problem->parameter_bytes[l], share = devices;
        double reduce = split > 0 ? group->allreduce[split][l] : 0.0;
        sums.seconds[l + 1] =
            sums.seconds[l] + (group->forward[l] + group->backward[l]) / share + 2.0 * reduce;
        sums.forward[l + 1] = sums.forward[l] + group->forward[l] / share + reduce;
        sums.kept[l + 1] = sums.kept[l] + (double)problem->activation_bytes[l] / share;
        sums.held[l + 1] = sums.held[l] + MEMORY_STATE_FACTOR * parameters / share;
        sums.after[l + 1] = sums.after[l] + reduced * parameters / share;
        double output = l > 0 ? (double)question->profile->layers[l - 1].output_bytes : 0.0;
        sums.send[l] = l > 0 ? 2.0 * (output / share / across.bandwidth + across.latency) : 0.0;
    }
    return true;
}

static bool make_problem(const void *context, const struct fleet_spread *spread, struct fleet_problem *fleet,
                         struct arena *arena)
{
    const struct fleet_profile_question *question = context;
    const struct plan_problem *problem = question->problem;
    *fleet = (struct fleet_problem){
        .layer_count = problem->layer_count,
        .type_count = problem->group_count,
        .microbatches = question->microbatches,
        .max_pipelines = spread->max,
    };
    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        fleet->types[g] = (struct fleet_type){
            .devices = group->nodes.count * group->nodes.devices,
            .memory =
                group->nodes.memory > 0 ? (double)group->nodes.memory * (1.0 - question->headroom) : INFINITY,
        };
        for (int split = 0; split < group->splits && split < FLEET_MAX_OPTIONS / FLEET_MAX_TYPES; split++)
            if (!add_option(fleet, question, g, split, spread, arena))
                return false;
    }
    return true;
}

bool fleet_ask_profile(struct fleet_profile_question *question, const struct planning *planning,
                       int64_t batch, double headroom, struct error *err)
{
    int microbatch = planning->profile.microbatch_size > 0 ? planning->profile.microbatch_size : 1;
    *question = (struct fleet_profile_question){
        .problem = &planning->problem,
        .profile = &planning->profile,
        .cluster = &planning->cluster,
        .microbatches = batch / microbatch,
        .microbatch = microbatch,
        .headroom = headroom,
    };
    return batch % microbatch == 0 ||
           error_set(err, ERROR_INFEASIBLE,
                     "--global-batch: %" PRId64 " is not a multiple of the profile's micro-batch of %d",
                     batch, microbatch);
}

/* Plans a profile, or scores the given pipelines. */
static bool answer_with(struct fleet_answer *answer, const struct fleet_profile_question *question,
                        const struct fleet_given *given, struct error *err)
{
    const struct fleet_maker maker = {question, make_problem, EFFORT};
    *answer = (struct fleet_answer){.combinations = given ? 0 : 1};
    if (question->problem->group_count > FLEET_MAX_TYPES || question->problem->layer_count > FLEET_MAX_LAYERS)
        return error_set(err, ERROR_INPUT, "--objective iteration: expected at most %d groups and %d layers",
                         FLEET_MAX_TYPES, FLEET_MAX_LAYERS);
    if (!(given ? fleet_take_given(&answer->plan, &answer->problem, &maker, given, err)
                : fleet_search_classes(&answer->plan, &answer->problem, &maker, INFINITY, err)))
        return false;
    answer->microbatch = question->microbatch;
    answer->pipelines = fleet_pipelines(&answer->plan);
    answer->lower_bound = answer->plan.lower_bound;
    answer->held = (struct fleet_held){1, 1, MEMORY_STATE_FACTOR - 2};
    answer->time = (struct fleet_time){
        .seconds = answer->plan.seconds,
        .pipelines = answer->plan.seconds - answer->plan.after,
        .after = answer->plan.after,
    };
    return true;
}

bool fleet_plan_profile(struct fleet_answer *answer, const struct fleet_profile_question *question,
                        struct error *err)
{
    double before = stop_deadline(question->deadline);
    bool found = answer_with(answer, question, NULL, err), late = stop_wanted();
    stop_restore(before);
    if (!found && late && (err->kind == ERROR_INFEASIBLE || err->kind == ERROR_STOPPED))
        return fleet_late_error(err);
    return found;
}

bool fleet_score_profile(struct fleet_answer *answer, const struct fleet_profile_question *question,
                         const struct fleet_given *given, struct error *err)
{
    return answer_with(answer, question, given, err);
}
