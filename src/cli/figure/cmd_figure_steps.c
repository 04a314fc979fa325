#include "cli/answer.h"
#include "cli/command.h"

static bool run_figure_steps(void *context, struct error *err)
{
    const struct command_line *line = context;
    const struct rh_figure_steps_request *asked = context;
    rh_report *report = answer_ask(context, err);
    bool done = report && ((asked->output && !line->json) || answer_write(report, line, err));
    rh_free(report);
    return done;
}

static const struct command_example examples[] = {
    {"rehearse figure steps logs/UNET3D_*", "a table: seconds, samples/s, fits"},
    {"rehearse figure steps logs/UNET3D_* -o steps.svg", "the parts of a step, as bars"},
    {"rehearse figure steps logs/DLRM_* -o fit.png --kind fit", "compute times and the fitted planes"},
    {NULL, NULL},
};

const struct command command_figure_steps = {
    .name = "figure steps",
    .summary = "print and draw the parts of training steps",
    .description =
        "Reads the logs of instrumented applications (MLLOG with durations, DLIO's lines and outputs,\n"
        "TensorFlow's profiles) and results of rehearse feed, pools the runs of one configuration, and "
        "prints\n"
        "durations, throughputs and a model of compute time. Names of folders give the number of GPUs and\n"
        "the batch: UNET3D_8g_4b, DLRM_8G_32kglobal.\n"
        "\n"
        "With -o, one picture is drawn: breakdown (bars), step, full, throughput, latency (lines over the\n"
        "batch), violin, histogram, or fit. docs/figure-steps.md shows them.",
    .asks = &api_figure_steps,
    .options = COMMAND_ROWS(LINE_JSON),
    .examples = examples,
    .run = run_figure_steps,
};
