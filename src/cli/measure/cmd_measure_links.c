#include "cli/command.h"

COMMAND(measure_links, &api_measure_links, .options = COMMAND_ROWS(LINE_JSON));
