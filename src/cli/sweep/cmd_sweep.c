#include "cli/command.h"

const struct command command_sweep = {
    SAYS_sweep,
    .asks = &api_sweep,
    .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON, LINE_CSV),
};
