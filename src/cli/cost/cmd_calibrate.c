#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

#include <string.h>

struct calibrate_command {
    struct rh_calibrate_request request;
    bool json;
};

/* Files that go to standard output stand there alone. */
static bool run(void *context, struct error *err)
{
    struct calibrate_command *given = context;
    const char *output = given->request.output;
    struct rh_error error;
    given->request.size = sizeof given->request;
    rh_report *report = rh_calibrate(&given->request, NULL, &error);
    if (output && strcmp(output, "-") == 0)
        return answer_end(report, &error, err);
    return answer_print(report, given->json ? "json" : "text", &error, err);
}

static const struct option_spec options[] = {
    OPTION_REQUEST(calibrate_command, request, api_calibrate_options),
    OPTION_JSON(struct calibrate_command),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse calibrate --device h100 --gemm gemm.csv --name my-h100 -o my-h100.yaml",
     "a device fitted to measurements on this machine"},
    {"rehearse cost --model gpt2-xl --device my-h100.yaml", "and its use"},
    {"rehearse calibrate --device h100 --collectives nccl.csv --across ib-400g -o links/",
     "links inside a node and between nodes"},
    {"rehearse calibrate --log run.log --device h100 -o lab.yaml", "a run of your own"},
    {"rehearse price train.sh --device h100 --calibration lab.yaml", "and its use for jobs like it"},
    {NULL, NULL},
};

const struct command command_calibrate = {
    .name = "calibrate",
    .summary = "fit a device, its links and its generation to measurements",
    .description =
        "Reads tables of measurements (CSV) and fits to them the parameters that published numbers do not "
        "give: "
        "of the device's matrix products, of its collectives, and of whole training runs. Prints the errors "
        "with the known parameters, and the errors of the fit on rows that it did not see (five fits, each "
        "without a fifth of the rows).\n\n"
        "Columns of matrix products: m, n, k and time_us, time_ms, seconds or flops_per_sec; optionally "
        "batch, dtype and gpu. Of collectives: collective, ranks, bytes and time_us, time_ms or seconds; "
        "optionally nodes and gpu.\n\n"
        "--log reads the log of one run of Megatron-LM, torchtitan or DeepSpeed, and compares it with what "
        "is "
        "expected of its job. Given as --calibration, what is written corrects jobs like it.",
    .options = options,
    .options_size = sizeof(struct calibrate_command),
    .examples = examples,
    .run = run,
};
