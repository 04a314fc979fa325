/* The commands of the planner in a page, in place of src/api/commands.c: the others would double its size. */
#include "api/command.h"

const struct api_command *const api_commands[] = {
    &api_plan, &api_check_plan, &api_simulate, &api_sweep, &api_elastic, &api_cost, NULL,
};
