#include "cli/command.h"
#include "cli/output.h"
#include "cli/plan/planning.h"
#include "core/json.h"
#include "core/unit.h"
#include "plan/pipeline_plan.h"

#include <string.h>

struct check_options {
    struct planning_options planning;
    struct option_list plans;
    bool json;
};

/* What the command line does not say, the plan does. */
static bool complete(const struct check_options *options, const struct plan *plan,
                     struct planning_options *planning, struct error *err)
{
    enum plan_objective objective = OBJECTIVE_PIPELINE;
    *planning = options->planning;
    if (planning->objective > 0)
        planning->objective--; /* the choices begin with "as the plan says" */
    else if (plan->objective && !pipeline_objective_find(plan->objective, &objective))
        return error_set(err, ERROR_INPUT, "%s: objective: expected 'pipeline' or 'oobleck', found '%s'",
                         plan->path, plan->objective);
    else
        planning->objective = (int)objective;
    if (planning->microbatches < 0 && plan->asked_microbatches < 0)
        return error_set(err, ERROR_USAGE, "%s: says no number of micro-batches: --microbatches N is needed",
                         plan->path);
    if (planning->microbatches < 0)
        planning->microbatches = plan->asked_microbatches;
    return true;
}

static bool in_file(const char *path, struct error *err)
{
    char text[sizeof err->text];
    memcpy(text, err->text, sizeof text);
    return error_set(err, err->kind, "%s: %s", path, text);
}

static double excess(const struct pipeline *plan, const struct pipeline *best)
{
    return plan->iteration_time / best->iteration_time - 1;
}

static void print(const char *path, const struct pipeline *plan, const struct pipeline *best,
                  struct text *out)
{
    char mine[32], optimum[32];
    unit_format(mine, sizeof mine, plan->iteration_time, UNIT_TIME, 6);
    unit_format(optimum, sizeof optimum, best->iteration_time, UNIT_TIME, 6);
    const char *what = best->proven_optimal ? "the optimum" : "the best plan found";
    if (excess(plan, best) > 1e-9)
        text_format(out, "%s: %s, %.3g %% more than %s (%s)\n", path, mine, 100 * excess(plan, best), what,
                    optimum);
    else if (excess(plan, best) < -1e-9) /* it leaves devices idle, or comes back to a node */
        text_format(out, "%s: %s, %.3g %% less than %s that uses every device, node after node (%s)\n", path,
                    mine, -100 * excess(plan, best), what, optimum);
    else if (best->proven_optimal)
        text_format(out, "%s: %s, optimal\n", path, mine);
    else
        text_format(out, "%s: %s, as good as %s; no plan takes less than %.6g s\n", path, mine, what,
                    best->lower_bound);
}

static bool write_json(const char *path, const struct pipeline *plan, const struct pipeline *best,
                       const struct planning *planning, struct json *json, struct error *err)
{
    struct plan optimum;
    plan_init(&optimum);
    if (!plan_of_pipeline(&optimum, best, &planning->problem, &planning->profile, &planning->cluster, err))
        return false;
    json_open_document(json, "rehearse-plan-check/1");
    json_string(json, "file", path);
    json_string(json, "objective", plan_objective_name(plan->objective));
    json_integer(json, "microbatches", plan->microbatches);
    json_number(json, "iteration_time", plan->iteration_time);
    json_number(json, "t1", plan->t1);
    json_number(json, "t2", plan->t2);
    json_number(json, "t3", plan->t3);
    json_number(json, "excess", excess(plan, best));
    plan_write_json(&optimum, json, "optimum");
    json_close(json);
    plan_release(&optimum);
    return true;
}

/* Scores one pipeline and appends what is found to `out` (or `json`). */
static bool check_pipeline(const struct planning *planning, const struct plan *plan, struct text *out,
                           struct json *json, struct error *err)
{
    struct pipeline pipeline, best;
    if (!pipeline_of_plan(&pipeline, &planning->problem, plan, err))
        return false;
    bool ok = pipeline_check(&planning->problem, &pipeline, err) &&
              (pipeline_score(&planning->problem, &pipeline, err) || in_file(plan->path, err));
    if (ok && plan_search(&planning->problem, &planning->search, &best, err)) {
        if (json)
            ok = write_json(plan->path, &pipeline, &best, planning, json, err);
        else
            print(plan->path, &pipeline, &best, out);
        pipeline_release(&best);
    } else
        ok = false;
    pipeline_release(&pipeline);
    return ok;
}

static bool check(const struct check_options *options, const char *path, struct text *out, struct json *json,
                  struct error *err)
{
    struct planning_options asked;
    struct planning planning;
    struct plan plan;
    if (!plan_load(&plan, path, err))
        return false;
    bool ok = complete(options, &plan, &asked, err) && planning_open(&planning, &asked, err);
    if (ok) {
        ok = check_pipeline(&planning, &plan, out, json, err);
        planning_close(&planning);
    }
    plan_release(&plan);
    return ok;
}

static bool run(void *context, struct error *err)
{
    const struct check_options *options = context;
    struct text text = {0};
    struct json json = {.out = &text};
    bool ok = true;
    if (options->json)
        json_open(&json, NULL, '[');
    for (size_t i = 0; ok && i < options->plans.count; i++)
        ok = check(options, options->plans.items[i], &text, options->json ? &json : NULL, err);
    if (options->json)
        json_close(&json);
    ok = ok && output_text(NULL, &text, err);
    text_release(&text);
    return ok;
}

static const char *const objectives[] = {"plan", "pipeline", "oobleck", NULL};

static const struct option_spec options[] = {
    PLANNING_OPTIONS(struct check_options),
    {.name = "microbatches",
     .letter = 'n',
     .kind = OPTION_INTEGER,
     .at = offsetof(struct check_options, planning.microbatches),
     .argument = "N",
     .initial = "-1",
     .least = -1,
     .most = PLAN_MAX_MICROBATCHES,
     .help = "micro-batches per iteration; -1 is as many as the plan says"},
    {.name = "objective",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct check_options, planning.objective),
     .argument = "NAME",
     .initial = "plan",
     .words = objectives,
     .help = "what the plan is scored by; plan is what the file says, or else pipeline"},
    PLANNING_TIME_LIMIT(struct check_options),
    PLANNING_THREADS(struct check_options),
    OPTION_JSON(struct check_options),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse check-plan -p profile.json -c cluster.yaml mine.json",
     "by how much does the optimum beat it?"},
    {NULL, NULL},
};

const struct command command_check_plan = {
    .name = "check-plan",
    .summary = "score a plan made by anyone and compare it with the optimum",
    .description =
        "Reads plans (rehearse-plan/2; by hand, each stage needs first_layer, last_layer, device_type and "
        "devices), "
        "checks that they can be run on this cluster, and says what they take and by how much the optimum "
        "beats them.",
    .options = options,
    .options_size = sizeof(struct check_options),
    .operands = {.name = "PLAN",
                 .help = "plan files",
                 .least = 1,
                 .at = offsetof(struct check_options, plans)},
    .examples = examples,
    .run = run,
};
