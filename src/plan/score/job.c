/* A training job over devices that are alike. */
#include "plan/score/objective.h"
#include "plan/split/plan.h"

#include <inttypes.h>
#include <stdlib.h>

static bool takes(const struct plan *plan, const struct score_options *options)
{
    return !options->planning.profile && !options->planning.cluster && plan_is_job(plan);
}

/* Numbers that a plan says twice. An asked batch, and devices of edited degrees, are made anew. */
static bool check_numbers(const struct score_request *scoring, struct error *err)
{
    const struct plan *plan = scoring->plan;
    const struct plan_pipeline *pipeline = &plan->pipelines[0];
    int64_t batch = pipeline->microbatches * plan->microbatch * pipeline->copies;
    if (scoring->options->global_batch == 0 && plan->global_batch > 0 && batch > 0 &&
        batch != plan->global_batch)
        return error_set(err, ERROR_INPUT,
                         "%s: training.global_batch %" PRId64 " is not the %" PRId64 " of %" PRId64
                         " micro-batches of %" PRId64 " on %d copies of the pipeline",
                         plan->path, plan->global_batch, batch, pipeline->microbatches, plan->microbatch,
                         pipeline->copies);
    double asked = plan_figure(plan, "devices");
    int64_t used = plan_devices_used(plan), all = plan_devices(plan);
    return !(asked >= 1.0) || used > all || (asked >= (double)used && asked <= (double)all) ||
           error_set(err, ERROR_INPUT,
                     "%s: figures.devices: the plan uses %" PRId64 " of %" PRId64 " devices, found %.0f",
                     plan->path, used, all, asked);
}

static bool begin(struct score_request *scoring, struct error *err)
{
    struct job *job = calloc(1, sizeof *job);
    scoring->question = job;
    if (!job)
        return error_memory(err);
    if (check_numbers(scoring, err) && job_remake(job, scoring->plan, &scoring->options->parts, err))
        return true;
    free(job);
    return false;
}

static void end(struct score_request *scoring)
{
    free(scoring->question);
}

/* Those that the plan was made for: never fewer than it uses. */
static int devices_of(const struct score_request *scoring)
{
    const struct job *job = scoring->question;
    int64_t asked = plan_devices_asked(scoring->plan);
    return asked > job->devices ? (int)asked : job->devices;
}

static bool score(struct score_request *scoring, struct plan *scored, struct error *err)
{
    const struct job *job = scoring->question;
    scored->headroom = scoring->headroom;
    return job_check(job, err) && plan_of_one_job(scored, job, devices_of(scoring), err);
}

/* A search moves nothing to the host unless it may: a plan that does was asked so. */
static void open_host(struct job_question *question, const struct technique *of)
{
    static const enum technique_kind kinds[] = {TECHNIQUE_OFFLOAD, TECHNIQUE_OFFLOAD_ACTIVATIONS};
    for (int i = 0; i < 2; i++)
        if (technique_get(of, kinds[i]) > 0)
            question->ranges[JOB_TECHNIQUE + kinds[i]] = (struct job_range){0, technique_max(kinds[i]), true};
}

static bool search(struct score_request *scoring, struct plan *best, struct error *err)
{
    struct job_question question = {
        .job = *(const struct job *)scoring->question,
        .headroom = scoring->headroom,
    };
    struct job_search_options how = {
        .top = 1,
        .time_limit = scoring->options->planning.time_limit,
        .pool = parallel_new((int)scoring->options->planning.threads, err),
    };
    struct job_search found;
    struct progress progress;
    if (!how.pool)
        return false;
    question.job.devices = devices_of(scoring);
    question.job.stage_blocks = NULL;
    question.job.technique = technique_given(&question.job.technique);
    open_host(&question, &((const struct job *)scoring->question)->technique);
    progress_start(&progress, "planning");
    how.progress = &progress;
    bool ok = job_search(&found, &question, &how, err);
    progress_end(&progress);
    parallel_free(how.pool);
    if (!ok)
        return false;
    ok = plan_of_job(best, &(struct job_answer){.question = &question, .search = &found}, err);
    job_search_release(&found);
    return ok;
}

const struct objective objective_job = {
    "iteration", takes, begin, score, search, end, "of the search, which keeps the headroom of the memory",
};
