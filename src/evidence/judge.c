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

struct left_out {
    enum run_part part;
    const struct residual *run;
};

static bool same_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool same_model(const struct residual *a, const struct residual *b)
{
    return fabs(a->likeness.sizes[LIKENESS_PARAMETERS] - b->likeness.sizes[LIKENESS_PARAMETERS]) < EQUAL;
}

static bool is_left_out(const struct residual *row, const void *context)
{
    const struct left_out *left_out = context;
    const struct residual *run = left_out->run;
    switch (left_out->part) {
    case PART_JOB:
        return residual_same_job(row, run);
    case PART_SOURCE:
        return residual_same_source(row, run);
    case PART_SOFTWARE:
        return same_text(row->likeness.software, run->likeness.software);
    case PART_GPU:
        return same_text(row->likeness.device, run->likeness.device);
    case PART_MODEL:
        return same_model(row, run);
    default:
        break;
    }
    return row->likeness.devices == run->likeness.devices &&
           fabs(row->seconds - run->seconds) <= EQUAL * run->seconds &&
           same_text(row->likeness.device, run->likeness.device) && same_model(row, run);
}

static bool is_published(const struct residual *run)
{
    const struct left_out itself = {PART_ITSELF, run};
    for (int i = 0; i < residuals_known.count; i++)
        if (is_left_out(&residuals_known.rows[i], &itself))
            return true;
    return false;
}

struct estimate run_judge(const struct run *run, enum run_part without)
{
    struct residual row = residual_of(run);
    struct left_out left_out = {without, &row};
    struct residuals known = residuals_known;
    if (!is_published(
            &row)) /* as `plan` and `price` predict its job, who know neither a date nor software by its own name */
        row.likeness = likeness_of(&run->job, &run->predicted);
    if (!tables_is_known(run->job.calibration, run->job.device))
        known.count = 0;
    return neighbours_estimate(&known, &row.likeness, is_left_out, &left_out);
}

double run_by_nearest(const struct run *run, const struct estimate *estimate)
{
    return estimate->count > 0 ? run->predicted.flops / estimate->neighbours[0].row->rate : 0.0;
}
