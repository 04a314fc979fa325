#include "cli/command.h"

COMMAND(sweep, &api_sweep, .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON, LINE_CSV));
