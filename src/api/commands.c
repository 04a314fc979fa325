/* Every command that the library covers, and the function of each. */
#include "api/command.h"

/* clang-format off */
const struct api_command *const api_commands[] = {
    &api_plan,
    &api_check_plan,
    &api_simulate,
    &api_sweep,
    &api_elastic,
    &api_templates,
    &api_cost,
    &api_profile_show,
    &api_dataset_generate,
    &api_dataset_verify,
    &api_dataset_scale,
    &api_feed,
    &api_trace,
    &api_trace_import,
    &api_trace_export,
    &api_trace_phases,
    &api_trace_show,
    &api_compare,
    &api_figure_plan,
    &api_figure_steps,
    &api_figure_timeline,
    &api_figure_distribution,
    &api_figure_throughput,
    &api_report_page,
    &api_validate,
    &api_price,
    &api_calibrate,
    &api_measure_layers,
    &api_measure_links,
    &api_play,
    NULL,
};
/* clang-format on */

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

rh_sweep *rh_sweep_plans(const struct rh_sweep_request *request, const struct rh_call *call,
                         struct rh_error *error)
{
    return api_run(&api_sweep, request, call, error);
}

rh_report *rh_elastic(const struct rh_elastic_request *request, const struct rh_call *call,
                      struct rh_error *error)
{
    return api_run(&api_elastic, request, call, error);
}

rh_report *rh_compare(const struct rh_compare_request *request, const struct rh_call *call,
                      struct rh_error *error)
{
    return api_run(&api_compare, request, call, error);
}

rh_report *rh_trace(const struct rh_trace_request *request, const struct rh_call *call,
                    struct rh_error *error)
{
    return api_run(&api_trace, request, call, error);
}

rh_report *rh_trace_show(const struct rh_trace_show_request *request, const struct rh_call *call,
                         struct rh_error *error)
{
    return api_run(&api_trace_show, request, call, error);
}

rh_report *rh_trace_import(const struct rh_trace_import_request *request, const struct rh_call *call,
                           struct rh_error *error)
{
    return api_run(&api_trace_import, request, call, error);
}

rh_report *rh_trace_export(const struct rh_trace_export_request *request, const struct rh_call *call,
                           struct rh_error *error)
{
    return api_run(&api_trace_export, request, call, error);
}

rh_report *rh_trace_phases(const struct rh_trace_phases_request *request, const struct rh_call *call,
                           struct rh_error *error)
{
    return api_run(&api_trace_phases, request, call, error);
}

rh_report *rh_figure_plan(const struct rh_figure_plan_request *request, const struct rh_call *call,
                          struct rh_error *error)
{
    return api_run(&api_figure_plan, request, call, error);
}

rh_report *rh_figure_steps(const struct rh_figure_steps_request *request, const struct rh_call *call,
                           struct rh_error *error)
{
    return api_run(&api_figure_steps, request, call, error);
}

rh_report *rh_figure_timeline(const struct rh_figure_timeline_request *request, const struct rh_call *call,
                              struct rh_error *error)
{
    return api_run(&api_figure_timeline, request, call, error);
}

rh_report *rh_figure_distribution(const struct rh_figure_distribution_request *request,
                                  const struct rh_call *call, struct rh_error *error)
{
    return api_run(&api_figure_distribution, request, call, error);
}

rh_report *rh_figure_throughput(const struct rh_figure_throughput_request *request,
                                const struct rh_call *call, struct rh_error *error)
{
    return api_run(&api_figure_throughput, request, call, error);
}

rh_report *rh_report_make(const struct rh_report_request *request, const struct rh_call *call,
                          struct rh_error *error)
{
    return api_run(&api_report_page, request, call, error);
}

rh_report *rh_validate(const struct rh_validate_request *request, const struct rh_call *call,
                       struct rh_error *error)
{
    return api_run(&api_validate, request, call, error);
}

rh_report *rh_price(const struct rh_price_request *request, const struct rh_call *call,
                    struct rh_error *error)
{
    return api_run(&api_price, request, call, error);
}

rh_report *rh_calibrate(const struct rh_calibrate_request *request, const struct rh_call *call,
                        struct rh_error *error)
{
    return api_run(&api_calibrate, request, call, error);
}

rh_report *rh_measure_layers(const struct rh_measure_layers_request *request, const struct rh_call *call,
                             struct rh_error *error)
{
    return api_run(&api_measure_layers, request, call, error);
}

rh_report *rh_measure_links(const struct rh_measure_links_request *request, const struct rh_call *call,
                            struct rh_error *error)
{
    return api_run(&api_measure_links, request, call, error);
}

rh_report *rh_play(const struct rh_play_request *request, const struct rh_call *call, struct rh_error *error)
{
    return api_run(&api_play, request, call, error);
}

rh_report *rh_dataset_generate(const struct rh_dataset_generate_request *request, const struct rh_call *call,
                               struct rh_error *error)
{
    return api_run(&api_dataset_generate, request, call, error);
}

rh_report *rh_dataset_verify(const struct rh_dataset_verify_request *request, const struct rh_call *call,
                             struct rh_error *error)
{
    return api_run(&api_dataset_verify, request, call, error);
}

rh_report *rh_dataset_scale(const struct rh_dataset_scale_request *request, const struct rh_call *call,
                            struct rh_error *error)
{
    return api_run(&api_dataset_scale, request, call, error);
}

rh_report *rh_feed(const struct rh_feed_request *request, const struct rh_call *call, struct rh_error *error)
{
    return api_run(&api_feed, request, call, error);
}
