#include "cli/command.h"
#include "cli/output.h"
#include "core/file.h"
#include "core/json.h"
#include "figure/scatter.h"
#include "job/device_name.h"
#include "job/interval.h"
#include "job/runs_read.h"
#include "job/validate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_GROUPS 256

struct validate_options {
    struct option_list tables;
    const char *gpu, *software, *precision, *recompute, *across;
    int64_t devices_per_node;
    const char *devices, *links, *calibration;
    const char *figure, *residuals, *output;
    bool rows, json;
};

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
        if (at == count && count < MOST_GROUPS)
            groups[count++] = (struct group){run->source, run->gpu};
    }
    return count;
}

/* ---- intervals ---- */

static bool take_residuals(const struct validation *validation, struct residuals *residuals,
                           struct error *err)
{
    *residuals = (struct residuals){0};
    residuals->rows = ARENA_ARRAY(&residuals->arena, (size_t)validation->count + 1, struct residual);
    if (!residuals->rows)
        return error_memory(err);
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (!run->reason && run->scored)
            residuals->rows[residuals->count++] = (struct residual){
                .likeness = likeness_of(&run->job),
                .log_ratio = log(run->seconds / run->predicted.seconds),
            };
    }
    return true;
}

struct report {
    const struct validate_options *given;
    struct validation validation;
    struct interval *intervals; /* of modelled runs */
    int covered, extrapolated;  /* of scored ones */
};

