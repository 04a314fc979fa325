#include "cli/validate/best.h"

#include <inttypes.h>
#include <stdlib.h>

static void print_row(const struct run *run, const struct better *better, struct text *out)
{
    text_format(out, "%-8s %-24.24s %6d %11.4g %11.4g %+7.1f %%  ", run->id, run->model_name,
                run->job.devices, better->seconds, better->plan.time.seconds, 100.0 * better->gain);
    if (!*better->changes)
        text_add(out, "as it was used");
    else
        text_add(out, better->changes);
    if (better->part)
        text_format(out, "; %.3g s less %s", better->saved, better->part);
    text_add(out, better->used_fits ? "\n" : "; both over the device's memory, as predicted\n");
}

static int compare_gains(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void validate_best_print(const struct validation *validation, const struct better *betters, bool rows,
                         struct text *out)
{
    int count = 0, same = 0, slower = 0, over = 0, none = 0;
    double *gains = calloc((size_t)validation->count + 1, sizeof *gains);
    if (rows)
        text_format(out, "\n%-8s %-24s %6s %11s %11s %9s  %s\n", "run", "model", "gpus", "as used s",
                    "best s", "faster", "what changes, and where it saves most");
    for (int i = 0; i < validation->count && gains; i++) {
        const struct run *run = &validation->runs[i];
        const struct better *better = &betters[i];
        if (run->reason || !run->scored)
            continue;
        if (!better->found) {
            none++;
            continue;
        }
        gains[count++] = better->gain;
        same += !*better->changes;
        slower += better->gain < -1e-9;
        over += !better->used_fits;
        if (rows)
            print_row(run, better, out);
    }
    if (count > 0) {
        qsort(gains, (size_t)count, sizeof *gains, compare_gains);
        text_format(
            out,
            "\nbest plans for %d of these runs, on the same devices: predicted %.1f %% faster in the middle, "
            "%.1f %% for one in ten; %d are what was used\n",
            count, 100.0 * gains[count / 2], 100.0 * gains[count * 9 / 10], same);
        text_format(out,
                    "%d are predicted to be slower than what was used; for %d no plan fits; %d that ran are "
                    "predicted "
                    "to need more than their devices' memory, and the plans for these may, too\n",
                    slower, none, over);
    }
    free(gains);
}

void validate_best_write(const struct better *better, struct json *json, const char *key)
{
    if (!better->found)
        return;
    json_open_flat(json, key, '{');
    json_number(json, "iteration_time", better->plan.time.seconds);
    json_number(json, "gain", better->gain);
    json_integer(json, "devices", better->plan.job.devices);
    for (int d = 0; d < JOB_RECOMPUTE; d++)
        json_integer(json, job_dimension_name((enum job_dimension)d),
                     job_dimension_value(&better->plan.job, (enum job_dimension)d));
    json_string(json, "recompute", job_recompute_name(better->plan.job.recompute));
    json_number(json, "memory", better->plan.memory.total);
    json_bool(json, "used_fits", better->used_fits);
    json_close(json);
}
