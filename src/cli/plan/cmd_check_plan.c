#include "api/choose.h"
#include "api/plan/deliver.h"
#include "api/plan/planning.h"
#include "cli/command.h"
#include "cli/output.h"
#include "core/json.h"
#include "core/unit.h"
#include "plan/dapple/dapple.h"
#include "plan/score/score.h"

#include <math.h>
#include <string.h>

struct check_options {
    struct planning_options planning; /* its objective is an index of `objectives` */
    const char *model, *device, *links, *calibration;
    int64_t global_batch, profile_batch;
    double headroom, state_factor, sample_memory;
    int rules; /* index of `rules` */
    const char *output;
    struct rh_list plans;
    bool json;
};

/* The first of each is "as the plan says". */
static const char *const objectives[] = {"plan", "pipeline", "oobleck", "dapple", "iteration", NULL};
static const char *const memories[] = {"plan", "in-flight", "reference", NULL};
static const char *const rules[] = {"plan", "dapple", "dapple-fixed", NULL};

/* ---- what comes back ---- */

static void print(const char *path, const struct score *score, struct text *out)
{
    char mine[32], optimum[32];
    double excess = score_excess(score);
    const char *best = score->best.proven_optimal ? "the optimum" : "the best plan found";
    unit_format(mine, sizeof mine, score->plan.iteration_time, UNIT_TIME, 6);
    unit_format(optimum, sizeof optimum, score->best.iteration_time, UNIT_TIME, 6);
    text_format(out, "%s: %s, ", path, mine);
    if (isnan(excess))
        text_format(out, "and no plan to compare with: %s", score->none.text);
    else if (excess > 1e-9)
        text_format(out, "%.3g %% more than %s (%s)", 100 * excess, best, optimum);
    else if (excess < -1e-9)
        text_format(out, "%.3g %% less than %s %s (%s)", -100 * excess, best, score->beyond, optimum);
    else if (score->best.proven_optimal)
        text_add(out, "optimal");
    else
        text_format(out, "as good as %s; no plan takes less than %.6g s", best, score->best.lower_bound);
    if (score->misfit.text[0])
        text_format(out, "; it does not fit: %s", score->misfit.text);
    if (score->other_link)
        text_format(out, "; link '%s' is scored as --cluster gives it, not as the plan does",
                    score->other_link);
    text_add(out, "\n");
}

/* Those of a pipeline also stand at the top, where they were before other plans could be scored. */
static void write_parts(const struct plan *plan, struct json *json)
{
    for (int i = 0; i < plan->part_count; i++)
        if (strcmp(plan->parts[0].name, "t1") == 0)
            json_number(json, plan->parts[i].name, plan->parts[i].value);
    json_open_flat(json, "parts", '{');
    for (int i = 0; i < plan->part_count; i++)
        json_number(json, plan->parts[i].name, plan->parts[i].value);
    json_close(json);
}

static void write_json(const char *path, const struct score *score, struct json *json)
{
    const struct plan *plan = &score->plan;
    json_open_document(json, "rehearse-plan-check/1");
    json_string(json, "file", path);
    json_string(json, "objective", plan->objective);
    json_integer(json, "microbatches", plan->asked_microbatches);
    json_number(json, "iteration_time", plan->iteration_time);
    write_parts(plan, json);
    json_number(json, "memory", plan->memory);
    json_bool(json, "fits", !score->misfit.text[0]);
    json_number(json, "excess", score_excess(score));
    if (score->best.pipeline_count > 0)
        plan_write_json(&score->best, json, "optimum");
    else
        json_null(json, "optimum");
    json_close(json);
}

static bool check(const struct check_options *options, const struct score_options *how, const char *path,
                  struct text *out, struct json *json, struct error *err)
{
    struct plan plan;
    struct score score;
    if (!plan_load(&plan, path, err))
        return false;
    bool ok = score_plan(&score, &plan, how, err);
    if (ok) {
        ok = !options->output || plan_save(&score.plan, options->output, err);
        if (json)
            write_json(path, &score, json);
        else
            print(path, &score, out);
        score_release(&score);
    }
    plan_release(&plan);
    return ok;
}

