#include "cli/command.h"

COMMAND(simulate, &api_simulate, .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON, LINE_OUTPUT));
