#include "cli/validate/report.h"

#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GROUPS 256

/* ---- which runs ---- */

/* Runs of one source on one device. */
struct group {
    const char *source, *gpu;
};

static bool in_group(const struct run *run, const void *context)
{
    const struct group *group = context;
    return strcmp(run->source, group->source) == 0 && strcmp(run->gpu, group->gpu) == 0;
}

/* Of device tables, in the order they came; others count under `all` alone. */
static const char *const generations[] = {"volta",  "turing",    "ampere", "ada",
                                          "hopper", "blackwell", "cdna2",  "cdna3"};
#define GENERATIONS ((int)(sizeof generations / sizeof *generations))

static bool in_generation(const struct run *run, const void *context)
{
    return strcmp(run->job.device->generation, context) == 0;
}

static int list_groups(const struct validation *validation, struct group *groups)
{
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (run->reason || !run->scored)
            continue;
        int at = 0;
        while (at < count && !in_group(run, &groups[at]))
            at++;
        if (at == count && count < MAX_GROUPS)
            groups[count++] = (struct group){run->source, run->gpu};
    }
    return count;
}

/* ---- intervals ---- */

/* From the known runs, but for those that are alike in everything: a run is not judged by itself. */
bool validate_find_intervals(struct validate_report *report, struct error *err)
{
    struct validation *validation = &report->validation;
    const struct residuals *known = residuals_known(err);
    if (!known)
        return false;
    report->intervals = calloc((size_t)validation->count + 1, sizeof *report->intervals);
    if (!report->intervals)
        return error_memory(err);
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (run->reason)
            continue;
        struct likeness likeness = likeness_of(&run->job);
        struct interval *interval = &report->intervals[i];
        *interval = interval_of(known, &likeness, run->predicted.seconds, true);
        if (!run->scored)
            continue;
        report->covered += run->seconds >= interval->low && run->seconds <= interval->high;
        report->extrapolated += interval->extrapolates;
    }
    return true;
}

/* ---- for people ---- */

static void print_score(const char *name, const char *gpu, const struct validation_score *score,
                        struct text *out)
{
    text_format(out, "%-34s %-24s %5d %7.1f %% %7.1f %% %7.1f %% %+7.1f %%\n", name, gpu, score->runs,
                100 * score->mean, 100 * score->median, 100 * score->p90, 100 * score->bias);
}

static const char *fits(const struct run *run)
{
    if (!run->fits)
        return ", does not fit";
    return run->predicted_memory.total > (double)run->job.device->memory
               ? ", fits within the estimate's error"
               : "";
}

static void print_rows(const struct validate_report *report, struct text *out)
{
    text_format(out, "\n%-8s %-22s %-24s %6s %3s %3s %4s %3s %5s %10s %11s %11s %8s  %s\n", "run", "gpu",
                "model", "gpus", "tp", "pp", "dp", "mbs", "gbs", "memory GiB", "measured s", "predicted s",
                "error", "80 % interval");
    for (int i = 0; i < report->validation.count; i++) {
        const struct run *run = &report->validation.runs[i];
        const struct job *job = &run->job;
        char measured[32] = "-", error[32] = "-";
        if (run->reason)
            continue;
        if (run->seconds > 0.0) {
            snprintf(measured, sizeof measured, "%.4g", run->seconds);
            snprintf(error, sizeof error, "%+.1f %%", 100 * run->error);
        }
        text_format(out,
                    "%-8s %-22.22s %-24.24s %6d %3d %3d %4d %3" PRId64 " %5" PRId64
                    " %10.1f %11s %11.4g %8s  %.4g to %.4g%s%s\n",
                    run->id, run->gpu, run->model_name, job->devices, job->tensor, job->pipeline, job->data,
                    job->microbatch, job->batch, run->predicted_memory.total / 0x1p30, measured,
                    run->predicted.seconds, error, report->intervals[i].low, report->intervals[i].high,
                    report->intervals[i].extrapolates ? ", extrapolates" : "", fits(run));
    }
}

