#include "cli/validate/report.h"

#include "core/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GROUPS 256

/* ---- groups of runs ---- */

/* Runs of one source on one device, or those on devices of one generation. */
struct group {
    const char *source, *gpu;
    const char *generation; /* NULL: of one source */
};

static bool in_group(const struct run *run, const void *context)
{
    const struct group *group = context;
    return group->generation ? strcmp(run->job.device->generation, group->generation) == 0
                             : strcmp(run->source, group->source) == 0 && strcmp(run->gpu, group->gpu) == 0;
}

static int list_sources(const struct validation *validation, struct group *groups)
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
            groups[count++] = (struct group){.source = run->source, .gpu = run->gpu};
    }
    return count;
}

/* In the order in which generations were released; runs on others count only in the sum. */
static int list_generations(const struct validation *validation, struct group *groups)
{
    static const char *const names[] = {"volta", "turing", "ampere", "ada", "hopper",  "blackwell",
                                        "cdna2", "cdna3",  "cdna4",  "tpu", "trainium"};
    int count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        groups[count] = (struct group){"all sources", names[i], names[i]};
        count += validation_score(validation, in_group, &groups[count]).rows > 0;
    }
    return count;
}

/* ---- intervals ---- */

/* From the known runs, except those with equal features: a run is not judged by itself. */
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

static void print_score(const struct group *group, const struct error_score *score, bool wide,
                        struct text *out)
{
    int source = wide ? 34 : 31, gpu = wide ? 44 : 25;
    text_format(out, "%-*.*s %-*.*s %5d %6.1f %% %6.1f %% %6.1f %% %+6.1f %%\n", source, source,
                group->source, gpu, gpu, group->gpu, score->rows, 100 * score->mean, 100 * score->median,
                100 * score->p90, 100 * score->bias);
}

static void print_groups(const struct validate_report *report, const struct group *groups, int count,
                         struct text *out)
{
    for (int i = 0; i < count; i++) {
        struct error_score score = validation_score(&report->validation, in_group, &groups[i]);
        print_score(&groups[i], &score, report->wide, out);
    }
}

static void print_scores(const struct validate_report *report, const struct error_score *all,
                         struct text *out)
{
    const struct validation *validation = &report->validation;
    struct group groups[MAX_GROUPS];
    text_format(out, "\n%-*s %-*s %5s %8s %8s %8s %8s\n", report->wide ? 34 : 31, "source",
                report->wide ? 44 : 25, "gpu", "runs", "mean", "median", "p90", "bias");
    print_groups(report, groups, list_sources(validation, groups), out);
    text_add(out, "\n");
    print_groups(report, groups, list_generations(validation, groups), out);
    print_score(&(struct group){"all sources", "all", NULL}, all, report->wide, out);
    text_format(out,
                "\n80 %% intervals from known runs that are not equal: %.1f %% of the runs lie inside; %d "
                "extrapolate\n",
                100.0 * report->covered / all->rows, report->extrapolated);
}

static void print_memory(const struct validation *validation, struct text *out)
{
    struct memory_score score = validation_memory(validation);
    const struct error_score *errors = &score.errors;
    if (errors->rows > 0)
        text_format(
            out, "\nmemory, %d runs: mean error %.1f %%, median %.1f %%, p90 %.1f %%, bias %+.1f %%\n",
            errors->rows, 100 * errors->mean, 100 * errors->median, 100 * errors->p90, 100 * errors->bias);
    if (score.ran > 0)
        text_format(out, "%d of %d runs that ran with known settings are predicted to run out of memory\n",
                    score.wrongly_refused, score.ran);
    if (score.open > 0)
        text_format(out, "%d of %d runs that ran and leave settings open fit with no value of these\n",
                    score.open_refused, score.open);
    if (score.ran_out > 0)
        text_format(out, "%d of %d runs that ran out of memory are predicted to\n", score.caught,
                    score.ran_out);
}

static const char *fits(const struct run *run)
{
    if (!run->fits)
        return run->fits_open ? "open" : "no";
    return run->predicted_memory.total > (double)run->job.device->memory ? "near" : "yes";
}

