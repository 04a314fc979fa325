#include "cli/command.h"

const struct command command_check_plan = {
    SAYS_check_plan,
    .asks = &api_check_plan,
    .options = COMMAND_ROWS(LINE_TIME_LIMIT, LINE_THREADS, LINE_JSON),
};
