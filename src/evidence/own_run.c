#include "evidence/own_run.h"

#include "devices/tables.h"

#include <math.h>

struct own_run own_run_of(const struct job *job, const struct job_time *time, double seconds, double expected)
{
    struct likeness likeness = likeness_of(job, time);
    return (struct own_run){
        .title = job->model->name,
        .device = likeness.device,
        .software = likeness.software,
        .ratio = seconds / expected,
        .bits = likeness.bits,
        .frozen = likeness.frozen,
        .recompute = (int)likeness.recompute,
        .sharding = likeness.sharding,
        .parameters = exp2(likeness.sizes[LIKENESS_PARAMETERS]),
        .tokens = exp2(likeness.sizes[LIKENESS_TOKENS]),
        .tensor = job->degrees.tensor,
        .pipeline = job->degrees.pipeline,
        .context = job->degrees.context,
        .expert = job->degrees.expert,
        .bubble = likeness.sizes[LIKENESS_BUBBLE],
        .predicted = time->seconds,
    };
}

/* A run is of the lab's own software and date, as the job is: neither adds to the distance. */
static struct likeness likeness_of_run(const struct own_run *run, const struct likeness *job)
{
    return (struct likeness){
        .generation = job->generation,
        .device = run->device,
        .software = run->software,
        .framework = job->framework,
        .released = job->released,
        .bits = run->bits,
        .frozen = run->frozen,
        .recompute = (enum recompute)run->recompute,
        .sharding = run->sharding,
        .sizes =
            {
                [LIKENESS_PARAMETERS] = log2(run->parameters),
                [LIKENESS_TOKENS] = log2(run->tokens),
                [LIKENESS_TENSOR] = log2(run->tensor),
                [LIKENESS_PIPELINE] = log2(run->pipeline),
                [LIKENESS_CONTEXT] = log2(run->context),
                [LIKENESS_EXPERT] = log2(run->expert),
                [LIKENESS_BUBBLE] = run->bubble,
            },
    };
}

double own_run_share(double distance, double share, double reach)
{
    return share * exp(-distance / reach);
}

/* Digits that a file drops. */
#define EQUAL 1e-4

void own_run_apply(struct estimate *estimate, const struct own_run *run, const struct likeness *likeness,
                   double predicted)
{
    if (!run->title)
        return;
    struct likeness other = likeness_of_run(run, likeness);
    double distance = likeness_distance(&other, likeness, INFINITY);
    bool is_same = distance < EQUAL && fabs(predicted - run->predicted) < EQUAL * predicted;
    double own = pow(run->ratio, is_same ? 1.0 : own_run_share(distance, OWN_SHARE, OWN_REACH));
    estimate->own *= own;
    estimate->factor *= own;
    estimate->low *= own;
    estimate->high *= own;
    estimate->extrapolates = estimate->extrapolates && distance > OWN_NEAR;
}

struct estimate own_run_estimate(const struct job *job, const struct job_time *time)
{
    struct residuals known = residuals_known;
    struct likeness likeness = likeness_of(job, time);
    if (!tables_is_known(job->calibration, job->device))
        known.count = 0;
    struct estimate estimate = neighbours_estimate(&known, &likeness, NULL, NULL);
    own_run_apply(&estimate, &job->calibration->own, &likeness, time->seconds);
    return estimate;
}
