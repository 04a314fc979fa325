#include "api/command.h"
#include "cli/command.h"

const struct command command_templates = {
    SAYS_templates,
    .asks = &api_templates,
    .options = COMMAND_ROWS(LINE_TIME_LIMIT, LINE_THREADS, LINE_JSON),
};