static void print_reasons(const struct validation *validation, struct text *out)
{
    bool first = true;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        const char *reason = run->reason ? run->reason
                             : !run->scored && run->seconds > 0.0
                                 ? "its seconds were not measured (sec_basis)"
                                 : NULL;
        if (!reason)
            continue;
        if (first)
            text_add(out, "\nnot scored:\n");
        first = false;
        text_format(out, "  line %d%s%s (%s): %s\n", run->line, *run->id ? ", " : "", run->id,
                    run->model_name, reason);
    }
}

static void print_memory(const struct validation *validation, struct text *out)
{
    struct memory_score score = validation_memory(validation);
    if (score.runs > 0)
        text_format(out,
                    "\nmemory, %d runs: mean error %.1f %%, median %.1f %%, p90 %.1f %%, bias %+.1f %%\n",
                    score.runs, 100 * score.mean, 100 * score.median, 100 * score.p90, 100 * score.bias);
    if (score.ran > 0)
        text_format(out, "%d of %d runs that ran and say how are predicted to run out of memory\n",
                    score.wrongly_refused, score.ran);
    if (score.ran_out > 0)
        text_format(out, "%d of %d runs that ran out of memory are predicted to\n", score.caught,
                    score.ran_out);
}

static void print_scores(const struct validate_report *report, const struct validation_score *all,
                         struct text *out)
{
    const struct validation *validation = &report->validation;
    struct group groups[MAX_GROUPS];
    int group_count = list_groups(validation, groups);
    text_format(out, "\n%-34s %-24s %5s %9s %9s %9s %9s\n", "source", "gpu", "runs", "mean", "median", "p90",
                "bias");
    for (int i = 0; i < group_count; i++) {
        struct validation_score score = validation_score(validation, in_group, &groups[i]);
        print_score(groups[i].source, groups[i].gpu, &score, out);
    }
    text_add(out, "\n");
    for (int i = 0; i < GENERATIONS; i++) {
        struct validation_score score = validation_score(validation, in_generation, generations[i]);
        if (score.runs > 0)
            print_score("all sources", generations[i], &score, out);
    }
    print_score("all sources", "all", all, out);
    text_format(
        out,
        "\n80 %% intervals, from known runs that are not the same: %.1f %% of the runs lie inside; %d "
        "extrapolate\n",
        100.0 * report->covered / all->runs, report->extrapolated);
}

void validate_print(const struct validate_report *report, struct text *out)
{
    const struct validation *validation = &report->validation;
    struct validation_score all = validation_score(validation, NULL, NULL);
    text_format(out, "%d runs in the table, %d modelled and scored\n", validation->count, all.runs);
    if (all.runs > 0)
        print_scores(report, &all, out);
    print_memory(validation, out);
    if (report->rows) {
        print_rows(report, out);
        print_reasons(validation, out);
    }
    if (report->betters)
        validate_best_print(validation, report->betters, report->rows, out);
}

/* ---- for programs ---- */

static void write_row(const struct validate_report *report, int index, struct json *json)
{
    const struct run *run = &report->validation.runs[index];
    json_open_flat(json, NULL, '{');
    json_string(json, "id", run->id);
    json_integer(json, "line", run->line);
    json_string(json, "source", run->source);
    json_string(json, "gpu", run->gpu);
    json_string(json, "model", run->model_name);
    json_bool(json, "scored", !run->reason && run->scored);
    if (run->reason) {
        json_string(json, "reason", run->reason);
    } else {
        if (run->seconds > 0.0) {
            json_number(json, "measured", run->seconds);
            json_number(json, "error", run->error);
        }
        json_number(json, "predicted", run->predicted.seconds);
        json_number(json, "low", report->intervals[index].low);
        json_number(json, "high", report->intervals[index].high);
        json_bool(json, "extrapolates", report->intervals[index].extrapolates);
        json_number(json, "compute", run->predicted.compute);
        json_number(json, "bubble", run->predicted.bubble);
        json_number(json, "tensor", run->predicted.tensor);
        json_number(json, "send", run->predicted.send);
        json_number(json, "data", run->predicted.data);
        json_number(json, "optimizer", run->predicted.optimizer);
        json_number(json, "other", run->predicted.other);
        json_number(json, "memory", run->predicted_memory.total);
        json_bool(json, "fits", run->fits);
        if (run->memory > 0.0)
            json_number(json, "measured_memory", run->memory);
        if (report->betters)
            validate_best_write(&report->betters[index], json, "best");
    }
    json_close(json);
}

