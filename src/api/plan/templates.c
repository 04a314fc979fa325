/* rh_templates: the best pipeline for every number of nodes. */
#include "elastic/templates.h"

#include "api/choose.h"
#include "api/command.h"
#include "api/plan/planning.h"
#include "core/file_output.h"
#include "core/json.h"

#include <string.h>

static const char *const objectives[] = {"pipeline", "oobleck", NULL}; /* enum plan_objective */

static bool choose_range(const struct rh_templates_request *asked, const struct plan_problem *problem,
                         struct option_range *range, struct error *err)
{
    static const struct option_spec row = {
        .name = "nodes", .kind = OPTION_RANGE, .min = 1, .max = CLUSTER_MAX_GROUPS * CLUSTER_MAX_NODES};
    int nodes = plan_problem_nodes(problem);
    *range = (struct option_range){1, nodes};
    if (asked->nodes && !option_read(&row, asked->nodes, range, err))
        return false;
    return range->last <= nodes ||
           error_set(err, ERROR_USAGE, "--nodes: the cluster has %d nodes, found %lld", nodes,
                     (long long)range->last);
}

static bool deliver(const struct rh_templates_request *asked, const struct template_set *set,
                    const struct planning *planning, struct api_report *report, struct error *err)
{
    struct json *json = &report->json;
    templates_print(set, &report->text);
    const char *left_out = planning_not_counted(planning, &report->base.arena);
    if (left_out)
        text_format(&report->text, "\nnot counted: %s of the cluster file\n", left_out);
    return templates_write_json(set, planning, json, err) &&
           (!asked->output || file_write_exact(asked->output, &report->json_text, err));
}

static bool find(const struct rh_templates_request *asked, const struct planning *planning,
                 struct api_report *report, struct error *err)
{
    struct option_range range;
    struct template_set set;
    if (!choose_range(asked, &planning->problem, &range, err) ||
        !templates_make(&set, &planning->problem, (int)range.first, (int)range.last, &planning->search, err))
        return false;
    bool ok = deliver(asked, &set, planning, report, err);
    templates_release(&set);
    return ok;
}

static bool open_and_find(const void *request, const struct api_call *call, struct api_report *report,
                          struct error *err)
{
    const struct rh_templates_request *asked = request;
    struct planning planning;
    struct cost_chosen chosen = {0};
    struct rh_plan_request common = {.size = sizeof common};
    option_copy_common(&common, api_plan_options, asked, api_templates_options);
    struct planning_options options = planning_of(&common, &call->how);
    options.objective = option_index(objectives, asked->objective);
    if (!asked->model == !asked->profile)
        return error_set(err, ERROR_USAGE,
                         asked->model ? "templates: --model and --profile both give the model: choose one"
                                      : "templates: '--profile P' or '--model NAME' is missing");
    static const char *const of_models[] = {"sequence", "precision", "software", "links", "calibration"};
    for (size_t i = 0; asked->profile && api_templates_options[i].name; i++)
        for (size_t k = 0; call->given[i] && k < sizeof of_models / sizeof *of_models; k++)
            if (strcmp(api_templates_options[i].name, of_models[k]) == 0)
                return error_set(err, ERROR_USAGE,
                                 "templates: '--%s' changes nothing with --profile: leave it out",
                                 of_models[k]);
    bool ok = planning_open_given(&planning, options, &common, &chosen, err);
    if (ok) {
        ok = find(asked, &planning, report, err);
        planning_close(&planning);
    }
    cost_chosen_release(&chosen);
    return ok;
}

API_WHOLE_COMMAND(templates, "templates", rh_templates_request, .answer = open_and_find);
