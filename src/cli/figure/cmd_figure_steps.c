#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

struct figure_steps_command {
    struct rh_figure_steps_request request;
    struct rh_list folders;
    bool json;
};

static bool run(void *context, struct error *err)
{
    struct figure_steps_command *given = context;
    struct rh_error error;
    given->request.size = sizeof given->request;
    given->request.folders = given->folders;
    rh_report *report = rh_figure_steps(&given->request, NULL, &error);
    if (!report || given->json || !given->request.output)
        return answer_print(report, given->json ? "json" : "text", &error, err);
    rh_free(report);
    return true;
}

static const struct option_spec table[] = {
    OPTION_REQUEST(figure_steps_command, request, api_figure_steps_options),
    OPTION_JSON(struct figure_steps_command),
    OPTION_END,
};

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
    .options = table,
    .options_size = sizeof(struct figure_steps_command),
    .operands = {.name = "FOLDER",
                 .help = "logs, or folders of logs",
                 .min = 1,
                 .max = 0,
                 .at = offsetof(struct figure_steps_command, folders)},
    .examples = examples,
    .run = run,
};
