/* Pipelines over devices of several types: of a training job, or of a measured profile. */
#include "plan/fleet/groups.h"
#include "plan/fleet/plan.h"
#include "plan/score/objective.h"
#include "plan/split/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct question {
    struct fleet_given given;
    /* a model */
    struct fleet_question job;
    struct plan_machine *machines; /* of the plan's device types */
    struct cluster cluster;        /* or of a file */
    struct fleet_links links;
    int64_t microbatch;
    enum recompute recompute;
    /* or a profile */
    bool measured;
    struct planning planning;
    struct fleet_profile_question profile;
};

static bool takes(const struct plan *plan, const struct score_options *options)
{
    (void)plan, (void)options;
    return true;
}

static void end(struct scoring *scoring)
{
    struct question *q = scoring->question;
    if (q->measured)
        planning_close(&q->planning);
    cluster_release(&q->cluster);
    free(q->machines);
    free(q);
}

/* Each of the plan's device types is the group of its name; of several, the one at its place. */
static bool match(struct scoring *scoring, struct question *q, int count, const char *const *names,
                  struct error *err)
{
    const struct plan *plan = scoring->plan;
    for (int t = 0; t < plan->type_count; t++) {
        int found = -1;
        for (int g = 0; g < count; g++)
            if (strcmp(names[g], plan->types[t].name) == 0 && (found < 0 || g == t))
                found = g;
        if (found < 0)
            return error_set(err, ERROR_INPUT, "%s: the cluster has no '%s'", plan->path,
                             plan->types[t].name);
        q->given.type_of[t] = found;
    }
    return true;
}

/* ---- a model ---- */

static bool take_machines(struct scoring *scoring, struct question *q, struct error *err)
{
    const struct plan *plan = scoring->plan;
    q->machines = calloc((size_t)plan->type_count, sizeof *q->machines);
    if (!q->machines)
        return error_memory(err);
    q->job.group_count = plan->type_count;
    for (int t = 0; t < plan->type_count; t++) {
        struct plan_machine *machine = &q->machines[t];
        if (!plan_machine_of(machine, plan, t, &scoring->options->parts, err))
            return false;
        if (machine->nodes < 1)
            return error_set(err, ERROR_USAGE,
                             "%s: does not say how many '%s' there are: --cluster FILE is needed", plan->path,
                             plan->types[t].name);
        q->job.groups[t] = (struct fleet_group){
            .device = &machine->device,
            .calibration = machine->calibration,
            .inside = &machine->inside,
            .across = &machine->across,
            .nodes = machine->nodes,
            .devices_per_node = machine->per_node,
            .memory = (double)machine->device.memory,
        };
        q->given.type_of[t] = t;
    }
    return true;
}

static bool take_cluster(struct scoring *scoring, struct question *q, struct error *err)
{
    const char *names[FLEET_MAX_TYPES];
    if (!cluster_load(&q->cluster, scoring->options->planning.cluster, err))
        return false;
    q->job.group_count = q->cluster.group_count;
    if (q->cluster.group_count > FLEET_MAX_TYPES)
        return error_set(err, ERROR_INPUT, "%s: expected at most %d groups, found %d", q->cluster.path,
                         FLEET_MAX_TYPES, q->cluster.group_count);
    for (int g = 0; g < q->cluster.group_count; g++) {
        if (!fleet_group_of(&q->job.groups[g], &q->cluster, g, NULL, scoring->options->parts.tables,
                            &q->links, err))
            return false;
        names[g] = q->job.groups[g].device->name;
    }
    return match(scoring, q, q->cluster.group_count, names, err);
}

static bool find_precision(struct scoring *scoring, enum model_precision *precision, struct error *err)
{
    const char *said = scoring->plan->precision ? scoring->plan->precision : "mixed";
    for (int p = 0; fleet_precisions[p]; p++)
        if (strcmp(said, fleet_precisions[p]) == 0) {
            *precision = (enum model_precision)p;
            return true;
        }
    return error_set(err, ERROR_INPUT, "%s: training.precision: expected mixed, fp32 or fp8, found '%s'",
                     scoring->plan->path, said);
}

