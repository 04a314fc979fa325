#include "cli/answer.h"
#include "cli/command.h"

/* A report whose picture cannot be drawn is printed first. */
static bool deliver(const struct command_line *line, const rh_report *report, struct error *err)
{
    const char *undrawn = rh_string(report, "undrawn");
    return answer_write(report, line, err) &&
           (!undrawn || error_set(err, (enum error_kind)rh_number(report, "undrawn_code"), "%s", undrawn));
}

static bool run_validate(void *context, struct error *err)
{
    rh_report *report = answer_ask(context, err);
    bool done = report && deliver(context, report, err);
    rh_free(report);
    return done;
}

static const struct command_example examples[] = {
    {"rehearse validate", "errors of the published runs that come with the program"},
    {"rehearse validate runs.csv", "errors by source and device of your own runs"},
    {"rehearse validate runs.csv --rows --figure scatter.svg", "every run, and a picture"},
    {"rehearse validate runs.csv --rank", "are faster splits of a job also predicted to be faster?"},
    {NULL, NULL},
};

const struct command command_validate = {
    .name = "validate",
    .summary = "predict the iteration time of measured training runs and print the errors",
    .description =
        "Reads a table of training runs (CSV), predicts the time of an iteration for every run with enough "
        "numbers, and prints the errors by source and device. One set of parameters per device generation is "
        "used for all runs; nothing is fitted to single runs. With --rows, runs without a measured time are "
        "predicted, too: a table of jobs to choose from. Runs that cannot be modelled are listed with the "
        "reason.\n\n"
        "Columns by name: gpu, gpus, framework, model, layers, hidden, heads, kv_heads, ffn, seq, vocab, "
        "precision, tp, pp, vp, dp, cp, ep, zero, mbs, gbs, recompute, sec_per_iter, mem_gb, sec_basis, "
        "outcome, devices_per_node, across. A row whose sec_basis is not 'printed', 'from_tokens_per_s' or "
        "'from_samples_per_s' is predicted and not scored.",
    .asks = &api_validate,
    .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON, LINE_OUTPUT),
    .examples = examples,
    .run = run_validate,
};
