#include "cli/command.h"

COMMAND(explain, &api_explain, .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT));
