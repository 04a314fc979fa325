#include "api/validate/report.h"
#include "core/stop.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- known runs ---- */

/* ---- for people ---- */

static bool is_mixed(const struct run *run)
{
    return run->mixed;
}

static bool is_undated(const struct run *run)
{
    return run->undated;
}

/* Says of how many modelled runs something holds, with the names of their software. */
static void say_software(const struct validation *validation, bool (*holds)(const struct run *),
                         const char *what, struct text *out)
{
    const char *names[4];
    int runs = 0, count = 0;
    bool more = false;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (run->reason || !holds(run))
            continue;
        runs++;
        int at = 0;
        while (at < count && strcmp(names[at], run->framework) != 0)
            at++;
        if (at == count && count < 4)
            names[count++] = run->framework;
        else
            more |= at == count;
    }
    if (runs == 0)
        return;
    text_format(out, "\n%d run%s %s: ", runs, runs == 1 ? "" : "s", what);
    for (int k = 0; k < count; k++)
        text_format(out, "%s'%s'", k > 0 ? ", " : "", names[k]);
    text_add(out, more ? " and more\n" : "\n");
}

static void print_software(const struct validation *validation, struct text *out)
{
    say_software(validation, is_undated, "without version or date, priced as the newest generation", out);
    say_software(validation, is_mixed,
                 "of unknown software, priced as the median of five families, with an interval over all",
                 out);
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
        text_format(out,
                    "%d of %d runs that ran with unknown settings fit with none of their possible values\n",
                    score.open_refused, score.open);
    if (score.ran_out > 0)
        text_format(out, "%d of %d runs that ran out of memory are predicted to run out\n", score.caught,
                    score.ran_out);
}

static const char *fits(const struct run *run)
{
    return run->fits ? "yes" : run->fits_open ? "open" : "no";
}

