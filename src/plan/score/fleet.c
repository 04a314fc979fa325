/* Pipelines over devices of several types: of a training job, or of a measured profile. */
#include "core/stop.h"
#include "plan/fleet/best.h"
#include "plan/fleet/plan.h"
#include "plan/parts.h"
#include "plan/score/objective.h"
#include "plan/split/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct question {
    struct fleet_given given;
    /* a model */
    struct fleet_question job, whole; /* `whole`: without better types used as lesser ones */
    struct cluster cluster;           /* of a file */
    int64_t microbatch;
    enum recompute recompute;
    /* or a profile */
    bool measured;
    struct planning planning;
    struct fleet_profile_question profile;
};

static void end(struct score_request *scoring)
{
    struct question *q = scoring->question;
    if (q->measured)
        planning_close(&q->planning);
    cluster_release(&q->cluster);
    free(q);
}

/* Returns the group of the plan's device type: that of its name; of several, the one at its place; -1: there is
 * none. */
static int group_of(const struct plan *plan, int type, int count, const char *const *names)
{
    int found = -1;
    for (int g = 0; g < count; g++)
        if (strcmp(names[g], plan->types[type].name) == 0 && (found < 0 || g == type))
            found = g;
    return found;
}

static bool match(struct score_request *scoring, struct question *q, int count, const char *const *names,
                  struct error *err)
{
    const struct plan *plan = scoring->plan;
    for (int t = 0; t < plan->type_count; t++) {
        q->given.type_of[t] = group_of(plan, t, count, names);
        if (q->given.type_of[t] < 0)
            return error_set(err, ERROR_INPUT, "%s: the cluster has no '%s'", plan->path,
                             plan->types[t].name);
    }
    return true;
}

/* ---- a model ---- */

/* Where the plan has more devices of a type than the cluster, better ones are used as these, as it says. */
static void lend_better(struct fleet_question *job, const struct plan *plan, const char *const *names)
{
    int wanted[FLEET_MAX_TYPES] = {0};
    for (int t = 0; t < plan->type_count; t++) {
        int group = group_of(plan, t, job->group_count, names);
        if (group >= 0)
            wanted[group] += plan->types[t].nodes.count * plan->types[t].nodes.devices;
    }
    fleet_lend_for(job, wanted);
}

/* The groups of a cluster file, or those that the plan describes. */
static bool take_groups(struct score_request *scoring, struct question *q, struct error *err)
{
    struct plan *plan = scoring->plan;
    const char *file = scoring->options->planning.cluster, *names[FLEET_MAX_TYPES];
    const struct plan_parts *parts = &scoring->options->parts;
    if (file && !cluster_load(&q->cluster, file, err))
        return false;
    if (file)
        cluster_join_alike(&q->cluster);
    int count = file ? q->cluster.group_count : plan->type_count;
    if (count > FLEET_MAX_TYPES)
        return error_set(err, ERROR_INPUT, "%s: expected at most %d groups, found %d",
                         file ? file : plan->path, FLEET_MAX_TYPES, count);
    const struct cluster_group *groups = !file ? plan_groups_of(plan, parts, err)
                                         : plan_resolve_cluster(&q->cluster, parts->tables, NULL, err)
                                             ? q->cluster.groups
                                             : NULL;
    if (!groups)
        return false;
    q->job.group_count = count;
    for (int g = 0; g < count; g++) {
        q->job.groups[g] = groups[g];
        names[g] = file ? groups[g].type->name : plan->types[g].name;
        if (groups[g].nodes.count < 1)
            return error_set(err, ERROR_USAGE, "%s: the number of '%s' is unknown: add --cluster FILE",
                             plan->path, names[g]);
        if (!model_check_precision(groups[g].type, q->job.precision, err))
            return false;
    }
    q->whole = q->job;
    if (file)
        lend_better(&q->job, plan, names);
    for (int g = 0; g < q->job.group_count && file; g++)
        names[g] = q->job.groups[g].type->name;
    return match(scoring, q, q->job.group_count, names, err);
}

