#include "evidence/judge.h"

#include "devices/tables.h"

#include <math.h>
#include <string.h>

const char *const run_part_names[RUN_PARTS + 1] = {"nothing", "job",   "source", "software",
                                                   "gpu",     "model", NULL};

/* Of seconds: digits that a table drops. */
#define EQUAL 1e-3

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

static bool same_run(const struct residual *row, const void *of)
{
    const struct residual *run = of;
    return row->likeness.devices == run->likeness.devices &&
           fabs(row->seconds - run->seconds) <= EQUAL * run->seconds && residual_same_device(row, run) &&
           same_model(row, run);
}

static residual_filter *const same_part[] = {
    [PART_ITSELF] = same_run,        [PART_JOB] = residual_same_job,    [PART_SOURCE] = residual_same_source,
    [PART_SOFTWARE] = same_software, [PART_GPU] = residual_same_device, [PART_MODEL] = same_model,
};

static bool is_published(const struct residual *run)
{
    for (int i = 0; i < residuals_known.count; i++)
        if (same_run(&residuals_known.rows[i], run))
            return true;
    return false;
}

struct estimate run_judge(const struct run *run, enum run_part without)
{
    struct residual row = residual_of(run);
    struct residuals known = residuals_known;
    if (!is_published(
            &row)) /* as `plan` and `price` predict its job, who know neither a date nor software by its own name */
        row.likeness = likeness_of(&run->job, &run->predicted);
    if (!tables_is_known(run->job.calibration, run->job.device))
        known.count = 0;
    return neighbours_estimate(&known, &row.likeness, same_part[without], &row);
}

double run_by_nearest(const struct run *run, const struct estimate *estimate)
{
    return estimate->count > 0 ? run->predicted.flops / estimate->neighbours[0].row->rate : 0.0;
}
