#include "cli/command.h"

COMMAND(price, &api_price, .options = COMMAND_ROWS(LINE_TIME_LIMIT, LINE_THREADS, LINE_JSON, LINE_OUTPUT));