/* The degrees and batches are printed only in a wide table. */
static void print_rows(const struct validate_report *report, struct text *out)
{
    int gpu = report->wide ? 22 : 12, model = report->wide ? 24 : 16;
    text_format(out, "\n%-8s %-*s %-*s %6s", "run", gpu, "gpu", model, "model", "gpus");
    if (report->wide)
        text_format(out, " %3s %3s %4s %3s %5s", "tp", "pp", "dp", "mbs", "gbs");
    text_format(out, " %6s %4s %9s %9s %8s  %s\n", "GiB", "fits", "measured", "predicted", "error",
                report->wide ? "80 % interval (as like known runs, as unlike them)" : "80 % interval");
    for (int i = 0; i < report->validation.count && !stop_wanted_at((size_t)i); i++) {
        const struct run *run = &report->validation.runs[i];
        const struct job *job = &run->job;
        const struct plan_interval *interval = &report->judged[i].interval;
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
            text_format(out, " %3d %3d %4d %3" PRId64 " %5" PRId64, job->degrees.tensor,
                        job->degrees.pipeline, job->degrees.data, job->microbatch, job->batch);
        text_format(out, " %6.1f %4s %9s %9.4g %8s  %.4g-%.4g", run->predicted_memory.total / 0x1p30,
                    fits(run), measured, run->expected, error, interval->low, interval->high);
        if (report->wide)
            text_format(out, " (%.4g-%.4g, %.4g-%.4g)", interval->like_low, interval->like_high,
                        interval->unlike_low, interval->unlike_high);
        text_add(out, interval->extrapolates ? " *\n" : "\n");
    }
    text_add(out,
             "times are seconds of an iteration; open: fits with another value of a setting that the table "
             "does not give; *: extrapolated\n");
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

/* ---- the worst rows ---- */

static int by_error(const void *a, const void *b)
{
    const struct run *x = *(const struct run *const *)a, *y = *(const struct run *const *)b;
    double left = fabs(x->error), right = fabs(y->error);
    return left != right ? (left < right) - (left > right) : (x->line > y->line) - (x->line < y->line);
}

static bool print_worst(const struct validate_report *report, struct text *out, struct error *err)
{
    const struct validation *validation = &report->validation;
    const struct run **runs = calloc((size_t)validation->count + 1, sizeof *runs);
    int count = 0;
    if (!runs)
        return error_memory(err);
    for (int i = 0; i < validation->count; i++)
        if (!validation->runs[i].reason && validation->runs[i].scored)
            runs[count++] = &validation->runs[i];
    qsort(runs, (size_t)count, sizeof *runs, by_error);
    text_format(out, "\n%-8s %-22s %-22s %-16s %6s %9s %9s %9s\n", "worst", "software", "model", "gpu",
                "gpus", "measured", "predicted", "error");
    for (int i = 0; i < count && i < report->worst; i++) {
        const struct run *run = runs[i];
        text_format(out, "%-8s %-22.22s %-22.22s %-16.16s %6d %9.4g %9.4g %+7.1f %%\n", run->id,
                    run->framework, run->model_name, run->gpu, run->job.devices, run->seconds, run->expected,
                    100 * run->error);
    }
    free(runs);
    return true;
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

static bool has_gain(const struct validate_report *report, int index)
{
    const struct run *run = &report->validation.runs[index];
    return !run->reason && run->scored && report->betters[index].found;
}

static bool from_same_source(const struct run *a, const struct run *b)
{
    return strcmp(a->source, b->source) == 0 && strcmp(a->gpu, b->gpu) == 0;
}

static bool has_sources(const struct validate_report *report)
{
    const struct validation *validation = &report->validation;
    const struct run *first = NULL;
    for (int i = 0; i < validation->count; i++) {
        if (!has_gain(report, i))
            continue;
        if (first && !from_same_source(&validation->runs[i], first))
            return true;
        first = &validation->runs[i];
    }
    return false;
}

/* By source and device, in the order of the table. */
static void print_gains(const struct validate_report *report, struct text *out)
{
    const struct validation *validation = &report->validation;
    double *gains = validation->errors;
    text_format(out, "\n%-31s %-22s %4s %9s %9s\n", "source", "gpu", "runs", "faster", "p90");
    for (int i = 0; i < validation->count && !stop_wanted_at((size_t)i); i++) {
        const struct run *first = &validation->runs[i];
        int count = 0, before = 0;
        while (before < i &&
               !(has_gain(report, before) && from_same_source(&validation->runs[before], first)))
            before++;
        if (before < i || !has_gain(report, i))
            continue;
        for (int j = i; j < validation->count; j++)
            if (has_gain(report, j) && from_same_source(&validation->runs[j], first))
                gains[count++] = report->betters[j].gain;
        sort_doubles(gains, count);
        text_format(out, "%-31.31s %-22.22s %4d %7.1f %% %7.1f %%\n", first->source, first->gpu, count,
                    100.0 * quantile_of(gains, count, 0.5), 100.0 * quantile_of(gains, count, 0.9));
    }
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
    text_format(
        out,
        "\nbest plans of %d runs on their own devices: predicted to be %.1f %% faster at the median, %.1f %% "
        "at p90\n%d plans equal the published layout, %d are predicted to be slower, for %d runs no plan "
        "fits\n%d published layouts (*) ran, but are predicted to exceed the memory, as their plans may\n",
        count, 100.0 * quantile_of(gains, count, 0.5), 100.0 * quantile_of(gains, count, 0.9), same, slower,
        none, over);
    if (has_sources(report))
        print_gains(report, out);
}

/* ---- simulated runs ---- */

static void print_simulated_rows(const struct validate_report *report, struct text *out)
{
    const struct validation *validation = &report->validation;
    text_format(out, "\n%-24s %-16s %6s %3s %9s %9s %9s %9s\n", "run", "model", "gpus", "pp", "measured",
                "formula", "simulated", "error");
    for (int i = 0; i < validation->count && !stop_wanted_at((size_t)i); i++) {
        const struct run *run = &validation->runs[i];
        const struct simulated *simulated = &report->simulated[i];
        if (run->reason || !run->scored)
            continue;
        text_format(out, "%-24.24s %-16.16s %6d %3d %9.4g %9.4g ", run->id, run->model_name, run->job.devices,
                    run->job.degrees.pipeline, run->seconds, run->predicted.seconds);
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

bool validate_print(const struct validate_report *report, struct text *out, struct error *err)
{
    const struct validation *validation = &report->validation;
    struct error_score all = validation_score(validation, NULL, NULL);
    text_format(out, "%d runs in the table, %d modelled and scored\n", validation->count, all.rows);
    if (all.rows > 0)
        validate_print_scores(report, out);
    print_memory(validation, out);
    print_software(validation, out);
    if (report->rows) {
        print_rows(report, out);
        print_reasons(validation, out);
    }
    if (report->betters)
        print_best(report, out);
    if (report->simulated)
        print_simulated(report, out);
    if (report->ranked)
        validate_print_ranking(report, out);
    if (report->left_out)
        validate_print_left_out(report, out);
    return report->worst == 0 || print_worst(report, out, err);
}
