#include "cli/answer.h"
#include "cli/command.h"

#define PLAN_CSV                                                                                             \
    OPTION(command_line, csv, OPTION_FLAG, "csv", .topic = "output",                                         \
           .help = "print comma-separated values instead of a table")
#define PLAN_DOT                                                                                             \
    OPTION(command_line, dot, OPTION_FLAG, "dot", .topic = "output",                                         \
           .help = "print a Graphviz graph instead of a table")

/* Two of these would fill the same place. */
static const char *choose_form(const struct command_line *line, const struct rh_plan_request *asked,
                               struct error *err)
{
    const bool wanted[] = {line->json, line->csv, line->dot, asked->emit};
    static const char *const names[] = {"json", "csv", "dot", "emit"};
    const char *form = NULL;
    for (int i = 0; i < 4; i++) {
        if (wanted[i] && form) {
            error_set(err, ERROR_USAGE, "--%s and --%s both want standard output: choose one", form,
                      names[i]);
            return NULL;
        }
        form = wanted[i] ? names[i] : form;
    }
    return form ? form : "text";
}

static bool run_plan(void *context, struct error *err)
{
    struct rh_plan_request *asked = context;
    asked->form = choose_form(context, asked, err);
    rh_handle *answer = asked->form ? answer_ask(context, err) : NULL;
    bool done = answer && answer_write_form(answer, asked->form, NULL, err);
    rh_free(answer);
    return done;
}

static const struct command_example examples[] = {
    {"rehearse plan -m llama-3.1-405b -d h100 --devices 16384 --global-batch 2048",
     "the fastest split, proven"},
    {"rehearse plan -m llama-3-70b -d h100 --devices 64 --global-batch 512 --emit megatron",
     "as arguments of Megatron-LM"},
    {"rehearse plan -p profile.json -c cluster.yaml -n 50 -o plan.json --figure plan.svg",
     "the best pipeline for a measured profile"},
    {NULL, NULL},
};

/* `rehearse help plan TOPIC`. */
static const struct command_topic topics[] = {
    {"job", "of training jobs (objective iteration)"},
    {"pipeline", "of pipelines from a profile (objectives pipeline and oobleck)"},
    {"dapple", "of DAPPLE's planner (objective dapple)"},
    {"output", "of the printed and written output"},
    {NULL, NULL},
};

const struct command command_plan = {
    .name = "plan",
    .summary = "find the best pipeline for a model on a cluster, with a proof",
    .description =
        "Finds the split of a model over devices with the shortest iteration, and proves that it is optimal "
        "or bounds its distance to the optimum.\n\n"
        "Objectives: 'iteration' is all of a training job (the default with --model or --global-batch). "
        "'pipeline' "
        "is the sum of the stage times + (N - 1) x the slowest (the default with --microbatches). 'oobleck' "
        "is T1 + "
        "T2 + T3 of Oobleck. 'dapple' is DAPPLE's hybrid of data and pipeline parallelism.",
    .asks = &api_plan,
    .options = COMMAND_ROWS(LINE_TIME_LIMIT, LINE_THREADS, LINE_JSON, PLAN_CSV, PLAN_DOT),
    .topics = topics,
    .examples = examples,
    .run = run_plan,
};
