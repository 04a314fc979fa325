#include "cli/command.h"

const struct command command_measure_links = {
    SAYS_measure_links,
    .asks = &api_measure_links,
    .options = COMMAND_ROWS(LINE_JSON),
};
