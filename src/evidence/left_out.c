#include "evidence/left_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const run_part_names[RUN_PARTS + 1] = {"source", "software", "gpu", "model", NULL};

const char *run_part_of(const struct run *run, enum run_part part)
{
    switch (part) {
    case PART_SOURCE:
        return run->source;
    case PART_SOFTWARE:
        return run->job.software->name;
    case PART_GPU:
        return run->job.device->name;
    default:
        return run->model.name;
    }
}

static bool is_scored(const struct run *run)
{
    return !run->reason && run->scored;
}

struct leaving {
    const struct validation *validation, *known;
    enum run_part part;
    struct residuals rest;      /* the known runs but for one part */
    struct interval *intervals; /* of the validation's runs */
};

/* Puts all known runs into `rest` that do not belong to a part. */
static void leave_out(struct leaving *leaving, const char *name)
{
    leaving->rest.count = 0;
    for (int i = 0; i < leaving->known->count; i++) {
        const struct run *run = &leaving->known->runs[i];
        if (is_scored(run) && strcmp(run_part_of(run, leaving->part), name) != 0)
            leaving->rest.rows[leaving->rest.count++] = (struct residual){
                .likeness = likeness_of(&run->job),
                .log_ratio = log(run->seconds / run->predicted.seconds),
            };
    }
}

static struct left_out score(const struct leaving *leaving, const char *name)
{
    const struct validation *validation = leaving->validation;
    struct left_out out = {.name = name};
    double *values = validation->errors;
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        const struct interval *interval = &leaving->intervals[i];
        if (!is_scored(run) || (name && strcmp(run_part_of(run, leaving->part), name) != 0))
            continue;
        values[count++] = interval->high / interval->low;
        out.inside += interval_holds(interval, run->seconds);
        out.extrapolated += interval->extrapolates;
    }
    sort_doubles(values, count);
    out.width = quantile_of(values, count, 0.5);
    count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (is_scored(run) && (!name || strcmp(run_part_of(run, leaving->part), name) == 0))
            values[count++] = run->error;
    }
    out.errors = error_score_of(values, count);
    return out;
}

static int by_runs(const void *a, const void *b)
{
    const struct left_out *x = a, *y = b;
    int more = (y->errors.rows > x->errors.rows) - (y->errors.rows < x->errors.rows);
    return more != 0 ? more : strcmp(x->name, y->name);
}

static int leave_each(struct leaving *leaving, struct left_out *list)
{
    const struct validation *validation = leaving->validation;
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        int at = 0;
        if (!is_scored(run))
            continue;
        const char *name = run_part_of(run, leaving->part);
        while (at < count && strcmp(list[at].name, name) != 0)
            at++;
        if (at < count)
            continue;
        leave_out(leaving, name);
        for (int j = i; j < validation->count; j++) {
            const struct run *other = &validation->runs[j];
            if (!is_scored(other) || strcmp(run_part_of(other, leaving->part), name) != 0)
                continue;
            struct likeness likeness = likeness_of(&other->job);
            leaving->intervals[j] = interval_of(&leaving->rest, &likeness, other->predicted.seconds, true);
        }
        list[count++] = score(leaving, name);
    }
    if (count > 0) {
        qsort(list, (size_t)count, sizeof *list, by_runs);
        list[count++] = score(leaving, NULL);
    }
    return count;
}

bool left_out_make(const struct validation *validation, enum run_part part, struct left_out **list,
                   int *count, struct error *err)
{
    static const struct validation_defaults none;
    struct validation known;
    if (!validation_load_known(&known, &none, err))
        return false;
    validation_predict(&known, NULL);
    struct leaving leaving = {.validation = validation, .known = &known, .part = part};
    leaving.rest.rows = calloc((size_t)known.count + 1, sizeof *leaving.rest.rows);
    leaving.intervals = calloc((size_t)validation->count + 1, sizeof *leaving.intervals);
    *list = calloc((size_t)validation->count + 2, sizeof **list);
    bool ok = leaving.rest.rows && leaving.intervals && *list;
    if (ok)
        *count = leave_each(&leaving, *list);
    free(leaving.rest.rows);
    free(leaving.intervals);
    validation_release(&known);
    return ok || error_memory(err);
}
