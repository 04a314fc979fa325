#include "cli/command.h"

/* clang-format off */
const struct command *const commands[] = {
    &command_plan,
    &command_templates,
    &command_check_plan,
    &command_profile_show,
    &command_profile_convert,
    &command_cost,
    &command_validate,
    &command_dataset_generate,
    &command_dataset_verify,
    &command_dataset_scale,
    &command_feed,
    &command_trace,
    &command_trace_show,
    &command_trace_import,
    &command_trace_export,
    &command_trace_phases,
    &command_compare,
    &command_figure_timeline,
    &command_figure_distribution,
    &command_figure_throughput,
    &command_figure_steps,
    &command_report,
    &command_calibrate,
    &command_help,
    &command_completion,
    &command_version,
    NULL,
};
/* clang-format on */
