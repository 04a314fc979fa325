#include "evidence/own_lab.h"

#include "core/random.h"
#include "cost/calibrate/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOLDS       5
#define EVALUATIONS 2000

/* What is usual: standard deviations of ln of both shares, and of the milliseconds. Chosen by learning from halves of
 * the published sources (own_lab_test). */
#define KERNELS   0.25
#define TRANSFERS 0.5
#define BLOCK     2e-3

/* An error this large counts linearly, smaller ones squared: a few odd runs do not pull the rest. */
#define ODD 0.1

/* So many runs are believed by half, and so many tell half of how wide intervals are. */
#define HALF_BELIEVED 3.0
#define HALF_TOLD     10.0

/* Standard errors that what is learned must help by (Breiman et al., "Classification and regression trees", 1984). */
#define SURE 1.0

enum { PARAMETERS = 3 };

struct own_lab_run own_lab_run_of(const struct job *job, const struct job_time *time, double seconds,
                                  double factor)
{
    double transfers = time->tensor + time->send + time->data;
    double blocks = (double)job_block_count(job) / fmax(job->degrees.pipeline, 1.0);
    uint64_t key = random_mix((uint64_t)job->devices);
    for (const char *c = job->model->name; *c; c++)
        key = random_mix(key + (unsigned char)*c);
    return (struct own_lab_run){
        .kernels = (time->seconds - transfers) / time->seconds,
        .transfers = transfers / time->seconds,
        .blocks = blocks * (double)job_microbatches(job) / time->seconds,
        .error = seconds > 0.0 ? log(seconds / (time->seconds * factor)) : 0.0,
        .job = key,
    };
}

double own_lab_effect(const struct own_lab *lab, const struct own_lab_run *run)
{
    return log(lab->kernels * run->kernels + lab->transfers * run->transfers + lab->block * run->blocks);
}

static struct own_lab lab_at(const double *x, double share)
{
    return (struct own_lab){.kernels = exp(share * x[0]),
                            .transfers = exp(share * x[1]),
                            .block = share * fmax(x[2], 0.0) * BLOCK};
}

struct search {
    const struct own_lab_run *runs;
    const int *folds;
    int count, fold; /* whose runs are left out; -1: none */
};

static double objective(const double *x, void *context)
{
    const struct search *search = context;
    struct own_lab lab = lab_at(x, 1.0);
    double sum = pow(x[0] / KERNELS, 2.0) + pow(x[1] / TRANSFERS, 2.0) + x[2] * x[2];
    for (int i = 0; i < search->count; i++) {
        if (search->folds[i] == search->fold)
            continue;
        double left = (search->runs[i].error - own_lab_effect(&lab, &search->runs[i])) / ODD;
        sum += 2.0 * (sqrt(1.0 + left * left) - 1.0);
    }
    return sum;
}

static bool learn_without(const struct own_lab_run *runs, const int *folds, int count, int fold,
                          double x[PARAMETERS], struct error *err)
{
    static const double step[PARAMETERS] = {0.1, 0.2, 0.3};
    struct search search = {runs, folds, count, fold};
    memset(x, 0, PARAMETERS * sizeof *x);
    return fit_minimise(objective, &search, x, step, PARAMETERS, EVALUATIONS, NULL) || error_memory(err);
}

/* Runs of one job are in one fold; where there are fewer than three jobs, each run is by itself. */
static void choose_folds(const struct own_lab_run *runs, int count, int *folds)
{
    int jobs = 0;
    for (int i = 0; i < count; i++) {
        int same = 0;
        while (same < i && runs[same].job != runs[i].job)
            same++;
        folds[i] = same < i ? folds[same] : jobs++ % FOLDS;
    }
    for (int i = 0; i < count && jobs < 3; i++)
        folds[i] = i % FOLDS;
}

/* Scores runs that were left out, each by what the other folds say. */
static struct error_score score(const struct own_lab_run *runs, const int *folds, int count,
                                double (*x)[PARAMETERS], double share, double *errors)
{
    for (int i = 0; i < count; i++) {
        struct own_lab lab = lab_at(x[folds[i]], share);
        errors[i] = expm1(own_lab_effect(&lab, &runs[i]) - runs[i].error);
    }
    return error_score_of(errors, count);
}

/* Returns whether errors are smaller than before by more than chance makes them: by so many standard errors of the mean
 * difference. What helps by chance on these runs harms on the next ones. */
static bool is_sure(const struct own_lab_run *runs, const double *errors, int count)
{
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < count; i++) {
        double less = fabs(expm1(-runs[i].error)) - fabs(errors[i]);
        sum += less;
        squares += less * less;
    }
    double mean = sum / count, variance = fmax(squares / count - mean * mean, 0.0);
    return mean > SURE * sqrt(variance / fmax(count - 1.0, 1.0));
}

static bool learn(struct own_lab_fit *fit, const struct own_lab_run *runs, int count, int *folds,
                  double *errors, struct error *err)
{
    double x[FOLDS + 1][PARAMETERS], best = 0.0, believed = count / (count + HALF_BELIEVED);
    choose_folds(runs, count, folds);
    for (int fold = 0; fold <= FOLDS; fold++)
        if (!learn_without(runs, folds, count, fold < FOLDS ? fold : -1, x[fold], err))
            return false;
    fit->before = fit->after = score(runs, folds, count, x, 0.0, errors);
    for (int i = 1; i <= 4; i++) {
        double share = 0.25 * i * believed;
        struct error_score after = score(runs, folds, count, x, share, errors);
        if (after.p90 > fit->before.p90 || after.mean >= fit->after.mean || !is_sure(runs, errors, count))
            continue;
        best = share;
        fit->after = after;
    }
    fit->lab = lab_at(x[FOLDS], best);
    fit->lab.runs = count;
    fit->lab.left = log1p(fit->after.p90);
    return true;
}

bool own_lab_learn(struct own_lab_fit *fit, const struct own_lab_run *runs, int count, struct error *err)
{
    int *folds = calloc((size_t)count + 1, sizeof *folds);
    double *errors = calloc((size_t)count + 1, sizeof *errors);
    bool ok = (folds && errors) || error_memory(err);
    ok = ok && learn(fit, runs, count, folds, errors, err);
    free(folds);
    free(errors);
    return ok;
}

void own_lab_apply(struct estimate *estimate, const struct job *job, const struct job_time *time)
{
    const struct own_lab *lab = &job->calibration->lab;
    if (!lab->software || time->seconds <= 0.0)
        return;
    struct likeness other = estimate->job;
    other.software = lab->software;
    double alike = exp(-likeness_support(&other, &estimate->job));
    struct own_lab_run run = own_lab_run_of(job, time, 0.0, 1.0);
    double own = exp(alike * own_lab_effect(lab, &run));
    struct plan_interval *shares = &estimate->shares;
    /* what is known of the lab's jobs counts the more, the more of its runs there are */
    double known = alike * lab->runs / (lab->runs + HALF_TOLD), factor = estimate->factor;
    shares->low = factor * pow(shares->low / factor, 1.0 - known) * exp(-known * lab->left);
    shares->high = factor * pow(shares->high / factor, 1.0 - known) * exp(known * lab->left);
    interval_scale(shares, own, own);
    estimate->own *= own;
    estimate->factor *= own;
}
