#include "plan/score/score.h"

#include "plan/score/objective.h"
#include "plan/split/plan.h"

#include <math.h>
#include <string.h>

/* Of those with one name, the first that takes the plan. */
static const struct objective *const objectives[] = {
    &objective_pipeline, &objective_oobleck, &objective_dapple, &objective_job, &objective_fleet,
};

/* A plan that says no objective is a pipeline where there is a profile for it, unless it is clearly more. */
static const char *objective_name(const struct plan *plan, const struct score_options *options)
{
    if (options->objective)
        return options->objective;
    if (plan->objective)
        return plan->objective;
    bool several = plan->pipeline_count > 1 || plan->pipelines[0].copies > 1 || plan->chunks > 1;
    return several || (!options->planning.profile && (plan->model || options->parts.model)) ? "iteration"
                                                                                            : "pipeline";
}

static const struct objective *find(const struct plan *plan, const struct score_options *options,
                                    struct error *err)
{
    const char *name = objective_name(plan, options);
    for (size_t i = 0; i < sizeof objectives / sizeof *objectives; i++)
        if (strcmp(objectives[i]->name, name) == 0 &&
            (!objectives[i]->takes || objectives[i]->takes(plan, options)))
            return objectives[i];
    return error_null(err, ERROR_INPUT,
                      "%s: objective: expected 'pipeline', 'oobleck', 'dapple' or 'iteration', found '%s'",
                      plan->path, name);
}

static bool is_plain(const struct objective *objective)
{
    return objective == &objective_pipeline || objective == &objective_oobleck;
}

/* The profile and the cluster of those objectives that cannot do without; a model by name is as good as a profile. */
static bool check_files(const struct objective *objective, const struct plan *plan,
                        const struct score_options *options, struct error *err)
{
    const struct planning_options *files = &options->planning;
    bool iteration = strcmp(objective->name, "iteration") == 0;
    bool priced = files->cluster && is_plain(objective) && (plan->software || options->parts.model);
    if (!files->profile && !iteration && !priced)
        return error_set(err, ERROR_USAGE, "%s: the %s objective needs --profile P and --cluster FILE",
                         plan->path, objective->name);
    return !files->profile || files->cluster ||
           error_set(err, ERROR_USAGE, "%s: the profile needs --cluster FILE, too", plan->path);
}

/* Seconds and bytes that the file says are computed again. By the iteration objective devices follow from the degrees:
 * where they do not match them, others are chosen. */
static bool forget(struct plan *plan, bool chooses_devices, struct error *err)
{
    bool matches = true;
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
            struct plan_stage *stage = &plan->pipelines[p].stages[s];
            int64_t count = 0;
            stage->bytes.total = NAN;
            for (int r = 0; r < stage->run_count; r++)
                count += (int64_t)stage->runs[r].nodes * stage->runs[r].count;
            matches &= stage->run_count == 0 ||
                       count == (int64_t)plan_stage_devices(stage) * plan->pipelines[p].copies;
        }
    if (matches || !chooses_devices)
        return true;
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
            plan->pipelines[p].stages[s].runs = NULL;
            plan->pipelines[p].stages[s].run_count = 0;
        }
    return plan_place(plan, err);
}

static bool copy_texts(struct plan *to, const struct plan *from)
{
    const char *const texts[] = {from->planner,        from->search,        from->nearest.id,
                                 from->nearest.source, from->nearest.model, from->nearest.device,
                                 from->nearest.differs};
    const char **const places[] = {&to->planner,        &to->search,        &to->nearest.id,
                                   &to->nearest.source, &to->nearest.model, &to->nearest.device,
                                   &to->nearest.differs};
    to->nearest = from->nearest;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *places[i] = texts[i] ? arena_string(&to->arena, texts[i]) : NULL;
        if (texts[i] && !*places[i])
            return false;
    }
    return true;
}

