#include "cli/answer.h"
#include "cli/command.h"

static bool run_compare(void *context, struct error *err)
{
    const struct command_line *line = context;
    struct rh_compare_request *asked = context;
    asked->form = line->json ? "json" : "text";
    return answer_run(context, err);
}

static const struct command_example examples[] = {
    {"rehearse compare real.db emulated.db", "one number, and its components"},
    {"rehearse compare real1.db emulated.db --baseline real1.db real2.db real3.db",
     "the same, with the differences among repeats of the real run"},
    {"rehearse compare real.db emulated.db --figure where.svg", "a picture of where they differ"},
    {"rehearse compare *.db --breakdown pairs", "all pairs: a matrix, and a file for each pair"},
    {NULL, NULL},
};

const struct command command_compare = {
    .name = "compare",
    .summary = "compute how similar two traces are",
    .description =
        "Compares two traces (rehearse trace): sizes, latencies and inter-arrival times of each class of "
        "event, rates over time by phase, counts, order of access, durations, and processors, disks and "
        "GPUs. Each component is in [0, 1] and 1 for equal traces; the total is their weighted mean. "
        "docs/compare.md has the definition.\n\n"
        "With --baseline, repeats of one run are compared in all pairs, and each component is compared with "
        "its lowest value among them. Without --baseline, more than two traces are compared in all pairs.",
    .asks = &api_compare,
    .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT),
    .operands = {.min = 2},
    .examples = examples,
    .run = run_compare,
};
