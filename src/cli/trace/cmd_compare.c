#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

struct compare_command {
    struct rh_compare_request request;
    struct rh_list traces;
    const char *output;
    bool json;
};

static bool run(void *context, struct error *err)
{
    struct compare_command *given = context;
    struct rh_error error;
    given->request.size = sizeof given->request;
    given->request.traces = given->traces;
    given->request.form = given->json ? "json" : "text";
    rh_report *report = rh_compare(&given->request, NULL, &error);
    return answer_deliver(report, given->request.form, given->output, &error, err);
}

static const struct option_spec table[] = {
    OPTION_REQUEST(compare_command, request, api_compare_options),
    OPTION_JSON(struct compare_command),
    OPTION_OUTPUT(struct compare_command),
    OPTION_END,
};

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
    .options = table,
    .options_size = sizeof(struct compare_command),
    .operands = {"DB", "the traces; with --baseline, those after the first two are repeats", NULL, 2, 0,
                 offsetof(struct compare_command, traces)},
    .examples = examples,
    .run = run,
};
