#include "trace/steps/report.h"

#include "core/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- JSON ---- */

static const struct field of_summary[] = {
    FIELD_OUT(struct steps_summary, "count", count, FIELD_INT64),
    FIELD_OUT(struct steps_summary, "mean", mean, FIELD_DOUBLE),
    FIELD_OUT(struct steps_summary, "stdev", stdev, FIELD_DOUBLE),
    FIELD_OUT(struct steps_summary, "least", min, FIELD_DOUBLE),
    FIELD_OUT(struct steps_summary, "q1", q1, FIELD_DOUBLE),
    FIELD_OUT(struct steps_summary, "median", median, FIELD_DOUBLE),
    FIELD_OUT(struct steps_summary, "q3", q3, FIELD_DOUBLE),
    FIELD_OUT(struct steps_summary, "most", max, FIELD_DOUBLE),
};

static const struct field of_normal[] = {
    FIELD_OUT(struct steps_normal, "p1", low, FIELD_DOUBLE),
    FIELD_OUT(struct steps_normal, "p99", high, FIELD_DOUBLE),
    FIELD_OUT(struct steps_normal, "count", count, FIELD_INT64),
    FIELD_OUT(struct steps_normal, "mu", mean, FIELD_DOUBLE),
    FIELD_OUT(struct steps_normal, "sigma", sigma, FIELD_DOUBLE),
};

static const struct field of_plane[] = {
    FIELD_OUT(struct steps_plane, "per_gpu", per_gpu, FIELD_DOUBLE),
    FIELD_OUT(struct steps_plane, "per_batch", per_batch, FIELD_DOUBLE),
    FIELD_OUT(struct steps_plane, "constant", constant, FIELD_DOUBLE),
    FIELD_OUT(struct steps_plane, "r2", r2, FIELD_DOUBLE),
    FIELD_OUT(struct steps_plane, "unique", unique, FIELD_FLAG),
    FIELD_OUT(struct steps_plane, "mean_error", mean_error, FIELD_DOUBLE),
    FIELD_OUT(struct steps_plane, "most_error", max_error, FIELD_DOUBLE),
};

static const struct field of_steps[] = {
    FIELD_OUT(struct steps, "workload", workload, FIELD_KNOWN_CHARS),
    FIELD_WORDS(struct steps, "source", source, steps_source_words),
    FIELD_OUT(struct steps, "as_study", as_study, FIELD_FLAG),
    FIELD_OUT(struct steps, "files", files, FIELD_INT),
    FIELD_OPEN("left_out", FIELD_FLAT_MAP),
    FIELD_OUT(struct steps, "first_steps", first_steps, FIELD_INT64),
    FIELD_OUT(struct steps, "skipped_epochs", skipped, FIELD_INT64),
    FIELD_OUT(struct steps, "zeros", zeros, FIELD_INT64),
    FIELD_OUT(struct steps, "lines_of_other_ranks", other_ranks, FIELD_INT64),
    FIELD_CLOSE,
    FIELD_OUT(struct steps, "malformed", malformed, FIELD_INT64),
};

static const struct field of_group[] = {
    FIELD_OUT(struct steps_group, "gpus", gpus, FIELD_INT64),
    FIELD_OUT(struct steps_group, "batch", batch, FIELD_INT64),
    FIELD_OUT(struct steps_group, "files", files, FIELD_INT),
};

static void write_summary(struct json *json, const char *name, const double *sorted, size_t count)
{
    struct steps_summary summary;
    steps_summarise(sorted, count, &summary);
    FIELDS_MAP(&summary, of_summary, json, name);
}

static bool write_group(struct json *json, const struct steps *steps, const struct steps_group *group,
                        const struct steps_normal *normal, struct error *err)
{
    json_open(json, NULL, '{');
    FIELDS_WRITE(group, of_group, json);
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
    if (normal->count > 0)
        FIELDS_MAP(normal, of_normal, json, "compute_fit");
    else
        json_null(json, "compute_fit");
    json_close(json);
    return true;
}

bool steps_write_json(const struct steps *steps, const struct steps_model *model, struct json *json,
                      struct error *err)
{
    json_open_document(json, "rehearse-steps/1");
    FIELDS_WRITE(steps, of_steps, json);
    import_places_write_json(&steps->places, "malformed_places", json);
    json_open(json, "configurations", '[');
    for (size_t i = 0; i < steps->group_count; i++)
        if (!write_group(json, steps, &steps->groups[i], &model->normals[i], err))
            return false;
    json_close(json);
    if (model->mean.known) {
        json_open(json, "compute_model", '{');
        FIELDS_MAP(&model->mean, of_plane, json, "mu");
        FIELDS_MAP(&model->sigma, of_plane, json, "sigma");
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
                steps_source_words[steps->source], steps->value_count);
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
