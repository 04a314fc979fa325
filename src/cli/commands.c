#include "cli/command.h"
#include "cli/output.h"
#include "cli/usage.h"

/* clang-format off */
const struct command *const commands[] = {
    &command_plan,
    &command_templates,
    &command_check_plan,
    &command_price,
    &command_simulate,
    &command_run,
    &command_sweep,
    &command_elastic,
    &command_profile_show,
    &command_profile_convert,
    &command_cost,
    &command_measure_layers,
    &command_measure_links,
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
    &command_figure_plan,
    &command_figure_steps,
    &command_report,
    &command_calibrate,
    &command_help,
    &command_completion,
    &command_version,
    NULL,
};
/* clang-format on */

static bool show_help(const struct command *command, struct error *err)
{
    struct text text = {0};
    usage_write(command, &text);
    return output_and_release(NULL, &text, err);
}

bool command_execute(int argc, char **argv, struct error *err)
{
    int used;
    const struct command *command = command_find(argc, (const char *const *)argv, &used, err);
    if (!command)
        return false;
    struct arena arena = {0};
    bool help = false;
    void *options = arena_alloc(&arena, 1, command->options_size ? command->options_size : 1);
    bool done = options ? command_parse(command, argc - used, argv + used, options, &arena, &help, err)
                        : error_memory(err);
    if (done)
        done = help ? show_help(command, err) : command->run(options, err);
    arena_release(&arena);
    return done;
}
