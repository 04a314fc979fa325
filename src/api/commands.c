/* Every command that the library covers, and the function of each. */
#include "api/command.h"

/* clang-format off */
/* COMMAND(wing, answer, function, request, command), in the order of `rehearse help`. */
#define COMMANDS(COMMAND) \
    COMMAND(PLAN, rh_handle, rh_plan_find, rh_plan_request, api_plan)                                          \
    COMMAND(PLAN, rh_report, rh_check_plan, rh_check_request, api_check_plan)                                  \
    COMMAND(PLAN, rh_report, rh_simulate, rh_simulate_request, api_simulate)                                   \
    COMMAND(PLAN, rh_sweep, rh_sweep_plans, rh_sweep_request, api_sweep)                                       \
    COMMAND(PLAN, rh_report, rh_elastic, rh_elastic_request, api_elastic)                                      \
    COMMAND(PLAN, rh_report, rh_templates, rh_templates_request, api_templates)                                \
    COMMAND(PLAN, rh_handle, rh_cost, rh_cost_request, api_cost)                                               \
    COMMAND(PLAN, rh_profile, rh_profile_load, rh_profile_request, api_profile_show)                           \
    COMMAND(STORAGE, rh_report, rh_dataset_generate, rh_dataset_generate_request, api_dataset_generate)        \
    COMMAND(STORAGE, rh_report, rh_dataset_verify, rh_dataset_verify_request, api_dataset_verify)              \
    COMMAND(STORAGE, rh_report, rh_dataset_scale, rh_dataset_scale_request, api_dataset_scale)                 \
    COMMAND(STORAGE, rh_report, rh_feed, rh_feed_request, api_feed)                                            \
    COMMAND(TRACE, rh_report, rh_trace, rh_trace_request, api_trace)                                           \
    COMMAND(TRACE, rh_report, rh_trace_import, rh_trace_import_request, api_trace_import)                      \
    COMMAND(TRACE, rh_report, rh_trace_export, rh_trace_export_request, api_trace_export)                      \
    COMMAND(TRACE, rh_report, rh_trace_phases, rh_trace_phases_request, api_trace_phases)                      \
    COMMAND(TRACE, rh_report, rh_trace_show, rh_trace_show_request, api_trace_show)                            \
    COMMAND(TRACE, rh_report, rh_compare, rh_compare_request, api_compare)                                     \
    COMMAND(PLAN, rh_report, rh_figure_plan, rh_figure_plan_request, api_figure_plan)                          \
    COMMAND(TRACE, rh_report, rh_figure_steps, rh_figure_steps_request, api_figure_steps)                      \
    COMMAND(TRACE, rh_report, rh_figure_timeline, rh_figure_timeline_request, api_figure_timeline)             \
    COMMAND(TRACE, rh_report, rh_figure_distribution, rh_figure_distribution_request, api_figure_distribution) \
    COMMAND(TRACE, rh_report, rh_figure_throughput, rh_figure_throughput_request, api_figure_throughput)       \
    COMMAND(PLAN, rh_report, rh_report_make, rh_report_request, api_report_page)                               \
    COMMAND(PLAN, rh_report, rh_validate, rh_validate_request, api_validate)                                   \
    COMMAND(PLAN, rh_report, rh_price, rh_price_request, api_price)                                            \
    COMMAND(PLAN, rh_report, rh_calibrate, rh_calibrate_request, api_calibrate)                                \
    COMMAND(RUN, rh_report, rh_measure_layers, rh_measure_layers_request, api_measure_layers)                  \
    COMMAND(RUN, rh_report, rh_measure_links, rh_measure_links_request, api_measure_links)                     \
    COMMAND(RUN, rh_report, rh_play, rh_play_request, api_play)                                               

#define ROW(wing, answer, function, asked, name) IN_##wing(&(name),)
const struct api_command *const api_commands[] = {COMMANDS(ROW) NULL};

/* The function of a command; without its wing it refuses. */
#define FUNCTION(wing, answer, function, asked, name)                                                        \
    answer *function(const struct asked *request, const struct rh_call *call, struct rh_error *error)        \
    {                                                                                                        \
        static const struct api_command *const command[] = {IN_##wing(&(name),) NULL};                       \
        return api_run(command[0], request, call, error);                                                    \
    }
COMMANDS(FUNCTION)
/* clang-format on */
