/* A training job over devices that are alike. */
#include "plan/score/objective.h"
#include "plan/split/plan.h"

#include <stdlib.h>

static bool takes(const struct plan *plan, const struct score_options *options)
{
    return !options->planning.profile && !options->planning.cluster && plan_is_job(plan);
}

static bool begin(struct score_request *scoring, struct error *err)
{
    struct job *job = calloc(1, sizeof *job);
    scoring->question = job;
    if (!job)
        return error_memory(err);
    if (job_remake(job, scoring->plan, &scoring->options->parts, err))
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