/* ---- what is asked ---- */

static bool choose(const struct check_options *options, struct cost_chosen *chosen, struct score_options *how,
                   struct error *err)
{
    *how = (struct score_options){
        .objective = options->planning.objective > 0 ? objectives[options->planning.objective] : NULL,
        .planning = options->planning,
        .global_batch = options->global_batch,
        .headroom = options->headroom < 0 ? NAN : options->headroom / 100.0,
        .rules = options->rules > 0 ? rules[options->rules] : NULL,
        .dapple = {options->profile_batch, options->state_factor, options->sample_memory},
    };
    how->planning.memory--; /* the first word is "plan" */
    if (!tables_add(&chosen->added, TABLE_LINKS, options->links, err) ||
        !tables_add(&chosen->added, TABLE_CALIBRATIONS, options->calibration, err) ||
        (options->model && !cost_choose_model(chosen, options->model, err)) ||
        (options->device && !cost_choose_devices(chosen, options->device, err)))
        return false;
    if (chosen->device_count > 1)
        return error_set(err, ERROR_USAGE, "--device: expected one device type, found %d",
                         chosen->device_count);
    how->parts.tables = &chosen->added;
    how->parts.model = chosen->model;
    how->parts.device = chosen->device_count > 0 ? chosen->devices[0] : NULL;
    return options->plans.count == 1 || !options->output ||
           error_set(err, ERROR_USAGE, "--output is for one plan, found %zu", options->plans.count);
}

static bool run(void *context, struct error *err)
{
    const struct check_options *options = context;
    struct cost_chosen chosen = {0};
    struct score_options how;
    struct text text = {0};
    struct json json = {.out = &text};
    bool ok = choose(options, &chosen, &how, err);
    if (options->json)
        json_open(&json, NULL, '[');
    for (size_t i = 0; ok && i < options->plans.count; i++)
        ok = check(options, &how, options->plans.items[i], &text, options->json ? &json : NULL, err);
    if (options->json)
        json_close(&json);
    ok = ok && output_text(NULL, &text, err);
    text_release(&text);
    cost_chosen_release(&chosen);
    return ok;
}

