#include "evidence/left_out.h"

#include "core/stop.h"

#include <stdlib.h>
#include <string.h>

/* Returns the part that a modelled run belongs to; equal texts are one part. */
static const char *run_part_of(const struct run *run, enum run_part part)
{
    switch (part) {
    case PART_ITSELF:
        return run->id;
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
    const struct validation *validation;
    enum run_part part;
    struct plan_interval *intervals; /* of the validation's runs */
    double *errors;                  /* likewise */
};

static struct left_out score(const struct leaving *leaving, const char *name)
{
    const struct validation *validation = leaving->validation;
    struct left_out out = {.name = name};
    double *values = validation->errors;
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        const struct plan_interval *interval = &leaving->intervals[i];
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
            values[count++] = leaving->errors[i];
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
        list[count++] = score(leaving, name);
    }
    if (count > 0) {
        qsort(list, (size_t)count, sizeof *list, by_runs);
        list[count++] = score(leaving, NULL);
    }
    return count;
}

static void judge(struct leaving *leaving, bool formula)
{
    for (int i = 0; i < leaving->validation->count && !stop_wanted(); i++) {
        const struct run *run = &leaving->validation->runs[i];
        if (!is_scored(run))
            continue;
        struct estimate estimate = run_judge(run, leaving->part);
        leaving->intervals[i] = interval_of(&estimate, run->predicted.seconds);
        leaving->errors[i] = (formula ? 1.0 : estimate.factor) * run->predicted.seconds / run->seconds - 1.0;
    }
}

bool left_out_make(const struct validation *validation, enum run_part part, bool formula,
                   struct left_out **list, int *count, struct error *err)
{
    struct leaving leaving = {.validation = validation, .part = part};
    leaving.intervals = calloc((size_t)validation->count + 1, sizeof *leaving.intervals);
    leaving.errors = calloc((size_t)validation->count + 1, sizeof *leaving.errors);
    *list = calloc((size_t)validation->count + 2, sizeof **list);
    bool ok = leaving.intervals && leaving.errors && *list;
    if (ok) {
        judge(&leaving, formula);
        *count = leave_each(&leaving, *list);
    }
    free(leaving.intervals);
    free(leaving.errors);
    return ok || error_memory(err);
}
