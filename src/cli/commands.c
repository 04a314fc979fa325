#include "cli/command.h"

#include "api/wings.h"
#include "cli/answer.h"
#include "cli/output.h"
#include "cli/usage.h"

/* clang-format off */
const struct command *const commands[] = {
    IN_PLAN(&command_plan,)
    IN_PLAN(&command_templates,)
    IN_PLAN(&command_check_plan,)
    IN_PLAN(&command_price,)
    IN_PLAN(&command_simulate,)
    IN_PLAN(&command_explain,)
    IN_RUN(&command_run,)
    IN_PLAN(&command_sweep,)
    IN_PLAN(&command_elastic,)
    IN_PLAN(&command_profile_show,)
    IN_PLAN(&command_profile_convert,)
    IN_PLAN(&command_cost,)
    IN_RUN(&command_measure_layers,)
    IN_RUN(&command_measure_links,)
    IN_PLAN(&command_validate,)
    IN_STORAGE(&command_dataset_generate,)
    IN_STORAGE(&command_dataset_verify,)
    IN_STORAGE(&command_dataset_scale,)
    IN_STORAGE(&command_feed,)
    IN_STORAGE(&command_submit,)
    IN_TRACE(&command_trace,)
    IN_TRACE(&command_trace_show,)
    IN_TRACE(&command_trace_import,)
    IN_TRACE(&command_trace_export,)
    IN_TRACE(&command_trace_phases,)
    IN_TRACE(&command_compare,)
    IN_TRACE(&command_figure_timeline,)
    IN_TRACE(&command_figure_distribution,)
    IN_TRACE(&command_figure_throughput,)
    IN_PLAN(&command_figure_plan,)
    IN_TRACE(&command_figure_steps,)
    IN_PLAN(&command_report,)
    IN_PLAN(&command_calibrate,)
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
    void *options = arena_alloc(&arena, 1, command_size(command) + 1);
    bool done = options ? command_parse(command, argc - used, argv + used, options, &arena, &help, err)
                        : error_memory(err);
    if (done && command->asks)
        ((struct command_line *)options)->command = command;
    if (done)
        done = help           ? show_help(command, err)
               : command->run ? command->run(options, err)
                              : answer_run(options, err);
    arena_release(&arena);
    return done;
}