/* The degrees and batches are printed only in a wide table. */
static void print_rows(const struct validate_report *report, struct text *out)
{
    int gpu = report->wide ? 22 : 12, model = report->wide ? 24 : 16;
    text_format(out, "\n%-8s %-*s %-*s %6s", "run", gpu, "gpu", model, "model", "gpus");
    if (report->wide)
        text_format(out, " %3s %3s %4s %3s %5s", "tp", "pp", "dp", "mbs", "gbs");
    text_format(out, " %6s %4s %9s %9s %8s  %s\n", "GiB", "fits", "measured", "predicted", "error",
                "80 % interval");
    for (int i = 0; i < report->validation.count; i++) {
        const struct run *run = &report->validation.runs[i];
        const struct job *job = &run->job;
        const struct interval *interval = &report->intervals[i];
        char measured[32] = "-", error[32] = "-";
        if (run->reason)
            continue;
        if (run->seconds > 0.0) {
            snprintf(measured, sizeof measured, "%.4g", run->seconds);
            snprintf(error, sizeof error, "%+.1f %%", 100 * run->error);
        }
        text_format(out, "%-8s %-*.*s %-*.*s %6d", run->id, gpu, gpu, run->gpu, model, model, run->model_name,
                    job->devices);
        if (report->wide)
            text_format(out, " %3d %3d %4d %3" PRId64 " %5" PRId64, job->tensor, job->pipeline, job->data,
                        job->microbatch, job->batch);
        text_format(out, " %6.1f %4s %9s %9.4g %8s  %.4g-%.4g%s\n", run->predicted_memory.total / 0x1p30,
                    fits(run), measured, run->predicted.seconds, error, interval->low, interval->high,
                    interval->extrapolates ? " *" : "");
    }
    text_add(out,
             "times are seconds of an iteration; near: fits within the estimate's error; open: fits with "
             "another value of what the table leaves open; *: extrapolated\n");
}

static void print_reasons(const struct validation *validation, struct text *out)
{
    const char *head = "\nnot scored:\n";
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        const char *reason = run->reason ? run->reason
                             : !run->scored && run->seconds > 0.0
                                 ? "its seconds were not measured (sec_basis)"
                                 : NULL;
        if (!reason)
            continue;
        text_format(out, "%s  line %d%s%s (%s): %s\n", head, run->line, *run->id ? ", " : "", run->id,
                    run->model_name, reason);
        head = "";
    }
}

/* ---- the best plans ---- */

static void print_best_row(const struct run *run, const struct better *better, bool wide, struct text *out)
{
    text_format(out, "%-8s %-16.16s %6d %9.4g %9.4g %+7.1f %%  %s", run->id, run->model_name,
                run->job.devices, better->seconds, better->plan.time.seconds, 100.0 * better->gain,
                *better->changes ? better->changes : "none");
    if (wide && better->part)
        text_format(out, "; %.3g s less %s", better->saved, better->part);
    text_add(out, better->used_fits ? "\n" : " *\n");
}

static void print_best(const struct validate_report *report, struct text *out)
{
    const struct validation *validation = &report->validation;
    int count = 0, same = 0, slower = 0, over = 0, none = 0;
    double *gains = validation->errors;
    if (report->rows)
        text_format(out, "\n%-8s %-16s %6s %9s %9s %9s  %s\n", "run", "model", "gpus", "published", "best",
                    "faster", report->wide ? "changes; largest saving" : "changes");
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        const struct better *better = &report->betters[i];
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
        if (report->rows)
            print_best_row(run, better, report->wide, out);
    }
    if (count == 0)
        return;
    sort_doubles(gains, count);
    text_format(out,
                "\nbest plans of %d runs on their own devices: predicted to be %.1f %% faster at the median, "
                "%.1f %% at p90\n"
                "%d plans equal the published layout, %d are predicted to be slower, for %d runs no plan "
                "fits\n"
                "%d published layouts (*) ran, but are predicted to exceed the memory: so may their plans\n",
                count, 100.0 * gains[count / 2], 100.0 * gains[count * 9 / 10], same, slower, none, over);
}

