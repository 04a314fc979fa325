/* One pipeline on the nodes of a cluster, by the pipeline and oobleck objectives. */
#include "plan/pipeline_plan.h"
#include "plan/score/objective.h"

#include <stdlib.h>
#include <string.h>

/* Without a profile the layers are those of the model that the plan names, priced as the plan says. */
static bool price(const struct score_request *scoring, struct planning_options *asked, struct error *err)
{
    const struct plan *plan = scoring->plan;
    const struct plan_parts *parts = &scoring->options->parts;
    if (asked->profile)
        return true;
    asked->model = plan_model_of(plan, parts, err);
    asked->pricing.software = asked->model ? plan_software_of(plan, parts, err) : NULL;
    if (!asked->pricing.software)
        return false;
    asked->pricing.sequence = plan->sequence > 0 ? plan->sequence : asked->model->sequence;
    asked->pricing.tables = parts->tables;
    asked->microbatch_size = asked->microbatch_size > 0 ? asked->microbatch_size : plan->microbatch;
    return plan_named_precision(plan, &asked->pricing.precision, err);
}

static bool find_memory(const struct plan *plan, int *memory, struct error *err)
{
    if (*memory >= 0)
        return true;
    const char *said = plan->memory_model ? plan->memory_model : plan_memory_models[MEMORY_IN_FLIGHT];
    for (*memory = 0; plan_memory_models[*memory]; ++*memory)
        if (strcmp(said, plan_memory_models[*memory]) == 0)
            return true;
    return error_set(err, ERROR_INPUT,
                     "%s: made_by.memory_model: expected in-flight or reference, found '%s'", plan->path,
                     said);
}

static bool open_as(struct score_request *scoring, enum plan_objective objective, struct error *err)
{
    struct planning_options asked = scoring->options->planning;
    struct planning *planning = calloc(1, sizeof *planning);
    asked.objective = (int)objective;
    scoring->question = planning;
    if (!planning)
        return error_memory(err);
    if (asked.microbatches < 0 && scoring->plan->asked_microbatches < 0)
        error_set(err, ERROR_USAGE, "%s: no number of micro-batches in the plan: add --microbatches N",
                  scoring->plan->path);
    else {
        if (asked.microbatches < 0)
            asked.microbatches = scoring->plan->asked_microbatches;
        if (find_memory(scoring->plan, &asked.memory, err) && price(scoring, &asked, err) &&
            planning_open(planning, &asked, err))
            return true;
    }
    free(planning);
    return false;
}

static bool open_pipeline(struct score_request *scoring, struct error *err)
{
    return open_as(scoring, OBJECTIVE_PIPELINE, err);
}

static bool open_oobleck(struct score_request *scoring, struct error *err)
{
    return open_as(scoring, OBJECTIVE_OOBLECK, err);
}

static void end(struct score_request *scoring)
{
    planning_close(scoring->question);
    free(scoring->question);
}

static bool fill_in(const struct planning *planning, const struct pipeline *pipeline, struct plan *plan,
                    struct error *err)
{
    return plan_of_planning(plan, planning, &planning->problem, pipeline, err);
}

static bool in_file(const char *path, struct error *err)
{
    char text[sizeof err->text];
    memcpy(text, err->text, sizeof text);
    return error_set(err, err->kind, "%s: %s", path, text);
}

/* Nodes for a plan that names none. */
static bool choose_nodes(const struct plan_problem *problem, struct pipeline *pipeline, struct error *err)
{
    for (int s = 0; s < pipeline->stage_count; s++)
        if (pipeline->stages[s].node >= 0)
            return true;
    return pipeline_assign_nodes(problem, pipeline, err);
}

static bool score(struct score_request *scoring, struct plan *scored, struct error *err)
{
    const struct planning *planning = scoring->question;
    struct pipeline pipeline;
    if (!pipeline_of_plan(&pipeline, &planning->problem, scoring->plan, err))
        return false;
    bool ok = pipeline_check(&planning->problem, &pipeline, err) &&
              (pipeline_score(&planning->problem, &pipeline, err) || in_file(scoring->plan->path, err)) &&
              choose_nodes(&planning->problem, &pipeline, err) && fill_in(planning, &pipeline, scored, err);
    pipeline_release(&pipeline);
    return ok;
}

static bool search(struct score_request *scoring, struct plan *best, struct error *err)
{
    struct planning *planning = scoring->question;
    struct pipeline pipeline;
    bool ok = plan_search(&planning->problem, &planning->search, &pipeline, err);
    progress_end(&planning->progress);
    if (!ok)
        return false;
    ok = fill_in(planning, &pipeline, best, err);
    pipeline_release(&pipeline);
    return ok;
}

const struct objective objective_pipeline = {"pipeline", NULL, open_pipeline, score, search, end, NULL};
const struct objective objective_oobleck = {"oobleck", NULL, open_oobleck, score, search, end, NULL};
