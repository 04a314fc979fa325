#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

struct links_command {
    struct rh_measure_links_request request;
    bool json;
};

/* Ranks beside the first have nothing to print. */
static bool run(void *context, struct error *err)
{
    struct links_command *given = context;
    struct rh_error error;
    struct rh_call call = answer_call(&(struct rh_call){.size = 0}, 0);
    given->request.size = sizeof given->request;
    return answer_print(rh_measure_links(&given->request, &call, &error), given->json ? "json" : "text",
                        &error, err);
}

static const struct option_spec options[] = {
    OPTION_REQUEST(links_command, request, api_measure_links_options),
    OPTION_JSON(struct links_command),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"mpirun -n 4 --host a,b,c,d rehearse measure links -o measured", "the links between four hosts"},
    {"srun -N 2 -n 16 rehearse measure links --nccl libnccl.so.2 -o measured", "those between 16 GPUs"},
    {"mpirun -n 4 rehearse measure links --kinds none", "latency, bandwidth and overlap alone"},
    {NULL, NULL},
};

const struct command command_measure_links = {
    .name = "measure links",
    .summary = "measure the links between the ranks of a run",
    .description = "Started as several ranks by mpirun or srun, it measures latency, bandwidth one way and "
                   "both ways at once, how much "
                   "of a message's time computing hides, and collectives, by size, number of ranks and "
                   "place: inside a host and "
                   "between hosts. Each time is repeated until it is steady, and printed as the median with "
                   "its 95 % interval.\n\n"
                   "With --output it writes a cluster (rehearse-cluster/1), the links fitted to the times "
                   "(rehearse-links/1, with the "
                   "error of rows that the fit did not see), and all times.",
    .options = options,
    .options_size = sizeof(struct links_command),
    .examples = examples,
    .run = run,
};
