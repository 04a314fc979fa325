#include "cli/command.h"

const struct command command_elastic = {
    SAYS_elastic,
    .asks = &api_elastic,
    .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON),
};
