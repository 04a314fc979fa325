#include "evidence/left_out.h"

#include "core/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the first software of a family, which stands for it. */
static const char *family_of(const char *name)
{
    for (int i = 0; i < software_count(false); i++)
        if (likeness_same_family(software_at(i)->name, name))
            return software_at(i)->name;
    return name;
}

static const char *size_of(const struct run *run)
{
    static const char *const names[] = {"up to 2 B",     "2 B to 9 B",     "9 B to 34 B",
                                        "34 B to 137 B", "137 B to 550 B", "larger"};
    struct likeness likeness = likeness_of(&run->job, &run->predicted);
    return names[judge_size(&likeness)];
}

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
    case PART_FAMILY:
        return family_of(run->job.software->name);
    case PART_GPU:
        return run->job.device->name;
    case PART_SIZE:
        return size_of(run);
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
    struct estimate *estimates; /* of the validation's runs */
    bool formula;
};

static bool holds(double low, double high, double seconds)
{
    return seconds >= low && seconds <= high;
}

/* Scores the runs of a part, of all for NULL, with errors by the formula alone or as expected. */
static struct error_score score_errors(const struct leaving *leaving, const char *name, bool formula)
{
    const struct validation *validation = leaving->validation;
    double *errors = validation->errors;
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (is_scored(run) && (!name || strcmp(run_part_of(run, leaving->part), name) == 0))
            errors[count++] =
                (formula ? 1.0 : leaving->estimates[i].factor) * run->predicted.seconds / run->seconds - 1.0;
    }
    return error_score_of(errors, count);
}

/* Returns the share of runs inside their intervals, each part counting once. */
static double share_of_groups(const struct leaving *leaving)
{
    const struct validation *validation = leaving->validation;
    double sum = 0.0, groups = 0.0;
    for (int i = 0; i < validation->count; i++) {
        int runs = 0;
        if (!is_scored(&validation->runs[i]))
            continue;
        const struct plan_interval *shares = &leaving->estimates[i].shares;
        const char *name = run_part_of(&validation->runs[i], leaving->part);
        for (int j = 0; j < validation->count; j++)
            runs += is_scored(&validation->runs[j]) &&
                    strcmp(run_part_of(&validation->runs[j], leaving->part), name) == 0;
        sum += holds(shares->low, shares->high,
                     validation->runs[i].seconds / validation->runs[i].predicted.seconds) /
               (double)runs;
        groups += 1.0 / runs;
    }
    return groups > 0.0 ? sum / groups : 0.0;
}

static struct left_out score(const struct leaving *leaving, const char *name)
{
    const struct validation *validation = leaving->validation;
    struct left_out out = {.name = name};
    double *widths = validation->errors;
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        const struct plan_interval *shares = &leaving->estimates[i].shares;
        if (!is_scored(run) || (name && strcmp(run_part_of(run, leaving->part), name) != 0))
            continue;
        double share = run->seconds / run->predicted.seconds;
        widths[count++] = shares->high / shares->low;
        out.inside += holds(shares->low, shares->high, share);
        out.like += holds(shares->like_low, shares->like_high, share);
        out.unlike += holds(shares->unlike_low, shares->unlike_high, share);
        out.extrapolated += shares->extrapolates;
    }
    out.groups = name ? (double)out.inside / fmax(count, 1.0) : share_of_groups(leaving);
    sort_doubles(widths, count);
    out.width = quantile_of(widths, count, 0.5);
    out.formula = score_errors(leaving, name, true);
    out.errors = score_errors(leaving, name, leaving->formula);
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

static void judge(struct leaving *leaving)
{
    for (int i = 0; i < leaving->validation->count && !stop_wanted(); i++) {
        const struct run *run = &leaving->validation->runs[i];
        if (is_scored(run))
            leaving->estimates[i] = run_judge(run, leaving->part);
    }
}

/* The sum of each way. */
static int leave_ways(struct leaving *leaving, struct left_out *list)
{
    int count = 0;
    for (int part = PART_JOB; part < RUN_PARTS; part++) {
        leaving->part = (enum run_part)part;
        judge(leaving);
        list[count] = score(leaving, NULL);
        list[count++].name = run_part_names[part];
    }
    return list[0].errors.rows > 0 ? count : 0;
}

bool left_out_make(const struct validation *validation, enum run_part part, bool formula,
                   struct left_out **list, int *count, struct error *err)
{
    struct leaving leaving = {.validation = validation, .part = part, .formula = formula};
    leaving.estimates = calloc((size_t)validation->count + 1, sizeof *leaving.estimates);
    *list = calloc((size_t)validation->count + RUN_PARTS + 2, sizeof **list);
    bool ok = leaving.estimates && *list;
    if (ok && part == RUN_PARTS) {
        *count = leave_ways(&leaving, *list);
    } else if (ok) {
        judge(&leaving);
        *count = leave_each(&leaving, *list);
    }
    free(leaving.estimates);
    return ok || error_memory(err);
}