/* From the known runs, but for those that are alike in everything: a run is not judged by itself. */
static bool find_intervals(struct report *report, struct error *err)
{
    struct validation *validation = &report->validation;
    const struct residuals *known = residuals_known();
    report->intervals = calloc((size_t)validation->count + 1, sizeof *report->intervals);
    if (!report->intervals || !known)
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

static void print_rows(const struct report *report, struct text *out)
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

static void print_scores(const struct report *report, const struct validation_score *all, struct text *out)
{
    const struct validation *validation = &report->validation;
    struct group groups[MOST_GROUPS];
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

static void print_report(const struct report *report, struct text *out)
{
    const struct validation *validation = &report->validation;
    struct validation_score all = validation_score(validation, NULL, NULL);
    text_format(out, "%d runs in the table, %d modelled and scored\n", validation->count, all.runs);
    if (all.runs > 0)
        print_scores(report, &all, out);
    print_memory(validation, out);
    if (report->given->rows) {
        print_rows(report, out);
        print_reasons(validation, out);
    }
}

/* ---- for programs ---- */

static void write_row(const struct report *report, int index, struct json *json)
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
    struct group groups[MOST_GROUPS];
    int count = list_groups(validation, groups);
    json_open(json, "sources", '[');
    for (int i = 0; i < count; i++) {
        struct validation_score score = validation_score(validation, in_group, &groups[i]);
        write_group("source", groups[i].source, groups[i].gpu, &score, json);
    }
    json_close(json);
}

static void write_report(const struct report *report, struct text *out)
{
    struct json json = {.out = out};
    const struct validation *validation = &report->validation;
    struct validation_score all = validation_score(validation, NULL, NULL);
    json_open(&json, NULL, '{');
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

/* ---- what runs are predicted with ---- */

static bool add_tables(const struct validate_options *given, struct error *err)
{
    return (!given->devices || cost_devices_add(given->devices, err)) &&
           (!given->links || cost_links_add(given->links, err)) &&
           (!given->calibration || calibrations_add(given->calibration, err));
}

/* ---- what is said for all runs ---- */

static bool unknown(const char *option, const char *word, const char *const *names, int count,
                    struct error *err)
{
    const char *nearest = text_nearest(word, names, (size_t)count);
    return error_set(err, ERROR_USAGE, "--%s: unknown '%s'%s%s%s", option, word,
                     nearest ? ", did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

#define MOST_NAMES 256

/* Names of the built-in tables, for messages. */
static bool unknown_device(const char *word, struct error *err)
{
    const struct cost_device_table *table = cost_devices();
    const char *names[MOST_NAMES];
    int count = 0;
    for (int i = 0; table && i < table->count && count < MOST_NAMES; i++)
        names[count++] = table->devices[i].name;
    return unknown("gpu", word, names, count, err);
}

static bool unknown_link(const char *word, struct error *err)
{
    const struct cost_link_table *table = cost_links();
    const char *names[MOST_NAMES];
    int count = 0;
    for (int i = 0; table && i < table->count && count < MOST_NAMES; i++)
        names[count++] = table->links[i].name;
    return unknown("across", word, names, count, err);
}

static bool unknown_software(const char *word, struct error *err)
{
    const char *names[MOST_NAMES];
    int count, known;
    const struct software *all = software_all(&known);
    for (count = 0; count < known && count < MOST_NAMES; count++)
        names[count] = all[count].name;
    return unknown("software", word, names, count, err);
}

/* A wrong word would be every row's reason: it is the command line's fault, not the table's. */
static bool check_defaults(const struct validate_options *given, struct error *err)
{
    static const char *const types[] = {"fp4", "fp8", "bf16", "fp16", "tf32", "fp32"};
    static const char *const recomputes[] = {"full", "selective", "none"};
    enum cost_type type;
    enum recompute recompute;
    if (given->gpu && !device_named(given->gpu))
        return unknown_device(given->gpu, err);
    if (given->across && !cost_link_find(given->across))
        return unknown_link(given->across, err);
    if (!software_find(given->software))
        return unknown_software(given->software, err);
    if (!run_type_named(given->precision, &type))
        return unknown("precision", given->precision, types, 6, err);
    return !given->recompute || run_recompute_named(given->recompute, &recompute) ||
           unknown("recompute", given->recompute, recomputes, 3, err);
}

/* ---- the command ---- */

/* Who published the runs: groups of a source follow each other by device, each source is named once. */
static void name_sources(const struct validation *validation, struct text *out)
{
    struct group groups[MOST_GROUPS];
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

static bool write_residuals(const struct report *report, struct error *err)
{
    if (!report->given->residuals)
        return true;
    struct text text = {0}, sources = {0};
    struct residuals residuals;
    if (!take_residuals(&report->validation, &residuals, err))
        return false;
    name_sources(&report->validation, &sources);
    residuals_write(&residuals, sources.failed ? "" : sources.data, &text);
    bool written = output_text(report->given->residuals, &text, err);
    residuals_release(&residuals);
    text_release(&sources);
    text_release(&text);
    return written;
}

/* After the report, which a figure that cannot be drawn does not take away. */
static bool draw(const struct report *report, struct error *err)
{
    if (!report->given->figure)
        return true;
    if (validation_score(&report->validation, NULL, NULL).runs == 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "--figure: nothing to draw: no run that could be modelled has measured seconds");
    return figure_scatter(&report->validation, report->given->figure, err);
}

static bool make_report(struct report *report, struct error *err)
{
    struct text text = {0};
    validation_predict(&report->validation, NULL);
    if (!find_intervals(report, err))
        return false;
    if (report->given->json)
        write_report(report, &text);
    else
        print_report(report, &text);
    bool done =
        output_text(report->given->output, &text, err) && write_residuals(report, err) && draw(report, err);
    text_release(&text);
    return done;
}

static bool run(void *context, struct error *err)
{
    const struct validate_options *given = context;
    struct report report = {.given = given};
    const char *table = given->tables.items[0];
    const struct validation_defaults defaults = {
        .gpu = given->gpu,
        .framework = given->software,
        .precision = given->precision,
        .recompute = given->recompute,
        .across = given->across,
        .devices_per_node = (int)given->devices_per_node,
    };
    if (!add_tables(given, err) || !check_defaults(given, err) ||
        !validation_load(&report.validation, table, &defaults, err))
        return false;
    bool done = make_report(&report, err);
    free(report.intervals);
    validation_release(&report.validation);
    return done;
}

static const struct option_spec options[] = {
    {.name = "gpu",
     .kind = OPTION_TEXT,
     .at = offsetof(struct validate_options, gpu),
     .argument = "NAME",
     .help = "the device of all runs, where the table has no such column"},
    {.name = "software",
     .kind = OPTION_TEXT,
     .at = offsetof(struct validate_options, software),
     .argument = "NAME",
     .initial = "megatron-core",
     .help = "the training software, likewise"},
    {.name = "precision",
     .kind = OPTION_TEXT,
     .at = offsetof(struct validate_options, precision),
     .argument = "NAME",
     .initial = "bf16",
     .help = "the precision, likewise"},
    {.name = "recompute",
     .kind = OPTION_TEXT,
     .at = offsetof(struct validate_options, recompute),
     .argument = "WHAT",
     .help = "what is recomputed, likewise"},
    {.name = "devices-per-node",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct validate_options, devices_per_node),
     .argument = "N",
     .initial = "0",
     .least = 0,
     .most = 65536,
     .help = "devices of a node, likewise; 0: what is usual for the device"},
    {.name = "across",
     .kind = OPTION_TEXT,
     .at = offsetof(struct validate_options, across),
     .argument = "NAME",
     .help = "the link between nodes (rehearse cost --list), likewise"},
    {.name = "devices",
     .kind = OPTION_FILE,
     .at = offsetof(struct validate_options, devices),
     .argument = "FILE",
     .help = "devices of your own, or in the place of known ones (docs/device.md)"},
    {.name = "links",
     .kind = OPTION_FILE,
     .at = offsetof(struct validate_options, links),
     .argument = "FILE",
     .help = "links, likewise"},
    {.name = "calibration",
     .kind = OPTION_FILE,
     .at = offsetof(struct validate_options, calibration),
     .argument = "FILE",
     .help = "what 'rehearse calibrate --runs' fitted, in the place of what is known of a generation"},
    {.name = "rows",
     .kind = OPTION_FLAG,
     .at = offsetof(struct validate_options, rows),
     .help = "print every run, and why others are not scored"},
    {.name = "figure",
     .kind = OPTION_FILE,
     .at = offsetof(struct validate_options, figure),
     .argument = "FILE",
     .help = "draw predicted against measured times (.svg, .png, .pdf)"},
    {.name = "residuals",
     .kind = OPTION_FILE,
     .at = offsetof(struct validate_options, residuals),
     .argument = "FILE",
     .help = "write the residuals that intervals are made from"},
    OPTION_JSON(struct validate_options),
    OPTION_OUTPUT(struct validate_options),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse validate runs.csv", "errors by source and device"},
    {"rehearse validate runs.csv --rows --figure scatter.svg", "every run, and a picture"},
    {NULL, NULL},
};

const struct command command_validate = {
    .name = "validate",
    .summary = "predict the iteration time of measured training runs and say how far off it is",
    .description =
        "Reads a table of training runs (CSV), predicts the time of an iteration for every run that gives "
        "enough, and prints the errors by source and device. One set of parameters per device generation is "
        "used for all runs; nothing is fitted to single runs. Runs without a measured time are predicted all "
        "the same, with --rows: a table of jobs to choose from. What cannot be modelled is listed with the "
        "reason.\n\n"
        "Columns by name: gpu, gpus, framework, model, layers, hidden, heads, kv_heads, ffn, seq, vocab, "
        "precision, tp, pp, vp, dp, cp, ep, zero, mbs, gbs, recompute, sec_per_iter, mem_gb, sec_basis, "
        "outcome, devices_per_node, across. A row whose sec_basis is not 'printed' or 'from_tokens_per_s' is "
        "predicted and not scored.",
    .options = options,
    .options_size = sizeof(struct validate_options),
    .operands = {.name = "TABLE",
                 .help = "runs, one per row (CSV, also packed by gzip)",
                 .least = 1,
                 .most = 1,
                 .at = offsetof(struct validate_options, tables)},
    .examples = examples,
    .run = run,
};
