#include "cli/command.h"

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
    .asks = &api_measure_links,
    .options = COMMAND_ROWS(LINE_JSON),
    .examples = examples,
};
