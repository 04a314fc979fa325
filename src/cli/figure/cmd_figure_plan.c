#include "cli/command.h"
#include "cli/figure/options.h"
#include "figure/gnuplot.h"
#include "figure/plan.h"

struct plan_figure_options {
    struct rh_list plans;
    const char *title, *output;
    int64_t nodes;
    int kind, style;
};

static const struct option_spec table[] = {
    OPTION(plan_figure_options, kind, OPTION_CHOICE, "kind", .letter = 'k', .words = figure_plan_kinds,
           .argument = "KIND", .initial = "auto",
           .help = "stages: seconds of each; iteration: its parts, in this plan and its alternatives; auto:\n"
                   "the iteration of a plan with alternatives, the stages of others"),
    OPTION(plan_figure_options, nodes, OPTION_INTEGER, "nodes", .argument = "N", .initial = "0",
           .max = 1 << 24,
           .help = "the plan for N nodes of a set of templates ('rehearse templates -o'); 0: not a set"),
    OPTION(plan_figure_options, title, OPTION_TEXT, "title", .argument = "TEXT",
           .help = "title of the picture; by default model, time and proof"),
    OPTION_STYLE(struct plan_figure_options),
    OPTION_PICTURE(struct plan_figure_options),
    OPTION_END,
};

static bool run(void *context, struct error *err)
{
    const struct plan_figure_options *given = context;
    const struct figure_plan_options options = {.style = figure_style_at(given->style),
                                                .kind = (enum figure_plan_kind)given->kind,
                                                .title = given->title};
    struct plan plan;
    if (!figure_can_write(given->output, err) ||
        !plan_load_template(&plan, given->plans.items[0], (int)given->nodes, err))
        return false;
    bool ok = figure_plan(given->output, &plan, &options, err);
    plan_release(&plan);
    return ok;
}

static const struct command_example examples[] = {
    {"rehearse figure plan plan.json -o plan.svg", "where the iterations go, or the time of each stage"},
    {"rehearse figure plan plan.json --kind stages --style paper -o stages.pdf", "the stages, for a paper"},
    {"rehearse figure plan templates.json --nodes 4 -o four.svg", "the plan for four nodes"},
    {NULL, NULL},
};

const struct command command_figure_plan = {
    .name = "figure plan",
    .summary = "draw a plan: the time of its stages, or where its iteration goes",
    .description =
        "Draws a plan of any kind and version (rehearse plan -o, or made by hand), or one of a set of\n"
        "templates: a bar for each stage, coloured by device type, or a bar for the parts of an iteration\n"
        "in this plan and each of its alternatives.",
    .options = table,
    .options_size = sizeof(struct plan_figure_options),
    .operands = {.name = "PLAN",
                 .help = "the plan",
                 .min = 1,
                 .max = 1,
                 .at = offsetof(struct plan_figure_options, plans)},
    .examples = examples,
    .run = run,
};
