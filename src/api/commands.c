/* Every command that the library covers, and the function of each. */
#include "api/command.h"

/* clang-format off */
#define ROW(wing, answer, function, asked, name) IN_##wing(&(name),)
const struct api_command *const api_commands[] = {API_COMMANDS(ROW) NULL};

/* The function of a command; without its wing it refuses. */
#define FUNCTION(wing, answer, function, asked, name)                                                        \
    answer *function(const struct asked *request, const struct rh_call *call, struct rh_error *error)        \
    {                                                                                                        \
        static const struct api_command *const command[] = {IN_##wing(&(name),) NULL};                       \
        return api_run(command[0], request, call, error);                                                    \
    }
API_COMMANDS(FUNCTION)
/* clang-format on */
