#include "evidence/validate.h"

#include <math.h>
#include <stdlib.h>

/* What is over by no more than the estimate's own error still counts as fitting (docs/validate.md). */
#define MEMORY_ERROR 1.05

void validation_predict(struct validation *validation, const struct calibration *calibration)
{
    for (int i = 0; i < validation->count; i++) {
        struct run *run = &validation->runs[i];
        if (run->reason)
            continue;
        struct job job = run->job;
        if (calibration)
            job.calibration = calibration;
        run->predicted = job_time(&job);
        run->predicted_memory = job_memory(&job);
        run->fits = run->predicted_memory.total <= MEMORY_ERROR * (double)job.device->memory;
        run->memory_error = run->memory > 0.0 ? run->predicted_memory.total / run->memory - 1.0 : 0.0;
        run->error = run->seconds > 0.0 ? run->predicted.seconds / run->seconds - 1.0 : 0.0;
    }
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear between the two nearest of a sorted list. */
static double quantile(const double *sorted, int count, double share)
{
    double at = share * (count - 1);
    int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/* Of `count` signed errors, which it sorts. */
static void summarise(double *errors, int count, struct validation_score *score)
{
    score->runs = count;
    if (count == 0)
        return;
    qsort(errors, (size_t)count, sizeof *errors, compare_numbers);
    score->bias = quantile(errors, count, 0.5);
    for (int i = 0; i < count; i++) {
        errors[i] = fabs(errors[i]);
        score->mean += errors[i] / count;
    }
    qsort(errors, (size_t)count, sizeof *errors, compare_numbers);
    score->median = quantile(errors, count, 0.5);
    score->p90 = quantile(errors, count, 0.9);
}

struct validation_score validation_score(const struct validation *validation,
                                         bool (*matches)(const struct run *run, const void *context),
                                         const void *context)
{
    struct validation_score score = {0};
    double *errors = validation->errors;
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (!run->reason && run->scored && (!matches || matches(run, context)))
            errors[count++] = run->error;
    }
    summarise(errors, count, &score);
    return score;
}

struct memory_score validation_memory(const struct validation *validation)
{
    struct memory_score score = {0};
    struct validation_score errors_score = {0};
    double *errors = validation->errors;
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (run->reason)
            continue;
        if (run->memory > 0.0)
            errors[count++] = run->memory_error;
        if (run->ran_out) {
            score.ran_out++;
            score.caught += !run->fits;
        } else if (run->says_all && (run->seconds > 0.0 || run->memory > 0.0)) {
            score.ran++;
            score.wrongly_refused += !run->fits;
        }
    }
    summarise(errors, count, &errors_score);
    score.runs = errors_score.runs;
    score.mean = errors_score.mean;
    score.median = errors_score.median;
    score.p90 = errors_score.p90;
    score.bias = errors_score.bias;
    return score;
}