/* Do options ask something else than the file says? A plan among Oobleck's templates is not the document. */
static bool asks_otherwise(const struct score_options *options)
{
    const struct planning_options *planning = &options->planning;
    return !options->said || !doc_find(options->said, "pipelines") || options->objective || options->rules ||
           options->global_batch > 0 || !isnan(options->headroom) || options->parts.model ||
           options->parts.device || planning->microbatches >= 0 || planning->memory >= 0;
}

/* What only the search and the given plan know. */
static bool complete(struct score *score, const struct score_request *scoring, struct error *err)
{
    const struct plan *plan = scoring->plan;
    struct plan *scored = &score->plan;
    double tolerance = 1e-9 * scored->iteration_time;
    bool within =
        score->best.pipeline_count > 0 && scored->iteration_time >= score->best.lower_bound - tolerance;
    scored->lower_bound = within ? fmin(score->best.lower_bound, scored->iteration_time) : 0;
    scored->proven_optimal = within && scored->iteration_time - scored->lower_bound <= tolerance;
    scored->proof_over = score->best.proof_over;
    scored->planning_seconds = NAN;
    bool same = fabs(plan->iteration_time - scored->iteration_time) <= tolerance;
    scored->expected = same ? plan->expected : NAN;
    scored->interval = plan->interval;
    if (!same)
        scored->interval.low = scored->interval.high = NAN;
    return (copy_texts(scored, plan) || error_memory(err)) &&
           (isnan(scored->expected) || !scoring->options->expect || !plan_is_job(scored) ||
            scoring->options->expect(scored, &scoring->options->parts, err)) &&
           (asks_otherwise(scoring->options) ||
            score_differ(scoring->options->said, scored, same, &score->differs, err));
}

static bool score_and_search(struct score *score, struct score_request *scoring,
                             const struct objective *objective, struct error *err)
{
    if (!objective->score(scoring, &score->plan, err))
        return false;
    if (plan_check(&score->plan, &score->misfit)) {
        score->misfit.text[0] = '\0';
    } else if (score->misfit.kind == ERROR_FAILED) {
        *err = score->misfit;
        return false;
    } else {
        score->misfit.kind = ERROR_INFEASIBLE;
    }
    if (!objective->search(scoring, &score->best, &score->none)) {
        score->best.pipeline_count = 0;
        if (score->none.kind != ERROR_INFEASIBLE) {
            *err = score->none;
            return false;
        }
    }
    score->beyond = objective->beyond;
    return complete(score, scoring, err);
}

bool score_plan(struct score *score, struct plan *plan, const struct score_options *options,
                struct error *err)
{
    struct score_request scoring = {.plan = plan, .options = options};
    const struct objective *objective = find(plan, options, err);
    if (!objective)
        return false;
    bool iteration = strcmp(objective->name, "iteration") == 0;
    /* a plan that is scored on a given cluster need not fit its own */
    bool checks_itself = options->planning.cluster && is_plain(objective);
    scoring.headroom = !isnan(options->headroom) ? options->headroom
                       : !isnan(plan->headroom)  ? plan->headroom
                                                 : PLAN_HEADROOM / 100.0;
    if (options->global_batch > 0)
        plan->global_batch = options->global_batch;
    if (!forget(plan, iteration, err) || (!checks_itself && !plan_check(plan, err)) ||
        !check_files(objective, plan, options, err) || !objective->open(&scoring, err))
        return false;
    plan_init(&score->plan);
    plan_init(&score->best);
    score->differs = (struct text){0};
    bool ok = score_and_search(score, &scoring, objective, err);
    objective->close(&scoring);
    if (!ok)
        score_release(score);
    return ok;
}

void score_release(struct score *score)
{
    plan_release(&score->plan);
    plan_release(&score->best);
    text_release(&score->differs);
}

double score_excess(const struct score *score)
{
    return score->best.pipeline_count > 0 ? score->plan.iteration_time / score->best.iteration_time - 1 : NAN;
}