static bool ask_job(struct scoring *scoring, struct question *q, struct error *err)
{
    const struct plan *plan = scoring->plan;
    struct job *job = &q->job.job;
    q->job.headroom = scoring->headroom;
    q->microbatch = plan->microbatch > 0 ? plan->microbatch : 1;
    job->model = plan_model_of(plan, &scoring->options->parts, err);
    job->software = job->model ? plan_software_of(plan, err) : NULL;
    if (!job->software)
        return false;
    job->sequence = plan->sequence > 0 ? plan->sequence : job->model->sequence;
    job->batch = plan->global_batch;
    if (job->batch < 1)
        return error_set(err, ERROR_USAGE, "%s: says no global batch: --global-batch N is needed",
                         plan->path);
    if (job->batch % q->microbatch != 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "%s: the global batch (%" PRId64 ") is not a multiple of the micro-batch (%" PRId64
                         ")",
                         plan->path, job->batch, q->microbatch);
    if (plan->type_count > FLEET_MAX_TYPES)
        return error_set(err, ERROR_INPUT, "%s: expected at most %d device types, found %d", plan->path,
                         FLEET_MAX_TYPES, plan->type_count);
    return find_precision(scoring, &q->job.precision, err) && plan_recompute_of(plan, &q->recompute, err) &&
           (scoring->options->planning.cluster ? take_cluster(scoring, q, err)
                                               : take_machines(scoring, q, err));
}

/* ---- a profile ---- */

static bool ask_profile(struct scoring *scoring, struct question *q, struct error *err)
{
    const struct plan *plan = scoring->plan;
    struct planning_options asked = scoring->options->planning;
    const char *names[PLAN_MAX_GROUPS];
    asked.objective = OBJECTIVE_PIPELINE;
    asked.microbatches = 1;
    if (!planning_open(&q->planning, &asked, err))
        return false;
    q->measured = true;
    const struct plan_problem *problem = &q->planning.problem;
    int microbatch = q->planning.profile.microbatch_size > 0 ? q->planning.profile.microbatch_size : 1;
    int64_t all = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        all += plan->pipelines[p].microbatches * plan->pipelines[p].copies;
    q->microbatch = microbatch;
    q->profile = (struct fleet_profile_question){
        .problem = problem,
        .profile = &q->planning.profile,
        .cluster = &q->planning.cluster,
        .microbatches = plan->global_batch > 0 ? plan->global_batch / microbatch : all,
        .headroom = scoring->headroom,
    };
    for (int g = 0; g < problem->group_count; g++)
        names[g] = problem->groups[g].device;
    if (q->profile.microbatches < 1)
        return error_set(err, ERROR_USAGE, "%s: says no global batch: --global-batch N is needed",
                         plan->path);
    return match(scoring, q, problem->group_count, names, err);
}

static bool begin(struct scoring *scoring, struct error *err)
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
    if (q->measured)
        answer->microbatch = q->microbatch;
    bool ok = q->measured ? plan_of_fleet_profile(plan, answer, &q->profile, err)
                          : plan_of_fleet_job(plan, answer, &q->job, err);
    fleet_answer_release(answer);
    return ok;
}

static bool score(struct scoring *scoring, struct plan *scored, struct error *err)
{
    struct question *q = scoring->question;
    struct fleet_answer answer;
    bool ok = q->measured ? fleet_score_profile(&answer, &q->profile, &q->given, err)
                          : fleet_score_job(&answer, &q->job, &q->given, q->microbatch, q->recompute, err);
    return ok && fill_in(q, &answer, scored, err);
}

static bool search(struct scoring *scoring, struct plan *best, struct error *err)
{
    struct question *q = scoring->question;
    struct fleet_answer answer;
    struct progress progress;
    if (q->measured)
        return fleet_plan_profile(&answer, &q->profile, err) && fill_in(q, &answer, best, err);
    struct parallel *pool = parallel_new((int)scoring->options->planning.threads, err);
    if (!pool)
        return false;
    progress_start(&progress, "planning");
    bool ok = fleet_plan_job(&answer, &q->job, pool, &progress, err);
    progress_end(&progress);
    parallel_free(pool);
    return ok && fill_in(q, &answer, best, err);
}

const struct objective objective_fleet = {
    "iteration", takes, begin, score, search, end, "of the search, which keeps the headroom of the memory"};
