#include "cli/command.h"
#include "cli/completion.h"
#include "cli/output.h"

#include <string.h>

struct completion_options {
    struct rh_list shells;
};

static const struct option_spec options[] = {OPTION_END};
static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static bool run_completion(void *context, struct error *err)
{
    const struct completion_options *given = context;
    const char *shell = given->shells.items[0];
    struct text text = {0};
    if (strcmp(shell, "bash") == 0)
        completion_write_bash(&text);
    else if (strcmp(shell, "zsh") == 0)
        completion_write_zsh(&text);
    else if (strcmp(shell, "fish") == 0)
        completion_write_fish(&text);
    else
        return error_set(err, ERROR_USAGE, "completion: expected bash, zsh or fish, found '%s'", shell);
    return output_and_release(NULL, &text, err);
}

const struct command command_completion = {
    SAYS_command_completion,
    .options = options,
    .options_size = sizeof(struct completion_options),
    .operands = {.name = "SHELL",
                 .help = "bash, zsh or fish",
                 .words = shells,
                 .min = 1,
                 .max = 1,
                 .at = offsetof(struct completion_options, shells)},
    .run = run_completion,
};
