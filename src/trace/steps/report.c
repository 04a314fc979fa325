#include "trace/steps/report.h"

#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- JSON ---- */

static void write_summary(struct json *json, const char *name, const double *sorted, size_t count)
{
    struct steps_summary summary;
    steps_summarise(sorted, count, &summary);
    json_open_flat(json, name, '{');
    json_integer(json, "count", (int64_t)summary.count);
    json_number(json, "mean", summary.mean);
    json_number(json, "stdev", summary.stdev);
    json_number(json, "least", summary.min);
    json_number(json, "q1", summary.q1);
    json_number(json, "median", summary.median);
    json_number(json, "q3", summary.q3);
    json_number(json, "most", summary.max);
    json_close(json);
}

static void write_normal(struct json *json, const struct steps_normal *normal)
{
    if (normal->count == 0) {
        json_null(json, "compute_fit");
        return;
    }
    json_open_flat(json, "compute_fit", '{');
    json_number(json, "p1", normal->low);
    json_number(json, "p99", normal->high);
    json_integer(json, "count", (int64_t)normal->count);
    json_number(json, "mu", normal->mean);
    json_number(json, "sigma", normal->sigma);
    json_close(json);
}

static bool write_group(struct json *json, const struct steps *steps, const struct steps_group *group,
                        const struct steps_normal *normal, struct error *err)
{
    json_open(json, NULL, '{');
    json_integer(json, "gpus", group->gpus);
    json_integer(json, "batch", group->batch);
    json_integer(json, "files", group->files);
    json_open(json, "seconds", '{');
    for (int i = 0; i < steps->event_count; i++)
        if (group->events[i].count > 0)
            write_summary(json, steps->events[i], group->events[i].items, group->events[i].count);
    json_close(json);
    json_open(json, "samples_per_second", '{');
    for (int i = 0; i < STEPS_LATENCY_LOAD; i++) {
        double *values;
        size_t count;
        if (!steps_metric_values(steps, group, (enum steps_metric)i, &values, &count, err))
            return false;
        if (count > 0)
            write_summary(json, steps_metric_names[i], values, count);
        free(values);
    }
    json_close(json);
    write_normal(json, normal);
    json_close(json);
    return true;
}

static void write_plane(struct json *json, const char *name, const struct steps_plane *plane)
{
    json_open_flat(json, name, '{');
    json_number(json, "per_gpu", plane->per_gpu);
    json_number(json, "per_batch", plane->per_batch);
    json_number(json, "constant", plane->constant);
    json_number(json, "r2", plane->r2);
    json_bool(json, "unique", plane->unique);
    json_number(json, "mean_error", plane->mean_error);
    json_number(json, "most_error", plane->max_error);
    json_close(json);
}

bool steps_write_json(const struct steps *steps, const struct steps_model *model, struct json *json,
                      struct error *err)
{
    json_open_document(json, "rehearse-steps/1");
    json_string(json, "workload", *steps->workload ? steps->workload : NULL);
    json_string(json, "source", steps_source_name(steps->source));
    json_bool(json, "as_study", steps->as_study);
    json_integer(json, "files", steps->files);
    json_open_flat(json, "left_out", '{');
    json_integer(json, "first_steps", steps->first_steps);
    json_integer(json, "skipped_epochs", steps->skipped);
    json_integer(json, "zeros", steps->zeros);
    json_integer(json, "lines_of_other_ranks", steps->other_ranks);
    json_close(json);
    json_integer(json, "malformed", steps->malformed);
    import_places_write_json(&steps->places, "malformed_places", json);
    json_open(json, "configurations", '[');
    for (size_t i = 0; i < steps->group_count; i++)
        if (!write_group(json, steps, &steps->groups[i], &model->normals[i], err))
            return false;
    json_close(json);
    if (model->mean.known) {
        json_open(json, "compute_model", '{');
        write_plane(json, "mu", &model->mean);
        write_plane(json, "sigma", &model->sigma);
        json_close(json);
    } else
        json_null(json, "compute_model");
    json_close(json);
    return true;
}

/* ---- tables ---- */

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_row(const struct steps_group *group, const char *name, const double *sorted, size_t count,
                      struct text *out)
{
    struct steps_summary s;
    steps_summarise(sorted, count, &s);
    text_format(out, "%4" PRId64 " %8" PRId64 "  %-22.40s %8zu %11.5g ", group->gpus, group->batch, name,
                count, s.mean);
    if (isnan(s.stdev))
        text_add(out, "          -");
    else
        text_format(out, "%11.5g", s.stdev);
    text_format(out, " %11.5g %11.5g %11.5g\n", s.q1, s.median, s.q3);
}

