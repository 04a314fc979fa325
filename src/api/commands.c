/* Every command that the library covers, and the function of each. */
#include "api/command.h"
#include "api/wings.h"

/* clang-format off */
const struct api_command *const api_commands[] = {
    IN_PLAN(&api_plan,)
    IN_PLAN(&api_check_plan,)
    IN_PLAN(&api_simulate,)
    IN_PLAN(&api_sweep,)
    IN_PLAN(&api_elastic,)
    IN_PLAN(&api_templates,)
    IN_PLAN(&api_cost,)
    IN_PLAN(&api_profile_show,)
    IN_STORAGE(&api_dataset_generate,)
    IN_STORAGE(&api_dataset_verify,)
    IN_STORAGE(&api_dataset_scale,)
    IN_STORAGE(&api_feed,)
    IN_TRACE(&api_trace,)
    IN_TRACE(&api_trace_import,)
    IN_TRACE(&api_trace_export,)
    IN_TRACE(&api_trace_phases,)
    IN_TRACE(&api_trace_show,)
    IN_TRACE(&api_compare,)
    IN_PLAN(&api_figure_plan,)
    IN_TRACE(&api_figure_steps,)
    IN_TRACE(&api_figure_timeline,)
    IN_TRACE(&api_figure_distribution,)
    IN_TRACE(&api_figure_throughput,)
    IN_PLAN(&api_report_page,)
    IN_PLAN(&api_validate,)
    IN_PLAN(&api_price,)
    IN_PLAN(&api_calibrate,)
    IN_RUN(&api_measure_layers,)
    IN_RUN(&api_measure_links,)
    IN_RUN(&api_play,)
    NULL,
};

/* The function of a command; without its wing it refuses. */
#define FUNCTION(wing, answer, function, asked, name)                                                        \
    answer *function(const struct asked *request, const struct rh_call *call, struct rh_error *error)        \
    {                                                                                                        \
        static const struct api_command *const command[] = {IN_##wing(&(name),) NULL};                       \
        return api_run(command[0], request, call, error);                                                    \
    }
FUNCTION(PLAN, rh_profile, rh_profile_load, rh_profile_request, api_profile_show)
FUNCTION(PLAN, rh_handle, rh_cost, rh_cost_request, api_cost)
FUNCTION(PLAN, rh_handle, rh_plan_find, rh_plan_request, api_plan)
FUNCTION(PLAN, rh_report, rh_check_plan, rh_check_request, api_check_plan)
FUNCTION(PLAN, rh_report, rh_simulate, rh_simulate_request, api_simulate)
FUNCTION(PLAN, rh_report, rh_templates, rh_templates_request, api_templates)
FUNCTION(PLAN, rh_sweep, rh_sweep_plans, rh_sweep_request, api_sweep)
FUNCTION(PLAN, rh_report, rh_elastic, rh_elastic_request, api_elastic)
FUNCTION(TRACE, rh_report, rh_compare, rh_compare_request, api_compare)
FUNCTION(TRACE, rh_report, rh_trace, rh_trace_request, api_trace)
FUNCTION(TRACE, rh_report, rh_trace_show, rh_trace_show_request, api_trace_show)
FUNCTION(TRACE, rh_report, rh_trace_import, rh_trace_import_request, api_trace_import)
FUNCTION(TRACE, rh_report, rh_trace_export, rh_trace_export_request, api_trace_export)
FUNCTION(TRACE, rh_report, rh_trace_phases, rh_trace_phases_request, api_trace_phases)
FUNCTION(PLAN, rh_report, rh_figure_plan, rh_figure_plan_request, api_figure_plan)
FUNCTION(TRACE, rh_report, rh_figure_steps, rh_figure_steps_request, api_figure_steps)
FUNCTION(TRACE, rh_report, rh_figure_timeline, rh_figure_timeline_request, api_figure_timeline)
FUNCTION(TRACE, rh_report, rh_figure_distribution, rh_figure_distribution_request, api_figure_distribution)
FUNCTION(TRACE, rh_report, rh_figure_throughput, rh_figure_throughput_request, api_figure_throughput)
FUNCTION(PLAN, rh_report, rh_report_make, rh_report_request, api_report_page)
FUNCTION(PLAN, rh_report, rh_validate, rh_validate_request, api_validate)
FUNCTION(PLAN, rh_report, rh_price, rh_price_request, api_price)
FUNCTION(PLAN, rh_report, rh_calibrate, rh_calibrate_request, api_calibrate)
FUNCTION(RUN, rh_report, rh_measure_layers, rh_measure_layers_request, api_measure_layers)
FUNCTION(RUN, rh_report, rh_measure_links, rh_measure_links_request, api_measure_links)
FUNCTION(RUN, rh_report, rh_play, rh_play_request, api_play)
FUNCTION(STORAGE, rh_report, rh_dataset_generate, rh_dataset_generate_request, api_dataset_generate)
FUNCTION(STORAGE, rh_report, rh_dataset_verify, rh_dataset_verify_request, api_dataset_verify)
FUNCTION(STORAGE, rh_report, rh_dataset_scale, rh_dataset_scale_request, api_dataset_scale)
FUNCTION(STORAGE, rh_report, rh_feed, rh_feed_request, api_feed)
/* clang-format on */