/* ---- simulated runs ---- */

static void print_simulated_rows(const struct validate_report *report, struct text *out)
{
    const struct validation *validation = &report->validation;
    text_format(out, "\n%-24s %-16s %6s %3s %9s %9s %9s %9s\n", "run", "model", "gpus", "pp", "measured",
                "formula", "simulated", "error");
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        const struct simulated *simulated = &report->simulated[i];
        if (run->reason || !run->scored)
            continue;
        text_format(out, "%-24.24s %-16.16s %6d %3d %9.4g %9.4g ", run->id, run->model_name, run->job.devices,
                    run->job.pipeline, run->seconds, run->predicted.seconds);
        if (simulated->reason)
            text_format(out, "%s\n", simulated->reason);
        else
            text_format(out, "%9.4g %+7.1f %%\n", simulated->seconds, 100.0 * simulated->error);
    }
}

static void print_simulated(const struct validate_report *report, struct text *out)
{
    if (report->rows)
        print_simulated_rows(report, out);
    text_format(out, "\n%-16s %6s %18s %18s %18s\n%-16s %6s %9s%9s %9s%9s %9s%9s\n", "simulated runs", "",
                "median error", "p90", "bias", "", "runs", "formula", "played", "formula", "played",
                "formula", "played");
    for (const struct simulated_group *group = simulated_groups; group->name; group++) {
        struct simulated_score score =
            simulated_score(report->simulated, &report->validation, group->matches);
        const struct error_score *formula = &score.formula, *played = &score.simulation;
        if (formula->rows > 0)
            text_format(out, "%-16s %6d %7.1f %%%7.1f %% %7.1f %%%7.1f %% %+7.1f %%%+7.1f %%\n", group->name,
                        formula->rows, 100.0 * formula->median, 100.0 * played->median, 100.0 * formula->p90,
                        100.0 * played->p90, 100.0 * formula->bias, 100.0 * played->bias);
    }
}

void validate_print(const struct validate_report *report, struct text *out)
{
    const struct validation *validation = &report->validation;
    struct error_score all = validation_score(validation, NULL, NULL);
    text_format(out, "%d runs in the table, %d modelled and scored\n", validation->count, all.rows);
    if (all.rows > 0)
        print_scores(report, &all, out);
    print_memory(validation, out);
    if (report->rows) {
        print_rows(report, out);
        print_reasons(validation, out);
    }
    if (report->betters)
        print_best(report, out);
    if (report->simulated)
        print_simulated(report, out);
    if (report->ranking)
        validate_print_ranking(report, out);
}

/* ---- for programs ---- */

static void write_best(const struct better *better, struct json *json)
{
    const struct job_choice *plan = &better->plan;
    if (!better->found)
        return;
    json_open_flat(json, "best", '{');
    json_number(json, "iteration_time", plan->time.seconds);
    json_number(json, "gain", better->gain);
    json_integer(json, "devices", plan->job.devices);
    for (int d = 0; d < JOB_RECOMPUTE; d++)
        json_integer(json, job_dimension_name((enum job_dimension)d),
                     job_dimension_value(&plan->job, (enum job_dimension)d));
    json_string(json, "recompute", recompute_name(plan->job.recompute));
    json_number(json, "memory", plan->memory.total);
    json_bool(json, "used_fits", better->used_fits);
    json_close(json);
}

static const struct field run_fields[] = {
    FIELD_OUT(struct run, "id", id, FIELD_TEXT),
    FIELD_OUT(struct run, "line", line, FIELD_INT),
    FIELD_OUT(struct run, "source", source, FIELD_TEXT),
    FIELD_OUT(struct run, "gpu", gpu, FIELD_TEXT),
    FIELD_OUT(struct run, "model", model_name, FIELD_TEXT),
};