static bool ask_job(struct score_request *scoring, struct question *q, struct error *err)
{
    const struct plan *plan = scoring->plan;
    struct job *job = &q->job.job;
    q->job.headroom = scoring->headroom;
    q->microbatch = plan->microbatch > 0 ? plan->microbatch : 1;
    job->model = plan_model_of(plan, &scoring->options->parts, err);
    job->software = job->model ? plan_software_of(plan, &scoring->options->parts, err) : NULL;
    if (!job->software)
        return false;
    job->sequence = plan->sequence > 0 ? plan->sequence : job->model->sequence;
    job->batch = plan->global_batch;
    if (job->batch < 1)
        return error_set(err, ERROR_USAGE, "%s: no global batch in the plan: add --global-batch N",
                         plan->path);
    if (job->batch % q->microbatch != 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "%s: the global batch (%" PRId64 ") is not a multiple of the micro-batch (%" PRId64
                         ")",
                         plan->path, job->batch, q->microbatch);
    return plan_named_precision(plan, &q->job.precision, err) &&
           plan_recompute_of(plan, &q->recompute, err) && take_groups(scoring, q, err);
}

/* ---- a profile ---- */

static bool ask_profile(struct score_request *scoring, struct question *q, struct error *err)
{
    const struct plan *plan = scoring->plan;
    struct planning_options asked = scoring->options->planning;
    const char *names[PLAN_MAX_GROUPS];
    asked.objective = OBJECTIVE_PIPELINE;
    asked.memory = MEMORY_IN_FLIGHT;
    asked.microbatches = 1;
    asked.join_alike = true;
    if (!planning_open(&q->planning, &asked, err))
        return false;
    q->measured = true;
    const struct plan_problem *problem = &q->planning.problem;
    int64_t batch = plan->global_batch, size = q->planning.profile.microbatch_size;
    for (int p = 0; plan->global_batch < 1 && p < plan->pipeline_count; p++)
        batch += plan->pipelines[p].microbatches * plan->pipelines[p].copies * (size > 0 ? size : 1);
    if (batch < 1)
        return error_set(err, ERROR_USAGE, "%s: no global batch in the plan: add --global-batch N",
                         plan->path);
    for (int g = 0; g < problem->group_count; g++)
        names[g] = problem->groups[g].device;
    return fleet_ask_profile(&q->profile, &q->planning, batch, scoring->headroom, err) &&
           match(scoring, q, problem->group_count, names, err);
}

static bool begin(struct score_request *scoring, struct error *err)
{
    struct question *q = calloc(1, sizeof *q);
    const struct planning_options *files = &scoring->options->planning;
    scoring->question = q;
    if (!q)
        return error_memory(err);
    q->given.plan = scoring->plan;
    if (files->profile ? ask_profile(scoring, q, err) : ask_job(scoring, q, err))
        return true;
    end(scoring);
    return false;
}

/* Ends the answer. */
static bool fill_in(struct question *q, struct fleet_answer *answer, struct plan *plan, struct error *err)
{
    bool ok = q->measured ? plan_of_fleet_profile(plan, answer, &q->profile, err)
                          : plan_of_fleet_job(plan, answer, &q->job, err);
    fleet_answer_release(answer);
    return ok;
}

static bool score(struct score_request *scoring, struct plan *scored, struct error *err)
{
    struct question *q = scoring->question;
    struct fleet_answer answer;
    struct mix_answer mix;
    if (!q->measured && plan_is_mix(scoring->plan))
        return mix_score(&mix, &q->job, scoring->plan, q->given.type_of, err) &&
               plan_of_mix(scored, &mix, &q->job, err);
    bool ok = q->measured ? fleet_score_profile(&answer, &q->profile, &q->given, err)
                          : fleet_score_job(&answer, &q->job, &q->given, q->microbatch, q->recompute, err);
    return ok && fill_in(q, &answer, scored, err);
}

static bool search(struct score_request *scoring, struct plan *best, struct error *err)
{
    struct question *q = scoring->question;
    struct fleet_answer answer;
    struct progress progress;
    q->whole.deadline = q->profile.deadline = stop_after(scoring->options->planning.time_limit);
    if (q->measured)
        return fleet_plan_profile(&answer, &q->profile, err) && fill_in(q, &answer, best, err);
    struct parallel *pool = parallel_new((int)scoring->options->planning.threads, err);
    if (!pool)
        return false;
    progress_start(&progress, "planning");
    struct fleet_best found;
    bool ok = fleet_find_best(&found, &q->whole, pool, &progress, err);
    progress_end(&progress);
    parallel_free(pool);
    if (!ok)
        return false;
    ok = plan_of_fleet_best(best, &found, &q->whole, err);
    fleet_best_release(&found);
    return ok;
}

const struct objective objective_fleet = {
    "iteration", NULL, begin, score, search, end, "of the search, which keeps the headroom of the memory"};
