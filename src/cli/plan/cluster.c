/* `rehearse plan --objective iteration -c`: pipelines over the nodes of a cluster file, for a model by name or a measured
 * profile. */
#include "cli/plan/cluster.h"

#include "cli/plan/deliver.h"
#include "cli/plan/fix.h"
#include "plan/fleet/of_profile.h"
#include "plan/fleet/plan.h"
#include "plan/fleet/report.h"
#include "plan/pipeline_plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- delivering ---- */

static bool refuse(const struct plan_options *given, struct error *err)
{
    static const char *const others[] = {"flags", "explain", "top", "pareto", "csv"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (plan_is_given(given, others[i]))
            return error_set(err, ERROR_USAGE, "--%s is for devices that are all alike", others[i]);
    return true;
}

static void print(const void *context, struct text *out)
{
    fleet_print(context, out);
}

/* Ends the plan. */
static bool deliver(const struct plan_options *given, struct plan *plan, const struct fleet_report *report,
                    struct error *err)
{
    const struct plan_delivery delivery = {.plan = plan, .print = print, .context = report};
    bool ok = plan_deliver(given, &delivery, err);
    plan_release(plan);
    return ok;
}

/* ---- a model ---- */

static bool take_ranges(const struct plan_options *given, struct fleet_question *question, struct error *err)
{
    struct job_range ranges[JOB_DIMENSIONS] = {{0}};
    if (!fix_parse("fix", &given->fix, ranges, err))
        return false;
    for (int d = 0; d < JOB_DIMENSIONS; d++)
        if (ranges[d].given && d != JOB_TENSOR && d != JOB_MICROBATCH && d != JOB_RECOMPUTE)
            return error_set(err, ERROR_USAGE, "--fix: %s is for devices that are all alike",
                             job_dimension_name((enum job_dimension)d));
    question->tensor = ranges[JOB_TENSOR];
    question->microbatch = ranges[JOB_MICROBATCH];
    question->recompute = ranges[JOB_RECOMPUTE];
    return true;
}

bool plan_model_on_cluster(const struct plan_options *given, const struct cluster *cluster,
                           const struct tables *tables, const struct job *job, int64_t batch,
                           struct error *err)
{
    struct fleet_question question = {.job = *job, .precision = (enum model_precision)given->precision};
    struct fleet_links links = {0};
    struct fleet_answer answer;
    struct progress progress;
    question.job.batch = batch;
    question.headroom = given->headroom / 100.0;
    question.group_count = cluster->group_count;
    if (cluster->group_count > FLEET_MAX_TYPES)
        return error_set(err, ERROR_INPUT, "%s: expected at most %d groups, found %d", cluster->path,
                         FLEET_MAX_TYPES, cluster->group_count);
    for (int g = 0; g < cluster->group_count; g++)
        if (!fleet_group_of(&question.groups[g], cluster, g, given->across, tables, &links, err))
            return false;
    if (!refuse(given, err) || !take_ranges(given, &question, err))
        return false;
    struct parallel *pool = parallel_new((int)given->planning.threads, err);
    if (!pool)
        return false;
    progress_start(&progress, "planning");
    bool ok = fleet_plan_job(&answer, &question, pool, &progress, err);
    progress_end(&progress);
    parallel_free(pool);
    if (!ok)
        return false;
    struct fleet_report report = {
        .answer = &answer,
        .model = job->model->name,
        .software = job->software->name,
        .batch = batch,
        .sequence = job->sequence,
    };
    for (int g = 0; g < question.group_count; g++) {
        report.types[g] = question.groups[g].device->name;
        report.memory[g] = question.groups[g].memory;
    }
    struct plan plan;
    plan_init(&plan);
    ok = plan_of_fleet_job(&plan, &answer, &question, err) && deliver(given, &plan, &report, err);
    fleet_answer_release(&answer);
    return ok;
}

/* ---- a profile ---- */

static bool plan_profile(const struct plan_options *given, const struct planning *planning, int64_t batch,
                         struct error *err)
{
    int microbatch = planning->profile.microbatch_size > 0 ? planning->profile.microbatch_size : 1;
    const struct fleet_profile_question question = {
        .problem = &planning->problem,
        .profile = &planning->profile,
        .cluster = &planning->cluster,
        .microbatches = batch / microbatch,
        .headroom = given->headroom / 100.0,
    };
    struct fleet_answer answer;
    if (batch % microbatch != 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "--global-batch: %" PRId64 " is not a multiple of the profile's micro-batch of %d",
                         batch, microbatch);
    if (!fleet_plan_profile(&answer, &question, err))
        return false;
    answer.microbatch = microbatch;
    struct fleet_report report = {.answer = &answer, .model = planning->profile.model, .batch = batch};
    for (int g = 0; g < planning->problem.group_count; g++) {
        report.types[g] = planning->problem.groups[g].device;
        report.memory[g] =
            planning->problem.groups[g].memory > 0 ? (double)planning->problem.groups[g].memory : INFINITY;
    }
    struct plan plan;
    plan_init(&plan);
    bool ok = plan_of_fleet_profile(&plan, &answer, &question, err) && deliver(given, &plan, &report, err);
    fleet_answer_release(&answer);
    return ok;
}

bool plan_profile_on_cluster(const struct plan_options *given, int64_t batch, struct error *err)
{
    struct planning planning;
    struct planning_options options = given->planning;
    options.objective = OBJECTIVE_PIPELINE;
    options.microbatches = 1;
    if (!refuse(given, err) || !planning_open(&planning, &options, err))
        return false;
    bool ok = plan_profile(given, &planning, batch, err);
    planning_close(&planning);
    return ok;
}
