#include "evidence/calibrate_runs.h"

#include "core/stop.h"
#include "cost/calibrate/fit.h"

#include <math.h>
#include <string.h>

#define FOLDS       5
#define MIN_RUNS    10
#define EVALUATIONS 6000

/* An error this large counts linearly, smaller ones squared: a few odd runs do not pull the rest. */
#define ODD 0.05

/* A parameter that moves by this factor costs as much as one run that is ODD off. */
#define LOOSE 1.5

struct search {
    struct validation *validation;
    const char *generation;
    int fold; /* whose runs are left out; -1: none */
    struct calibration start;
    const struct field *parameters;
    int count;
};

static bool belongs(const struct run *run, const char *generation)
{
    return !run->reason && run->scored && strcmp(run->job.device->generation, generation) == 0;
}

/* Runs that differ only in when they were made are in one fold. */
static int fold_of(const struct run *run)
{
    const struct job *job = &run->job;
    uint64_t hash = 1469598103934665603u;
    int64_t values[] = {job->devices,         job->degrees.tensor, job->degrees.pipeline,
                        job->degrees.context, job->degrees.expert, job->microbatch,
                        job->batch,           job->sequence,       (int64_t)job->type,
                        job->model->hidden,   job->model->heads,   job->model->layers};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        hash = (hash ^ (uint64_t)values[i]) * 1099511628211u;
    return (int)((hash >> 32) % FOLDS);
}

static struct calibration calibration_at(const struct search *search, const double *x)
{
    struct calibration calibration = search->start;
    for (int i = 0; i < search->count; i++) {
        const struct field *parameter = &search->parameters[i];
        double value = exp(x[i]);
        field_set(&calibration, parameter, fmin(fmax(value, parameter->min), parameter->max));
    }
    return calibration;
}

static double objective(const double *x, void *context)
{
    const struct search *search = context;
    struct calibration calibration = calibration_at(search, x);
    double sum = 0.0;
    for (int i = 0; i < search->validation->count && !stop_wanted(); i++) {
        const struct run *run = &search->validation->runs[i];
        if (!belongs(run, search->generation) || (search->fold >= 0 && fold_of(run) == search->fold))
            continue;
        struct job job = run->job;
        job.calibration = &calibration;
        double error = log(job_time(&job).seconds / run->seconds) / ODD;
        sum += sqrt(1.0 + error * error) - 1.0;
    }
    for (int i = 0; i < search->count; i++) {
        double start = field_get(&search->start, &search->parameters[i]);
        double moved = (x[i] - log(fmax(start, 1e-6))) / log(LOOSE);
        sum += 0.5 * moved * moved;
    }
    return sum;
}

static bool minimise(struct search *search, struct calibration *result, struct error *err)
{
    double x[MAX_FIT], step[MAX_FIT];
    for (int i = 0; i < search->count; i++) {
        x[i] = log(fmax(field_get(&search->start, &search->parameters[i]), 1e-6));
        step[i] = 0.15;
    }
    if (!fit_minimise(objective, search, x, step, search->count, EVALUATIONS, NULL))
        return error_memory(err);
    *result = calibration_at(search, x);
    return true;
}

static bool of_generation(const struct run *run, const void *context)
{
    return belongs(run, context);
}

/* Predicts the runs of one fold (-1: all) with a calibration. */
static void predict(struct validation *validation, const char *generation, int fold,
                    const struct calibration *calibration)
{
    for (int i = 0; i < validation->count && !stop_wanted(); i++) {
        struct run *run = &validation->runs[i];
        if (!belongs(run, generation) || (fold >= 0 && fold_of(run) != fold))
            continue;
        struct job job = run->job;
        job.calibration = calibration;
        run->predicted = job_time(&job);
        run_expect(run, run->predicted.seconds);
    }
}

bool calibrate_runs(struct runs_fit *fit, struct validation *validation, const char *generation,
                    const char *source, struct error *err)
{
    struct search search = {.validation = validation, .generation = generation, .fold = -1};
    *fit = (struct runs_fit){0};
    search.parameters = calibration_parameters(&search.count);
    for (int i = 0; i < validation->count; i++)
        if (belongs(&validation->runs[i], generation)) {
            fit->runs++;
            search.start = *validation->runs[i].job.calibration;
        }
    if (fit->runs < MIN_RUNS)
        return error_set(err, ERROR_INFEASIBLE,
                         "%s: %d runs of generation '%s' can be modelled, expected at least %d", source,
                         fit->runs, generation, MIN_RUNS);
    search.start.name = generation;
    for (search.fold = 0; search.fold < FOLDS; search.fold++) {
        struct calibration calibration;
        if (!minimise(&search, &calibration, err))
            return false;
        predict(validation, generation, search.fold, &calibration);
    }
    fit->left_out = validation_score(validation, of_generation, generation);
    search.fold = -1;
    if (!minimise(&search, &fit->calibration, err))
        return false;
    predict(validation, generation, -1, &fit->calibration);
    fit->fitted = validation_score(validation, of_generation, generation);
    fit->calibration.fitted = arena_format(
        &validation->arena, "%d runs of %s; median error %.1f %%, of runs left out %.1f %% (mean %.1f %%)",
        fit->runs, source, 100 * fit->fitted.median, 100 * fit->left_out.median, 100 * fit->left_out.mean);
    return fit->calibration.fitted ? true : error_memory(err);
}