static void write_row(const struct validate_report *report, int index, struct json *json)
{
    const struct run *run = &report->validation.runs[index];
    json_open_flat(json, NULL, '{');
    fields_write(run, run_fields, sizeof run_fields / sizeof *run_fields, json);
    json_bool(json, "scored", !run->reason && run->scored);
    if (run->reason) {
        json_string(json, "reason", run->reason);
    } else {
        if (run->seconds > 0.0) {
            json_number(json, "measured", run->seconds);
            json_number(json, "error", run->error);
        }
        json_number(json, "predicted", run->predicted.seconds);
        interval_write(&report->intervals[index], json);
        fields_write(&run->predicted, job_time_parts, JOB_TIME_PARTS, json);
        json_number(json, "memory", run->predicted_memory.total);
        json_bool(json, "fits", run->fits_open);
        if (run->memory > 0.0)
            json_number(json, "measured_memory", run->memory);
        if (report->betters)
            write_best(&report->betters[index], json);
        if (report->simulated && !report->simulated[index].reason)
            json_number(json, "simulated", report->simulated[index].seconds);
    }
    json_close(json);
}

static void write_groups(const struct validation *validation, const char *key, const struct group *groups,
                         int count, struct json *json)
{
    json_open(json, key, '[');
    for (int i = 0; i < count; i++) {
        const struct group *group = &groups[i];
        struct error_score score = validation_score(validation, in_group, group);
        json_open_flat(json, NULL, '{');
        json_string(json, group->generation ? "generation" : "source",
                    group->generation ? group->generation : group->source);
        if (!group->generation)
            json_string(json, "gpu", group->gpu);
        json_integer(json, "modelled", score.rows);
        error_score_write(&score, json);
        json_close(json);
    }
    json_close(json);
}

static void write_simulated(const struct validate_report *report, struct json *json)
{
    json_open(json, "simulated", '[');
    for (const struct simulated_group *group = simulated_groups; group->name; group++) {
        struct simulated_score score =
            simulated_score(report->simulated, &report->validation, group->matches);
        json_open_flat(json, NULL, '{');
        json_string(json, "runs", group->name);
        json_integer(json, "modelled", score.formula.rows);
        json_open_flat(json, "formula", '{');
        error_score_write(&score.formula, json);
        json_close(json);
        json_open_flat(json, "simulation", '{');
        error_score_write(&score.simulation, json);
        json_close(json);
        json_close(json);
    }
    json_close(json);
}

static void write_memory(const struct validation *validation, struct json *json)
{
    struct memory_score memory = validation_memory(validation);
    json_open_flat(json, "memory", '{');
    json_integer(json, "modelled", memory.errors.rows);
    error_score_write(&memory.errors, json);
    json_integer(json, "ran", memory.ran);
    json_integer(json, "wrongly_refused", memory.wrongly_refused);
    json_integer(json, "ran_out", memory.ran_out);
    json_integer(json, "caught", memory.caught);
    json_close(json);
}

void validate_write(const struct validate_report *report, struct text *out)
{
    struct json json = {.out = out};
    const struct validation *validation = &report->validation;
    struct error_score all = validation_score(validation, NULL, NULL);
    struct group groups[MAX_GROUPS];
    json_open_document(&json, "rehearse-validation/1");
    json_integer(&json, "rows", validation->count);
    json_integer(&json, "modelled", all.rows);
    error_score_write(&all, &json);
    json_number(&json, "covered", all.rows > 0 ? (double)report->covered / all.rows : 0.0);
    write_memory(validation, &json);
    write_groups(validation, "sources", groups, list_sources(validation, groups), &json);
    write_groups(validation, "generations", groups, list_generations(validation, groups), &json);
    if (report->simulated)
        write_simulated(report, &json);
    if (report->ranking)
        validate_write_ranking(report, &json);
    json_open(&json, "results", '[');
    for (int i = 0; i < validation->count; i++)
        write_row(report, i, &json);
    json_close(&json);
    json_close(&json);
}

/* ---- sources ---- */

void validate_name_sources(const struct validation *validation, struct text *out)
{
    struct group groups[MAX_GROUPS];
    int count = list_sources(validation, groups);
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
