#include "cli/command.h"

COMMAND(elastic, &api_elastic, .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON));
