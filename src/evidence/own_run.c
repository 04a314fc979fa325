#include "evidence/own_run.h"
#include "core/random.h"
#include "devices/tables.h"
#include "evidence/interval.h"
#include "evidence/judge.h"
#include "evidence/own_lab.h"
#include "evidence/own_run_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
                [LIKENESS_BLOCK] = job->sizes[LIKENESS_BLOCK], /* the file does not say it */
            },
    };
}

/* Returns the share of a run's deviation that counts at a distance. */
static double own_run_share(double distance, double share, double reach)
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
    interval_scale(&estimate->shares, own, own);
    estimate->extrapolates = estimate->extrapolates && distance > OWN_NEAR;
}

/* A network of a kind that reaches less than its reference design may be as good as this, or as much worse again. */
static void widen_by_network(struct estimate *estimate, const struct job *job, double seconds)
{
    if (!job->across || job->across->reference <= 0.0 || seconds <= 0.0)
        return;
    struct cost_link link = *job->across;
    struct job reference = *job;
    link.bandwidth = link.reference;
    reference.across = &link;
    double share = job_time(&reference).seconds / seconds;
    if (share > 0.0 && share < 1.0)
        interval_scale(&estimate->shares, share, 1.0 / share);
}

struct estimate own_run_estimate(const struct job *job, const struct job_time *time)
{
    struct residuals known = residuals_known;
    struct likeness likeness = likeness_of(job, time);
    if (time->seconds > 0.0)
        likeness_price_others(&likeness, job);
    if (!tables_is_known(job->calibration, job->device))
        known.count = 0;
    struct estimate estimate = neighbours_estimate(&known, &likeness, NULL, NULL);
    own_run_apply(&estimate, &job->calibration->own, &likeness, time->seconds);
    own_lab_apply(&estimate, job, time);
    widen_by_network(&estimate, job, time->seconds);
    return estimate;
}

/* What a run of the user's own is worth: on the published runs. */

struct judged {
    struct residual residual;
    double error;     /* ln(measured / expected), as if no run of its source were known */
    double low, high; /* of the interval, likewise, around the expected time */
    bool seen;
};

static bool same_lab(const struct residual *a, const struct residual *b)
{
    return residual_same_source(a, b) && residual_same_device(a, b);
}

static bool belongs(const struct residual *run, enum own_labs labs)
{
    uint64_t key = 0;
    for (const char *c = run->source; *c; c++)
        key = random_mix(key + (unsigned char)*c);
    return labs == OWN_LABS_ALL || (key % 2 == 0) == (labs == OWN_LABS_EVEN);
}

static int judge(const struct validation *validation, struct judged *judged, enum own_labs labs)
{
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        struct residual residual = run->reason || !run->scored ? (struct residual){0} : residual_of(run);
        if (run->reason || !run->scored || !belongs(&residual, labs))
            continue;
        struct estimate estimate = run_judge(run, PART_SOURCE);
        double factor = log(estimate.factor);
        judged[count++] = (struct judged){.residual = residual,
                                          .error = residual.log_ratio - factor,
                                          .low = log(estimate.shares.low) - factor,
                                          .high = log(estimate.shares.high) - factor};
    }
    return count;
}

/* Sums over all pairs of a lab: one run is known, the other one asked for. */
static void add_lab(struct own_score *score, struct judged *judged, int first, int count, double share,
                    double reach)
{
    double pairs = 0.0, far_pairs = 0.0, before = 0.0, after = 0.0, far = 0.0, inside = 0.0;
    int runs = 0;
    for (int j = first; j < count; j++) {
        bool near = false;
        if (!same_lab(&judged[first].residual, &judged[j].residual))
            continue;
        judged[j].seen = true;
        for (int i = first; i < count; i++) {
            const struct judged *known = &judged[i], *asked = &judged[j];
            if (i == j || !same_lab(&known->residual, &asked->residual))
                continue;
            double distance =
                likeness_distance(&known->residual.likeness, &asked->residual.likeness, INFINITY);
            double left = asked->error - known->error * own_run_share(distance, share, reach);
            if (distance > OWN_NEAR) {
                far_pairs++;
                far += expm1(fabs(asked->error));
                continue;
            }
            near = true;
            pairs++;
            before += expm1(fabs(asked->error));
            after += expm1(fabs(left));
            inside += left >= asked->low && left <= asked->high;
        }
        runs += near;
    }
    if (pairs == 0.0)
        return;
    score->labs++;
    score->runs += runs;
    score->before += before / pairs;
    score->after += after / pairs;
    score->inside += inside / pairs;
    score->far += far_pairs > 0.0 ? far / far_pairs : before / pairs;
}

static bool score_runs(struct own_score *score, const struct validation *validation, enum own_labs labs,
                       double share, double reach, struct error *err)
{
    struct judged *judged = calloc((size_t)validation->count + 1, sizeof *judged);
    if (!judged)
        return error_memory(err);
    int count = judge(validation, judged, labs);
    for (int i = 0; i < count; i++)
        if (!judged[i].seen)
            add_lab(score, judged, i, count, share, reach);
    double of = score->labs > 0 ? score->labs : 1.0;
    score->before /= of;
    score->after /= of;
    score->inside /= of;
    score->far /= of;
    free(judged);
    return true;
}

bool own_run_score(struct own_score *score, enum own_labs labs, double share, double reach, struct error *err)
{
    static const struct validation_defaults defaults = {.gpu = NULL};
    struct validation validation;
    *score = (struct own_score){0};
    if (!validation_load_known(&validation, &defaults, err))
        return false;
    validation_predict(&validation, NULL);
    bool ok = score_runs(score, &validation, labs, share, reach, err);
    validation_release(&validation);
    return ok;
}
