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

extern const struct api_command api_check_plan, api_cost, api_elastic, api_plan, api_profile_show,
    api_simulate, api_sweep, api_templates;
extern const struct api_command api_dataset_generate, api_dataset_verify, api_dataset_scale, api_feed;
extern const struct api_command api_trace, api_trace_import, api_trace_export, api_trace_phases,
    api_trace_show, api_compare, api_figure_plan, api_figure_steps, api_figure_timeline,
    api_figure_distribution, api_figure_throughput, api_report_page, api_validate, api_price, api_calibrate,
    api_measure_layers, api_measure_links, api_play;

/* Their tables, which command lines are read by. */
extern const struct option_spec api_check_plan_options[], api_cost_options[], api_elastic_options[],
    api_plan_options[], api_profile_show_options[], api_simulate_options[], api_sweep_options[],
    api_templates_options[];
extern const struct option_spec api_dataset_generate_options[], api_dataset_verify_options[],
    api_dataset_scale_options[], api_feed_options[];
extern const struct option_spec api_trace_options[], api_trace_import_options[], api_trace_export_options[],
    api_trace_phases_options[], api_trace_show_options[], api_compare_options[], api_figure_plan_options[],
    api_figure_steps_options[], api_figure_timeline_options[], api_figure_distribution_options[],
    api_figure_throughput_options[], api_report_page_options[], api_validate_options[], api_price_options[],
    api_calibrate_options[], api_measure_layers_options[], api_measure_links_options[], api_play_options[];

/* Kinds of handles that requests hold. */
extern const struct api_kind api_plan_kind, api_profile_kind;

#endif
