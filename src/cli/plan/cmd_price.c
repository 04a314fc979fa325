#include "cli/command.h"

const struct command command_price = {
    SAYS_price,
    .asks = &api_price,
    .options = COMMAND_ROWS(LINE_TIME_LIMIT, LINE_THREADS, LINE_JSON, LINE_OUTPUT),
};
