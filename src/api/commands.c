/* Every command that the library covers, and the function of each. */
#include "api/command.h"

const struct api_command *const api_commands[] = {
    &api_plan, &api_check_plan, &api_simulate, &api_templates, &api_cost, &api_profile_show, NULL,
};

rh_profile *rh_profile_load(const struct rh_profile_request *request, const struct rh_call *call,
                            struct rh_error *error)
{
    return api_run(&api_profile_show, request, call, error);
}

rh_handle *rh_cost(const struct rh_cost_request *request, const struct rh_call *call, struct rh_error *error)
{
    return api_run(&api_cost, request, call, error);
}

rh_handle *rh_plan_find(const struct rh_plan_request *request, const struct rh_call *call,
                        struct rh_error *error)
{
    return api_run(&api_plan, request, call, error);
}

rh_report *rh_check_plan(const struct rh_check_request *request, const struct rh_call *call,
                         struct rh_error *error)
{
    return api_run(&api_check_plan, request, call, error);
}

rh_report *rh_simulate(const struct rh_simulate_request *request, const struct rh_call *call,
                       struct rh_error *error)
{
    return api_run(&api_simulate, request, call, error);
}

rh_report *rh_templates(const struct rh_templates_request *request, const struct rh_call *call,
                        struct rh_error *error)
{
    return api_run(&api_templates, request, call, error);
}
