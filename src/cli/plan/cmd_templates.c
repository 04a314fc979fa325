#include "api/command.h"
#include "cli/command.h"

COMMAND(templates, &api_templates, .options = COMMAND_ROWS(LINE_TIME_LIMIT, LINE_THREADS, LINE_JSON));
