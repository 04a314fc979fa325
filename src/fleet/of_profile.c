#include "fleet/of_profile.h"

#include <math.h>

/* A stage on so many devices of a node, as plan/problem.h counts it. Gradients, as many bytes as parameters, are exchanged
 * by rings: 2 (D - 1) / D of them between D pipelines. */
static bool add_option(struct fleet_problem *fleet, const struct fleet_profile_question *question, int index,
                       int split, const struct fleet_spread *spread, struct arena *arena)
{
    const struct plan_problem *problem = question->problem;
    const struct plan_group *group = &problem->groups[index];
    int layers = problem->layer_count, devices = 1 << split;
    /* of a device when all of its node send */
    double bandwidth = question->bandwidth / group->devices_per_node;
    double exchanged = 2.0 * (spread->gradients - 1.0) / spread->gradients;
    double *seconds = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *kept = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *held = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *after = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *send = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    if (!seconds || !kept || !held || !after || !send)
        return false;
    for (int l = 0; l < layers; l++) {
        double parameters = (double)problem->parameter_bytes[l], share = devices;
        double reduce = split > 0 ? group->allreduce[split][l] : 0.0;
        seconds[l + 1] = seconds[l] + (group->forward[l] + group->backward[l]) / share + 2.0 * reduce;
        kept[l + 1] = kept[l] + (double)problem->activation_bytes[l] / share;
        held[l + 1] = held[l] + 6.0 * parameters / share; /* plan_stage_memory */
        after[l + 1] = after[l] + exchanged * parameters / share / bandwidth;
        double output = l > 0 ? (double)question->profile->layers[l - 1].output_bytes : 0.0;
        send[l] = l > 0 ? 2.0 * (output / share / bandwidth + question->latency) : 0.0;
    }
    fleet->options[fleet->option_count++] = (struct fleet_option){
        .type = index,
        .tensor = devices,
        .seconds = seconds,
        .kept = kept,
        .held = held,
        .after = after,
        .send = send,
    };
    return true;
}

static bool make_problem(struct fleet_problem *fleet, const struct fleet_profile_question *question,
                         const struct fleet_spread *spread, struct arena *arena)
{
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
        for (int split = 0; split < group->splits && split < FLEET_OPTIONS_MOST / FLEET_TYPES_MOST; split++)
            if (!add_option(fleet, question, g, split, spread, arena))
                return false;
    }
    return true;
}

/* One class of numbers of pipelines; the plan with its own number. */
static bool plan_class(struct fleet_answer *answer, const struct fleet_profile_question *question,
                       const struct fleet_spread *spread, double enough, struct fleet_columns *columns,
                       struct error *err)
{
    struct arena arena = {0};
    *answer = (struct fleet_answer){.combinations = 1};
    bool made = make_problem(&answer->problem, question, spread, &arena) ? true : error_memory(err);
    bool ok = made && fleet_search(&answer->plan, &answer->problem, enough, columns, err);
    arena_release(&arena);
    if (!ok)
        return false;
    answer->pipelines = fleet_pipelines(&answer->plan);
    const struct fleet_spread real = {answer->pipelines, answer->pipelines, answer->pipelines};
    if (!make_problem(&answer->problem, question, &real, &answer->plan.arena)) {
        fleet_answer_release(answer);
        return error_memory(err);
    }
    fleet_plan_score(&answer->plan, &answer->problem);
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
    struct fleet_columns columns = {0};
    double bound = INFINITY, enough = INFINITY;
    *answer = (struct fleet_answer){0};
    if (question->problem->group_count > FLEET_TYPES_MOST ||
        question->problem->layer_count > FLEET_LAYERS_MOST)
        return error_set(err, ERROR_INPUT, "--objective iteration: expected at most %d groups and %d layers",
                         FLEET_TYPES_MOST, FLEET_LAYERS_MOST);
    bool ok = true;
    for (int k = FLEET_CLASSES - 1; k >= 0 && ok; k--) {
        struct fleet_spread spread = fleet_class(k);
        struct fleet_answer found, worse;
        bool planned = plan_class(&found, question, &spread, enough, &columns, err);
        bound = fmin(bound, found.plan.lower_bound);
        ok = planned || err->kind == ERROR_INFEASIBLE;
        if (!planned)
            continue;
        worse = found;
        if (answer->pipelines == 0 || found.time.seconds < enough) {
            worse = *answer;
            *answer = found;
            enough = found.time.seconds;
        }
        fleet_answer_release(&worse);
    }
    fleet_columns_release(&columns);
    if (!ok)
        fleet_answer_release(answer);
    else
        answer->lower_bound = fmin(bound, enough);
    return ok && answer->pipelines > 0; /* the error is that of the last class */
}
