/* Commands of the library: a request in, a handle out.
 *
 * How to cover the command `rehearse weigh`:
 *   1. struct rh_weigh_request in rehearse.h, a field for each option, and rh_weigh();
 *   2. in texts.yaml what is said of it, and its table of options, rh_weigh_request;
 *      src/api/weigh.c: a function that writes its answer, and
 *      API_WHOLE_COMMAND(weigh, "weigh", rh_weigh_request, .answer = weigh);
 *   3. a row in commands.c;
 *   4. src/cli/cmd_weigh.c: COMMAND(weigh, &api_weigh, …), and where the answer goes.
 *
 * A maker meets the request with all defaults filled in, checked by its table, and as large as this library knows
 * it. */
#ifndef REHEARSE_API_COMMAND_H
#define REHEARSE_API_COMMAND_H

#include "api/handle.h"
#include "api/option.h"

#include <stdatomic.h>

#define API_MAX_REQUEST 1024 /* bytes */
#define API_MAX_OPTIONS 64   /* of a command */

/* How a command is called: what all calls have, and which rows of its table were given. */
struct api_call {
    struct rh_call how;
    const bool *given;
};

struct api_command {
    const char *name; /* as on the command line */
    const struct option_spec *options;
    size_t size; /* of the request */
    /* Writes both texts of the answer. */
    bool (*answer)(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err);
    /* In place of that: an answer that is no report. */
    rh_handle *(*make)(const void *request, const struct api_call *call, struct error *err);
    /* A stop ends its work, not the call: its answer stands, and its error says what is kept. */
    bool ends_in_order;
};

/* Defines the command api_WORD, of the table api_WORD_options; the rest are members. */
#define API_COMMAND(word, its_name, request, ...)                                                            \
    const struct api_command api_##word = {                                                                  \
        .name = its_name, .options = api_##word##_options, .size = sizeof(struct request), __VA_ARGS__}

/* The same with the table, which texts.yaml has whole. */
#define API_WHOLE_COMMAND(word, its_name, request, ...)                                                      \
    const struct option_spec api_##word##_options[] = {OPTIONS_##request, OPTION_END};                       \
    API_COMMAND(word, its_name, request, __VA_ARGS__)

/* In the order of `rehearse help`, ended by NULL. */
extern const struct api_command *const api_commands[];

/* Runs a command: `call` and `error` may be NULL. */
rh_handle *api_run(const struct api_command *command, const void *request, const struct rh_call *call,
                   struct rh_error *error);

/* Returns whether the call was asked to end, and sets ERROR_STOPPED. */
bool api_stopped(const struct api_call *call, struct error *err);

/* The flag that a stop of the call sets. NULL: the call has none. */
const atomic_bool *api_stop(const struct api_call *call);

/* The flag outlives the stop, which its caller may free: of threads that may never come back. */
void api_keep_stop(const struct api_call *call);

/* clang-format off */
/* COMMAND(wing, answer, function, request, command), in the order of `rehearse help`. */
#define API_COMMANDS(COMMAND) \
    COMMAND(PLAN, rh_handle, rh_plan_find, rh_plan_request, api_plan)                                          \
    COMMAND(PLAN, rh_report, rh_check_plan, rh_check_request, api_check_plan)                                  \
    COMMAND(PLAN, rh_report, rh_simulate, rh_simulate_request, api_simulate)                                   \
    COMMAND(PLAN, rh_report, rh_explain, rh_explain_request, api_explain)                                      \
    COMMAND(PLAN, rh_sweep, rh_sweep_plans, rh_sweep_request, api_sweep)                                       \
    COMMAND(PLAN, rh_report, rh_elastic, rh_elastic_request, api_elastic)                                      \
    COMMAND(PLAN, rh_report, rh_templates, rh_templates_request, api_templates)                                \
    COMMAND(PLAN, rh_handle, rh_cost, rh_cost_request, api_cost)                                               \
    COMMAND(PLAN, rh_profile, rh_profile_load, rh_profile_request, api_profile_show)                           \
    COMMAND(STORAGE, rh_report, rh_dataset_generate, rh_dataset_generate_request, api_dataset_generate)        \
    COMMAND(STORAGE, rh_report, rh_dataset_verify, rh_dataset_verify_request, api_dataset_verify)              \
    COMMAND(STORAGE, rh_report, rh_dataset_scale, rh_dataset_scale_request, api_dataset_scale)                 \
    COMMAND(STORAGE, rh_report, rh_feed, rh_feed_request, api_feed)                                            \
    COMMAND(STORAGE, rh_report, rh_submit, rh_submit_request, api_submit)                                      \
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
#define API_DECLARE(wing, answer, function, request, command) \
    extern const struct api_command command; extern const struct option_spec command##_options[];
API_COMMANDS(API_DECLARE)
/* clang-format on */

/* Kinds of handles that requests hold. */
extern const struct api_kind api_plan_kind, api_profile_kind;

#endif
