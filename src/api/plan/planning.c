#include "api/plan/planning.h"

#include "plan/split/rule.h"

#include <stddef.h>

const char *const planning_allreduces[] = {"profile", "model", "none", NULL};

struct planning_options planning_of(const struct rh_plan_request *asked, const struct rh_call *how)
{
    return (struct planning_options){
        .profile = asked->profile,
        .cluster = asked->cluster,
        .microbatches = asked->microbatches,
        .microbatch_size = asked->microbatch_size,
        .allreduce = option_index(planning_allreduces, asked->allreduce),
        .memory = option_index(plan_memory_models, asked->memory),
        .time_limit = how->time_limit,
        .threads = how->threads,
    };
}

bool model_choose(const struct rh_plan_request *given, struct cost_chosen *chosen,
                  struct model_options *pricing, struct error *err)
{
    if (!tables_add(&chosen->added, TABLE_LINKS, given->links, err) ||
        !tables_add(&chosen->added, TABLE_CALIBRATIONS, given->calibration, err) ||
        !cost_choose_model(chosen, given->model, err))
        return false;
    *pricing = (struct model_options){
        .sequence = given->sequence > 0 ? given->sequence : chosen->model->sequence,
        .precision = (enum model_precision)option_index(model_precisions, given->precision),
        .software = cost_choose_software(chosen, given->software, err),
        .tables = &chosen->added,
    };
    if (!pricing->software)
        return false;
    if (pricing->sequence < 1)
        return error_set(err, ERROR_USAGE, "--sequence N is missing: the sequence length of '%s' is unknown",
                         chosen->model->name);
    struct job job = {.model = chosen->model, .software = pricing->software, .sequence = pricing->sequence};
    const struct job_rule *rule = job_rule_at(&job, RULE_AT_QUESTION);
    return !rule || job_rule_refuse(&job, rule, err);
}

bool planning_open_given(struct planning *planning, struct planning_options options,
                         const struct rh_plan_request *given, struct cost_chosen *chosen, struct error *err)
{
    if (given->model && !model_choose(given, chosen, &options.pricing, err))
        return false;
    options.model = chosen->model;
    struct job job = {.software = options.pricing.software, .degrees.pipeline = 2};
    const struct job_rule *rule = given->model ? job_rule_at(&job, RULE_AT_STAGES) : NULL;
    struct text text = {0};
    if (rule) {
        rule->say(&job, &text);
        error_set(err, ERROR_INFEASIBLE, "--software: %s", text.data ? text.data : rule->id);
        text_release(&text);
        return false;
    }
    return planning_open(planning, &options, err);
}
