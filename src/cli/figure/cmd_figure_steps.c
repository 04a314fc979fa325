#include "cli/command.h"
#include "cli/figure/options.h"
#include "cli/output.h"
#include "figure/gnuplot.h"
#include "figure/steps/steps.h"
#include "trace/steps/report.h"

struct steps_command {
    struct rh_list folders;
    const char *picture, *event, *workload;
    int kind, style;
    int64_t gpus, batch, skip_epochs;
    bool as_study, json;
    const bool *given;
};

enum { OPTION_SKIP_EPOCHS };

static const struct option_spec table[] = {
    [OPTION_SKIP_EPOCHS] =
        OPTION(steps_command, skip_epochs, OPTION_INTEGER, "skip-epochs", .argument = "N", .max = 1000000,
               .help = "number of first epochs of a run to leave out; by default 1 for UNET3D, 0 for others"),
    OPTION(
        steps_command, picture, OPTION_FILE, "output", .letter = 'o', .argument = "FILE",
        .help =
            "draw a picture instead of printing a table; its ending (.svg, .png, .pdf)\nselects the format"),
    OPTION(steps_command, kind, OPTION_CHOICE, "kind", .letter = 'k', .words = figure_steps_kinds,
           .argument = "KIND", .initial = "breakdown", .help = "the kind of picture"),
    OPTION(steps_command, event, OPTION_TEXT, "event", .argument = "NAME",
           .help = "the event whose violins or histograms are drawn, such as sample_preproc; by default the "
                   "step, loading and computing"),
    OPTION_STYLE(struct steps_command),
    OPTION(steps_command, gpus, OPTION_INTEGER, "gpus", .argument = "N", .min = 1, .max = 1000000,
           .help = "number of GPUs of all logs, instead of the number in their names"),
    OPTION(steps_command, batch, OPTION_INTEGER, "batch", .argument = "N", .min = 1, .max = 1e12,
           .help = "batch of all logs, instead of the batch in their names"),
    OPTION(steps_command, workload, OPTION_TEXT, "workload", .argument = "NAME",
           .help = "workload of all logs, instead of the one in their names"),
    OPTION(steps_command, as_study, OPTION_FLAG, "as-study",
           .help = "leave out and divide as the study's scripts do, faults included"),
    OPTION_JSON(struct steps_command),
    OPTION_END,
};

static bool read_all(const struct steps_command *given, struct steps *steps, struct error *err)
{
    const struct steps_options options = {
        .workload = given->workload,
        .gpus = given->gpus,
        .batch = given->batch,
        .skip_epochs = given->given[OPTION_SKIP_EPOCHS] ? given->skip_epochs : -1,
        .as_study = given->as_study,
    };
    for (size_t i = 0; i < given->folders.count; i++)
        if (!steps_read(steps, given->folders.items[i], &options, err))
            return false;
    return steps_finish(steps, err);
}

static bool report(const struct steps_command *given, const struct steps *steps,
                   const struct steps_model *model, struct error *err)
{
    struct text text = {0};
    if (given->json ? steps_write_json(steps, model, &text, err) : steps_print(steps, model, &text, err))
        return output_and_release(NULL, &text, err);
    text_release(&text);
    return false;
}

static bool run(void *context, struct error *err)
{
    const struct steps_command *given = context;
    struct steps steps = {0};
    struct steps_model model = {0};
    bool good = (!given->picture || figure_can_write(given->picture, err)) && read_all(given, &steps, err) &&
                steps_model(&steps, &model, err);
    if (good && given->picture)
        good = figure_steps(given->picture, (enum figure_steps_kind)given->kind, given->event,
                            figure_style_at(given->style), &steps, &model, err);
    if (good && (given->json || !given->picture))
        good = report(given, &steps, &model, err);
    steps_model_release(&model);
    steps_release(&steps);
    return good;
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
    .options = table,
    .options_size = sizeof(struct steps_command),
    .given_at = offsetof(struct steps_command, given),
    .operands = {.name = "FOLDER",
                 .help = "logs, or folders of logs",
                 .min = 1,
                 .max = 0,
                 .at = offsetof(struct steps_command, folders)},
    .examples = examples,
    .run = run,
};
