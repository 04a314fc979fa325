/* `rehearse plan --objective iteration -c`: pipelines over the nodes of a cluster file, for a model by name or a measured
 * profile. */
#include "cli/plan/deliver.h"
#include "cli/plan/fix.h"
#include "cli/plan/range.h"
#include "cli/plan/split.h"
#include "plan/fleet/plan.h"

struct report {
    const struct fleet_answer *answer;
    struct plan plan;
};

static void print(const void *context, struct text *out)
{
    const struct report *report = context;
    fleet_print(report->answer, &report->plan, out);
}

static bool deliver(const struct plan_options *given, const struct report *report, struct error *err)
{
    const struct plan_delivery delivery = {.plan = &report->plan, .print = print, .context = report};
    return plan_deliver(given, &delivery, err);
}

/* Devices that are all alike can do more. */
static bool refuse(const struct plan_options *given, struct error *err)
{
    static const char *const others[] = {"flags", "explain", "top", "pareto", "csv"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (plan_is_given(given, others[i]))
            return error_set(err, ERROR_USAGE, "--%s is for devices that are all alike", others[i]);
    return true;
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

static bool search(const struct plan_options *given, const struct fleet_question *question,
                   struct fleet_answer *answer, struct error *err)
{
    struct progress progress;
    struct parallel *pool = parallel_new((int)given->planning.threads, err);
    if (!pool)
        return false;
    progress_start(&progress, "planning");
    bool ok = fleet_plan_job(answer, question, pool, &progress, err);
    progress_end(&progress);
    parallel_free(pool);
    return ok;
}

static bool plan_model(const struct plan_options *given, const struct split *split,
                       const struct cluster *cluster, struct error *err)
{
    struct fleet_question question = {
        .job = split->question.job,
        .precision = (enum model_precision)given->model.precision,
        .headroom = given->headroom / 100.0,
    };
    struct fleet_answer answer;
    if (!fleet_take_cluster(&question, cluster, err) || !refuse(given, err) ||
        !take_ranges(given, &question, err) || !search(given, &question, &answer, err))
        return false;
    struct report report = {.answer = &answer};
    plan_init(&report.plan);
    bool ok = plan_of_fleet_job(&report.plan, &answer, &question, err) && deliver(given, &report, err);
    plan_release(&report.plan);
    fleet_answer_release(&answer);
    return ok;
}

static bool plan_on(const struct plan_options *given, struct cluster *cluster, int64_t batch,
                    struct error *err)
{
    struct split split = {.options = given};
    split.question.job.batch = batch;
    bool ok =
        split_choose_model(&split, err) && cluster_resolve(cluster, &split.chosen.added, given->across, err);
    if (ok && cluster->group_count == 1 && !given->flags)
        ok = split_on_group(&split, &cluster->groups[0], err);
    else if (ok)
        ok = plan_model(given, &split, cluster, err);
    split_release(&split);
    return ok;
}

/* ---- a profile ---- */

static bool plan_profile(const struct plan_options *given, const struct planning *planning, int64_t batch,
                         struct error *err)
{
    struct fleet_profile_question question;
    struct fleet_answer answer;
    struct report report = {.answer = &answer};
    if (!fleet_ask_profile(&question, planning, batch, given->headroom / 100.0, err) ||
        !fleet_plan_profile(&answer, &question, err))
        return false;
    plan_init(&report.plan);
    bool ok = plan_of_fleet_profile(&report.plan, &answer, &question, err) && deliver(given, &report, err);
    plan_release(&report.plan);
    fleet_answer_release(&answer);
    return ok;
}

static bool plan_by_profile(const struct plan_options *given, int64_t batch, struct error *err)
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

static bool one_batch(const struct plan_options *given, int64_t *batch, struct error *err)
{
    struct range range;
    if (!split_parse_batch(given, &range, err))
        return false;
    *batch = range.values[0];
    bool one = range.count == 1;
    range_release(&range);
    return one || error_set(err, ERROR_USAGE, "--global-batch: a sweep is for devices that are all alike");
}

bool plan_by_fleet(const struct plan_options *options, struct error *err)
{
    struct cluster cluster;
    int64_t batch = 0;
    if (!one_batch(options, &batch, err))
        return false;
    if (options->planning.profile)
        return plan_by_profile(options, batch, err);
    if (!cluster_load(&cluster, options->planning.cluster, err))
        return false;
    bool ok = plan_on(options, &cluster, batch, err);
    cluster_release(&cluster);
    return ok;
}