static void write_score(struct json *json, const struct validation_score *score)
{
    json_number(json, "mean_error", score->mean);
    json_number(json, "median_error", score->median);
    json_number(json, "p90_error", score->p90);
}

static void write_group(const char *key, const char *name, const char *gpu,
                        const struct validation_score *score, struct json *json)
{
    json_open_flat(json, NULL, '{');
    json_string(json, key, name);
    if (gpu)
        json_string(json, "gpu", gpu);
    json_integer(json, "modelled", score->runs);
    write_score(json, score);
    json_close(json);
}

static void write_sources(const struct validation *validation, struct json *json)
{
    struct group groups[MAX_GROUPS];
    int count = list_groups(validation, groups);
    json_open(json, "sources", '[');
    for (int i = 0; i < count; i++) {
        struct validation_score score = validation_score(validation, in_group, &groups[i]);
        write_group("source", groups[i].source, groups[i].gpu, &score, json);
    }
    json_close(json);
}

void validate_write(const struct validate_report *report, struct text *out)
{
    struct json json = {.out = out};
    const struct validation *validation = &report->validation;
    struct validation_score all = validation_score(validation, NULL, NULL);
    json_open_document(&json, "rehearse-validation/1");
    json_integer(&json, "rows", validation->count);
    json_integer(&json, "modelled", all.runs);
    write_score(&json, &all);
    json_number(&json, "covered", all.runs > 0 ? (double)report->covered / all.runs : 0.0);
    struct memory_score memory = validation_memory(validation);
    json_open_flat(&json, "memory", '{');
    json_integer(&json, "modelled", memory.runs);
    json_number(&json, "mean_error", memory.mean);
    json_number(&json, "median_error", memory.median);
    json_number(&json, "p90_error", memory.p90);
    json_integer(&json, "ran", memory.ran);
    json_integer(&json, "wrongly_refused", memory.wrongly_refused);
    json_integer(&json, "ran_out", memory.ran_out);
    json_integer(&json, "caught", memory.caught);
    json_close(&json);
    write_sources(validation, &json);
    json_open(&json, "generations", '[');
    for (int i = 0; i < GENERATIONS; i++) {
        struct validation_score score = validation_score(validation, in_generation, generations[i]);
        if (score.runs > 0)
            write_group("generation", generations[i], NULL, &score, &json);
    }
    json_close(&json);
    json_open(&json, "results", '[');
    for (int i = 0; i < validation->count; i++)
        write_row(report, i, &json);
    json_close(&json);
    json_close(&json);
}

/* ---- who published ---- */

/* Who published the runs: groups of a source follow each other by device, each source is named once. */
void validate_name_sources(const struct validation *validation, struct text *out)
{
    struct group groups[MAX_GROUPS];
    int count = list_groups(validation, groups);
    for (int i = 0; i < count; i++) {
        bool named = false;
        for (int before = 0; before < i; before++)
            named |= strcmp(groups[before].source, groups[i].source) == 0;
        if (!named)
            text_format(out, "%s%s", i > 0 ? ", " : "", groups[i].source);
    }
    if (count == 0 || *groups[0].source == '\0')
        text_add(out, "runs without a source");
}
