#include "cli/command.h"

const struct command command_simulate = {
    SAYS_simulate,
    .asks = &api_simulate,
    .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON, LINE_OUTPUT),
};
