#include "cli/answer.h"
#include "cli/command.h"

#include <string.h>

/* Files that go to standard output stand there alone. */
static bool run_calibrate(void *context, struct error *err)
{
    const struct rh_calibrate_request *asked = context;
    rh_report *report = answer_ask(context, err);
    bool alone = asked->output && strcmp(asked->output, "-") == 0;
    bool done = report && (alone || answer_write(report, context, err));
    rh_free(report);
    return done;
}

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
    .asks = &api_calibrate,
    .options = COMMAND_ROWS(LINE_JSON),
    .examples = examples,
    .run = run_calibrate,
};
