#include "evidence/judge.h"

#include "devices/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const run_part_names[] = {"nothing", "job",   "source", "software", "family",
                                      "gpu",     "model", "size",   "group",    NULL};

/* Of seconds: digits that a table drops. */
#define EQUAL 1e-3

/* Sizes of models: six, each four times as large, from 2^29 parameters on. */
#define SMALL    29.0
#define PER_SIZE 2.0
#define SIZES    6

struct residual residual_of(const struct run *run)
{
    struct residual row = {
        .likeness = likeness_of(&run->job, &run->predicted),
        .id = run->id,
        .source = run->source,
        .model = run->model_name,
        .seconds = run->seconds,
    };
    double release = likeness_date(run->framework);
    row.likeness.framework = run->framework ? run->framework : "";
    row.likeness.released = release > 0.0 ? release : likeness_date(run->date);
    if (run->seconds > 0.0) {
        row.rate = run->predicted.flops / run->seconds;
        row.log_ratio = log(run->seconds / run->predicted.seconds);
    }
    return row;
}

static bool same_software(const struct residual *row, const void *of)
{
    return strcmp(row->likeness.software, ((const struct residual *)of)->likeness.software) == 0;
}

static bool same_model(const struct residual *row, const void *of)
{
    const double *size = ((const struct residual *)of)->likeness.sizes;
    return fabs(row->likeness.sizes[LIKENESS_PARAMETERS] - size[LIKENESS_PARAMETERS]) < EQUAL;
}

int judge_size(const struct likeness *likeness)
{
    return (int)fmin(fmax(floor((likeness->sizes[LIKENESS_PARAMETERS] - SMALL) / PER_SIZE), 0.0), SIZES - 1);
}

static bool same_size(const struct residual *row, const void *of)
{
    return judge_size(&row->likeness) == judge_size(&((const struct residual *)of)->likeness);
}

static bool same_run(const struct residual *row, const void *of)
{
    const struct residual *run = of;
    return row->likeness.devices == run->likeness.devices &&
           fabs(row->seconds - run->seconds) <= EQUAL * run->seconds && residual_same_device(row, run) &&
           same_model(row, run);
}

static residual_filter *const same_part[] = {
    [PART_ITSELF] = same_run,
    [PART_JOB] = residual_same_job,
    [PART_SOURCE] = residual_same_source,
    [PART_SOFTWARE] = same_software,
    [PART_FAMILY] = residual_same_family,
    [PART_GPU] = residual_same_device,
    [PART_MODEL] = same_model,
    [PART_SIZE] = same_size,
};

static const struct residual *published(const struct residual *run)
{
    for (int i = 0; i < residuals_known.count; i++)
        if (same_run(&residuals_known.rows[i], run))
            return &residuals_known.rows[i];
    return NULL;
}

struct estimate run_judge(const struct run *run, enum run_part without)
{
    struct residual row = residual_of(run);
    struct residuals known = residuals_known;
    const struct residual *same = published(&row);
    if (same) {
        memcpy(row.likeness.others, same->likeness.others, sizeof row.likeness.others);
    } else { /* as `plan` and `price` predict its job, who know neither a date nor software by its own name */
        row.likeness = likeness_of(&run->job, &run->predicted);
        likeness_price_others(&row.likeness, &run->job);
    }
    row.likeness.called = run->framework;
    if (!tables_is_known(run->job.calibration, run->job.device))
        known.count = 0;
    struct estimate estimate = neighbours_estimate(&known, &row.likeness, same_part[without], &row);
    own_lab_apply(&estimate, &run->job, &run->predicted);
    return estimate;
}

double run_by_nearest(const struct run *run, const struct estimate *estimate)
{
    return estimate->count > 0 ? run->predicted.flops / estimate->neighbours[0].row->rate : 0.0;
}

bool judge_learn_lab(struct own_lab_fit *fit, struct validation *validation, const char *generation,
                     const char *source, struct error *err)
{
    struct own_lab_run *runs = calloc((size_t)validation->count + 1, sizeof *runs);
    const char *software = NULL;
    int count = 0;
    if (!runs)
        return error_memory(err);
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (run->reason || !run->scored || strcmp(run->job.device->generation, generation) != 0)
            continue;
        software = software ? software : run->job.software->name;
        runs[count++] =
            own_lab_run_of(&run->job, &run->predicted, run->seconds, run_judge(run, PART_ITSELF).factor);
    }
    bool ok = count >= OWN_LAB_LEAST ||
              error_set(err, ERROR_INFEASIBLE,
                        "%s: %d runs of generation '%s' can be modelled, expected at least %d", source, count,
                        generation, OWN_LAB_LEAST);
    ok = ok && own_lab_learn(fit, runs, count, err);
    if (ok)
        fit->lab.software = software;
    free(runs);
    return ok;
}
