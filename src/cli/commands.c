#include "cli/command.h"

const struct command *const commands[] = {
    &command_help,
    &command_completion,
    &command_version,
    NULL,
};