static const struct option_spec options[] = {
    OPTION(
        check_options, planning.profile, OPTION_FILE, "profile", .letter = 'p', .argument = "P",
        .help =
            "layer times, which plans of pipelines and DAPPLE's need: a rehearse-profile/1 file, an Oobleck "
            "profile folder, a folder of such folders named by device type, or a graph of operations"),
    OPTION(
        check_options, planning.cluster, OPTION_FILE, "cluster", .letter = 'c', .argument = "FILE",
        .help =
            "the cluster, rehearse-cluster/1, or for DAPPLE's plans rehearse-dapple/1; without it, training "
            "jobs run on the cluster that the plan describes"),
    OPTION(check_options, model, OPTION_TEXT, "model", .letter = 'm', .argument = "NAME",
           .help = "the model of a training job, by name or as a file, instead of the plan's"),
    OPTION(check_options, device, OPTION_TEXT, "device", .letter = 'd', .argument = "NAME",
           .help = "the device type of a training job, by name or as a file, instead of the plan's"),
    OPTION(check_options, links, OPTION_FILE, "links", .argument = "FILE",
           .help = "your own links; a link of the same name replaces the known one"),
    OPTION(check_options, calibration, OPTION_FILE, "calibration", .argument = "FILE",
           .help = "the result of 'rehearse calibrate --runs', which replaces the built-in calibration"),
    OPTION(check_options, planning.microbatch_size, OPTION_INTEGER, "microbatch-size", .argument = "N",
           .initial = "0", .max = PROFILE_MAX_MICROBATCH,
           .help = "read mb{N}.json of an Oobleck folder; 0 reads the only one"),
    PLANNING_ALLREDUCE(struct check_options),
    OPTION(check_options, planning.memory, OPTION_CHOICE, "memory", .argument = "MODEL", .initial = "plan",
           .words = memories,
           .help =
               "activations that a stage of a pipeline must hold: those of every micro-batch in flight, or "
               "of one, as in Oobleck's formula; plan is what the file says, or else in-flight"),
    OPTION(check_options, planning.microbatches, OPTION_INTEGER, "microbatches", .letter = 'n',
           .argument = "N", .initial = "-1", .min = -1, .max = PLAN_MAX_MICROBATCHES,
           .help = "micro-batches per iteration; -1 takes the plan's number"),
    OPTION(check_options, global_batch, OPTION_INTEGER, "global-batch", .argument = "N", .initial = "0",
           .max = 1 << 30, .help = "dapple, iteration: samples of an iteration; 0 takes the plan's number"),
    OPTION(check_options, headroom, OPTION_NUMBER, "headroom", .argument = "PERCENT", .initial = "-1",
           .min = -1, .max = 90,
           .help =
               "iteration: share of the memory that the optimum keeps free; -1 takes the plan's, or else 5"),
    OPTION(check_options, rules, OPTION_CHOICE, "rules", .argument = "NAME", .initial = "plan",
           .words = rules, .help = "dapple: the rules; plan takes those of the file, or else dapple"),
    OPTION(check_options, profile_batch, OPTION_INTEGER, "profile-batch", .argument = "N", .initial = "0",
           .max = 1 << 30,
           .help = "dapple: samples that the graph was measured with; 0 takes the number from its name"),
    OPTION(
        check_options, state_factor, OPTION_NUMBER, "state-factor", .argument = "F", .initial = "4",
        .max = 1e6,
        .help =
            "dapple: bytes of weights, gradients and optimizer state for each byte of weights, as in plan"),
    OPTION(check_options, sample_memory, OPTION_QUANTITY, "sample-memory", .argument = "BYTES",
           .initial = "0", .unit = UNIT_BYTES,
           .help = "dapple: activations of a sample; 0 takes those of the graph"),
    OPTION(check_options, planning.objective, OPTION_CHOICE, "objective", .argument = "NAME",
           .initial = "plan", .words = objectives,
           .help = "the objective of the score; plan takes the file's, or else that of its kind"),
    PLANNING_TIME_LIMIT(struct check_options),
    PLANNING_THREADS(struct check_options),
    OPTION_JSON(struct check_options),
    OPTION(check_options, output, OPTION_FILE, "output", .letter = 'o', .argument = "FILE",
           .help =
               "also write the plan to FILE (rehearse-plan/2) with all seconds, bytes and devices filled in"),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse check-plan plan.json",
     "a training job that 'rehearse plan -m' wrote, perhaps changed by hand"},
    {"rehearse check-plan -p profile.json -c cluster.yaml mine.json",
     "the excess of a plan over the optimum"},
    {"rehearse check-plan -m llama-3-8b --global-batch 256 mine.json -o complete.json",
     "a plan by hand, completed"},
    {NULL, NULL},
};

const struct command command_check_plan = {
    .name = "check-plan",
    .summary = "score a plan of any origin and compare it with the optimum",
    .description =
        "Reads plans of any kind (rehearse-plan/2; by hand, each stage needs layers, device_type and its "
        "degrees), checks that they can be run, and prints the time of an iteration and its excess over the "
        "optimum for the same question.\n\n"
        "A training job is made again from the names and numbers in the plan. Plans of pipelines and "
        "DAPPLE's need the profile and the cluster that they are for.",
    .options = options,
    .options_size = sizeof(struct check_options),
    .operands = {.name = "PLAN", .help = "plan files", .min = 1, .at = offsetof(struct check_options, plans)},
    .examples = examples,
    .run = run,
};