static void print_header(const char *what, const char *unit, struct text *out)
{
    text_format(out, "\nGPUs    batch  %-22s %8s %11s %11s %11s %11s %11s  %s\n", what, "count", "mean",
                "stdev", "q1", "median", "q3", unit);
}

static void print_events(const struct steps *steps, struct text *out)
{
    print_header("event", "seconds", out);
    for (int event = 0; event < steps->event_count; event++)
        for (size_t i = 0; i < steps->group_count; i++) {
            const struct steps_values *values = &steps->groups[i].events[event];
            if (values->count > 0)
                print_row(&steps->groups[i], steps->events[event], values->items, values->count, out);
        }
}

static bool print_rates(const struct steps *steps, struct text *out, struct error *err)
{
    print_header("throughput", "samples/s", out);
    for (int metric = 0; metric < STEPS_LATENCY_LOAD; metric++)
        for (size_t i = 0; i < steps->group_count; i++) {
            double *values;
            size_t count;
            if (!steps_metric_values(steps, &steps->groups[i], (enum steps_metric)metric, &values, &count,
                                     err))
                return false;
            if (count > 0)
                print_row(&steps->groups[i], steps_metric_names[metric], values, count, out);
            free(values);
        }
    return true;
}

static void print_plane(const char *name, const struct steps_plane *plane, struct text *out)
{
    text_format(out, "  %-5s = %.6g x GPUs %c %.6g x batch %c %.6g", name, plane->per_gpu,
                plane->per_batch < 0 ? '-' : '+', fabs(plane->per_batch), plane->constant < 0 ? '-' : '+',
                fabs(plane->constant));
    if (isnan(plane->r2))
        text_add(out, "; R2 -");
    else
        text_format(out, "; R2 %.4f", plane->r2);
    if (isfinite(plane->mean_error))
        text_format(out, ", off by %.1f %% on average, %.1f %% at most", 100 * plane->mean_error,
                    100 * plane->max_error);
    text_add(out, plane->unique ? "\n" : "; not unique: the configurations lie on a line\n");
}

static void print_model(const struct steps *steps, const struct steps_model *model, struct text *out)
{
    if (model->count == 0)
        return;
    text_add(out, "\ncompute time within p1 to p99, normal (seconds)\n"
                  "GPUs    batch     count          mu       sigma\n");
    for (size_t i = 0; i < steps->group_count; i++)
        if (model->normals[i].count > 0)
            text_format(out, "%4" PRId64 " %8" PRId64 "  %8zu %11.5g %11.5g\n", steps->groups[i].gpus,
                        steps->groups[i].batch, model->normals[i].count, model->normals[i].mean,
                        model->normals[i].sigma);
    if (model->mean.known) {
        print_plane("mu", &model->mean, out);
        print_plane("sigma", &model->sigma, out);
    }
}

static bool has_barrier(const struct steps *steps)
{
    for (size_t i = 0; i < steps->group_count; i++)
        if (steps->groups[i].events[STEPS_BARRIER].count > 0)
            return true;
    return false;
}

static void print_head(const struct steps *steps, struct text *out)
{
    text_format(out, "%s: %zu configuration%s from %d file%s (%s), %zu durations\n",
                *steps->workload ? steps->workload : "steps", steps->group_count,
                plural((int64_t)steps->group_count), steps->files, plural(steps->files),
                steps_source_name(steps->source), steps->value_count);
    if (steps->first_steps + steps->skipped + steps->zeros > 0)
        text_format(out,
                    "dropped: %" PRId64 " of first steps, %" PRId64 " of skipped epochs, %" PRId64
                    " of length 0\n",
                    steps->first_steps, steps->skipped, steps->zeros);
    if (steps->other_ranks > 0)
        text_format(out, "skipped: %" PRId64 " line%s of ranks other than 0\n", steps->other_ranks,
                    plural(steps->other_ranks));
    if (steps->source == STEPS_DLIO_OUTPUT && !has_barrier(steps))
        text_add(out, "steps end before the barrier, which R_output.json does not record\n");
    if (steps->malformed > 0)
        text_format(out, "malformed: %" PRId64 " line%s\n", steps->malformed, plural(steps->malformed));
    import_places_print(&steps->places, "  ", out);
}

bool steps_print(const struct steps *steps, const struct steps_model *model, struct text *out,
                 struct error *err)
{
    print_head(steps, out);
    print_events(steps, out);
    if (!print_rates(steps, out, err))
        return false;
    print_model(steps, model, out);
    return true;
}
