#include "cli/command.h"

COMMAND(check_plan, &api_check_plan, .options = COMMAND_ROWS(LINE_TIME_LIMIT, LINE_THREADS, LINE_JSON));
