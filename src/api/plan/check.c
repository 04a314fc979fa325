/* rh_check_plan: plans of any origin are scored, and compared with the optimum. */
#include "api/choose.h"
#include "api/command.h"
#include "api/plan/deliver.h"
#include "api/plan/planning.h"
#include "core/fields.h"
#include "core/json.h"
#include "core/unit.h"
#include "evidence/interval.h"
#include "evidence/own_run.h"
#include "plan/score/score.h"
#include "plan/split/plan.h"

#include <math.h>
#include <string.h>

/* The first of each is "as the plan says". */
static const char *const objectives[] = {"plan", "pipeline", "oobleck", "dapple", "iteration", NULL};
static const char *const memories[] = {"plan", "in-flight", "reference", NULL};
static const char *const rules[] = {"plan", "dapple", "dapple-fixed", NULL};

/* ---- what comes back ---- */

static void print(const char *path, const struct score *score, struct text *out)
{
    char optimum[32];
    double excess = score_excess(score);
    const char *beyond = score->beyond ? score->beyond : score->best.proof_over;
    const char *best = score->best.proven_optimal ? "the optimum" : "the best plan found";
    unit_format(optimum, sizeof optimum, score->best.iteration_time, UNIT_TIME, 6);
    text_format(out, "%s: ", path);
    plan_add_time(&score->plan, 6, out);
    text_add(out, ", ");
    if (isnan(excess))
        text_format(out, "not compared: %s", score->none.text);
    else if (excess > 1e-9)
        text_format(out, "%.3g %% more than %s (%s)", 100 * excess, best, optimum);
    else if (excess < -1e-9)
        text_format(out, "%.3g %% less than %s%s%s (%s)", -100 * excess, best,
                    score->beyond            ? " "
                    : score->best.proof_over ? " of "
                                             : "",
                    beyond ? beyond : "", optimum);
    else if (score->best.proven_optimal)
        text_add(out, "optimal");
    else
        text_format(out, "equal to %s; no plan takes less than %.6g s", best, score->best.lower_bound);
    if (score->misfit.text[0])
        text_format(out, "; it does not fit: %s", score->misfit.text);
    if (score->differs.length)
        text_format(out, "; of the file is not counted: %s", score->differs.data);
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

enum { SCORE_MEMORY = 3 };

static const struct field score_fields[] = {
    FIELD_OUT(struct score, "objective", plan.objective, FIELD_TEXT),
    FIELD_OUT(struct score, "microbatches", plan.asked_microbatches, FIELD_INT64),
    FIELD_OUT(struct score, "iteration_time", plan.iteration_time, FIELD_DOUBLE),
    [SCORE_MEMORY] = FIELD_OUT(struct score, "memory", plan.memory, FIELD_DOUBLE),
    FIELD_OUT(struct score, "expected", plan.expected, FIELD_DOUBLE),
    FIELD_OUT(struct score, "not_counted", differs.data, FIELD_TEXT),
};

static void write_json(const char *path, const struct score *score, struct json *json)
{
    json_open_document(json, "rehearse-plan-check/1");
    json_string(json, "file", path);
    fields_write(score, score_fields, SCORE_MEMORY, json);
    write_parts(&score->plan, json);
    fields_write(score, score_fields + SCORE_MEMORY, 1, json);
    json_bool(json, "fits", !score->misfit.text[0]);
    fields_write(score, score_fields + SCORE_MEMORY + 1, 1, json);
    json_number(json, "excess", score_excess(score));
    fields_write(score, score_fields + SCORE_MEMORY + 2, 1, json);
    if (score->best.pipeline_count > 0)
        plan_write_json(&score->best, json, "optimum");
    else
        json_null(json, "optimum");
    json_close(json);
}

struct check {
    const struct rh_check_request *asked;
    struct score_options how;
    struct api_report *report;
};

static bool check_one(struct check *check, size_t at, struct error *err)
{
    const char *path = check->asked->plans.items[at];
    struct doc doc;
    struct plan plan;
    struct score score;
    if (!doc_load(&doc, path, err))
        return false;
    check->how.said = doc.root;
    if (!plan_read(&plan, &doc, doc.root, err)) {
        doc_release(&doc);
        return false;
    }
    bool ok = score_plan(&score, &plan, &check->how, err);
    if (ok) {
        ok = !check->asked->output || plan_save(&score.plan, check->asked->output, err);
        write_json(path, &score, &check->report->json);
        print(path, &score, &check->report->text);
        score_release(&score);
    }
    plan_release(&plan);
    doc_release(&doc);
    return ok;
}

static bool check_all(struct check *check, const struct api_call *call, struct error *err)
{
    bool ok = true;
    json_open(&check->report->json, NULL, '[');
    for (size_t i = 0; ok && i < check->asked->plans.count; i++)
        ok = !api_stopped(call, err) && check_one(check, i, err);
    json_close(&check->report->json);
    return ok;
}

/* ---- what is asked ---- */

/* A file that expects the formula's time took no known runs. */
static bool expect(struct plan *scored, const struct plan_parts *parts, struct error *err)
{
    struct job job;
    if (!job_remake(&job, scored, parts, err))
        return false;
    const struct job_time time = job_time(&job);
    const struct estimate estimate = own_run_estimate(&job, &time);
    scored->interval = interval_of(&estimate, scored->iteration_time);
    if (scored->expected != scored->iteration_time)
        scored->expected = scored->iteration_time * estimate.factor;
    return estimate_nearest(&estimate, &scored->arena, &scored->nearest, err);
}

/* Of the choices whose first word is "plan", which leaves it to the file. */
static const char *unless_plan(const char *word)
{
    return strcmp(word, "plan") == 0 ? NULL : word;
}

static bool choose(const struct rh_check_request *asked, const struct api_call *call,
                   struct cost_chosen *chosen, struct score_options *how, struct error *err)
{
    struct rh_plan_request common = {.size = sizeof common};
    option_copy_common(&common, api_plan_options, asked, api_check_plan_options);
    *how = (struct score_options){
        .objective = unless_plan(asked->objective),
        .planning = planning_of(&common, &call->how),
        .global_batch = asked->global_batch,
        .headroom = asked->headroom < 0 ? NAN : asked->headroom / 100.0,
        .rules = unless_plan(asked->rules),
        .dapple = {asked->profile_batch, asked->state_factor, asked->sample_memory},
        .expect = expect,
    };
    how->planning.objective = option_index(objectives, asked->objective);
    how->planning.memory = option_index(memories, asked->memory) - 1; /* the first word is "plan" */
    if (asked->software && !doc_is_name(asked->software))
        return error_set(err, ERROR_USAGE, "--software: expected a file (.yaml, .yml, .json), found '%s'",
                         asked->software);
    if (!tables_add(&chosen->added, TABLE_LINKS, asked->links, err) ||
        !tables_add(&chosen->added, TABLE_CALIBRATIONS, asked->calibration, err) ||
        !tables_add(&chosen->added, TABLE_SOFTWARE, asked->software, err) ||
        (asked->model && !cost_choose_model(chosen, asked->model, err)) ||
        (asked->device && !cost_choose_devices(chosen, asked->device, err)))
        return false;
    if (chosen->device_count > 1)
        return error_set(err, ERROR_USAGE, "--device: expected one device type, found %d",
                         chosen->device_count);
    how->parts.tables = &chosen->added;
    how->parts.model = chosen->model;
    how->parts.device = chosen->device_count > 0 ? chosen->devices[0] : NULL;
    return asked->plans.count == 1 || !asked->output ||
           error_set(err, ERROR_USAGE, "--output is for one plan, found %zu", asked->plans.count);
}

static bool answer(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    struct cost_chosen chosen = {0};
    struct check check = {.asked = request, .report = report};
    bool ok = choose(request, call, &chosen, &check.how, err) && check_all(&check, call, err);
    cost_chosen_release(&chosen);
    return ok;
}

/* Whose help says the planner's default. */
#define CHECK_HEADROOM()                                                                                     \
    OPTION(rh_check_request, headroom, OPTION_NUMBER, "headroom", .dimension = DIMENSION_PERCENT,            \
           .argument = "PERCENT", .initial = "-1", .min = -1, .max = 90,                                     \
           .help = "iteration: share of memory that the optimum keeps free; -1: the plan's, or "             \
                   "else " TEXT_OF(PLAN_HEADROOM))

API_WHOLE_COMMAND(check_plan, "check-plan", rh_check_request, .answer = answer);
