#include "cli/command.h"
#include "cli/output.h"
#include "cli/validate/report.h"
#include "core/file.h"
#include "core/json.h"
#include "devices/tables.h"
#include "evidence/interval.h"
#include "evidence/validate.h"
#include "figure/scatter.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct validate_options {
    struct rh_list tables;
    const char *gpu, *software, *precision, *recompute, *across, *set;
    int64_t devices_per_node;
    const char *devices, *links, *calibration;
    const char *layers, *setup;
    const char *figure, *output;
    int64_t threads;
    bool rows, wide, best, simulate, rank, schedules, json, no_neighbours;
    int level;     /* enum sim_level */
    int leave_out; /* enum run_part */
    int64_t worst;
};

/* ---- the defaults of all runs ---- */

static bool add_tables(struct tables *tables, const struct validate_options *given, struct error *err)
{
    return tables_add(tables, TABLE_DEVICES, given->devices, err) &&
           tables_add(tables, TABLE_LINKS, given->links, err) &&
           tables_add(tables, TABLE_CALIBRATIONS, given->calibration, err);
}

/* Checks the words of the command line, which would else be the reason of every row. */
static bool check_defaults(const struct tables *tables, const struct validate_options *given,
                           struct error *err)
{
    static const char *const types[] = {"fp4", "fp8", "bf16", "fp16", "tf32", "fp32"};
    static const char *const recomputes[] = {"full", "selective", "none"};
    enum cost_type type;
    enum recompute recompute;
    struct text_hint hint;
    if (!tables_ready(err))
        return false;
    if (given->gpu && !device_named(tables, given->gpu))
        return tables_unknown(TABLE_DEVICES, "--gpu: ", given->gpu, err);
    if (given->across && !tables_link(tables, given->across))
        return tables_unknown(TABLE_LINKS, "--across: ", given->across, err);
    if (given->software && !software_named(given->software, "", "").software)
        return software_unknown(given->software, err);
    if (!run_type_named(given->precision, &type))
        return error_set(err, ERROR_USAGE, "--precision: unknown '%s'%s", given->precision,
                         text_suggest(&hint, text_nearest(given->precision, types, 6), ""));
    return !given->recompute || run_recompute_named(given->recompute, &recompute) ||
           error_set(err, ERROR_USAGE, "--recompute: unknown '%s'%s", given->recompute,
                     text_suggest(&hint, text_nearest(given->recompute, recomputes, 3), ""));
}

static bool check_set(const struct validation *validation, const char *set, struct error *err)
{
    return !set || validation->count > 0 ||
           error_set(err, ERROR_USAGE, "--set: no run of the table is of set '%s'", set);
}

/* ---- the command ---- */

/* Drawn after the report, which is printed even where the figure cannot be drawn. */
static bool draw(const struct validate_options *given, const struct validate_report *report,
                 struct error *err)
{
    if (!given->figure)
        return true;
    if (validation_score(&report->validation, NULL, NULL).rows == 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "--figure: nothing to draw: no run that could be modelled has measured seconds");
    return figure_scatter(&report->validation, given->figure, err);
}

static bool find_best(const struct validate_options *given, struct validate_report *report, struct error *err)
{
    if (!given->best)
        return true;
    struct parallel *pool = parallel_new((int)given->threads, err);
    if (!pool)
        return false;
    report->betters = calloc((size_t)report->validation.count + 1, sizeof *report->betters);
    bool ok =
        report->betters ? better_find(report->betters, &report->validation, pool, err) : error_memory(err);
    parallel_free(pool);
    return ok;
}

static bool simulate(const struct validate_options *given, struct validate_report *report, struct error *err)
{
    if (!given->simulate)
        return true;
    struct parallel *pool = parallel_new((int)given->threads, err);
    if (!pool)
        return false;
    report->simulated = calloc((size_t)report->validation.count + 1, sizeof *report->simulated);
    bool ok = report->simulated ? simulated_find(report->simulated, &report->validation,
                                                 (enum sim_level)given->level, pool, err)
                                : error_memory(err);
    parallel_free(pool);
    return ok;
}

static bool rank_splits(const struct validate_options *given, struct validate_report *report,
                        struct ranking *ranking, struct error *err)
{
    if (!given->rank)
        return true;
    if (!ranking_make(ranking, &report->validation, err))
        return false;
    report->ranking = ranking;
    return true;
}

static bool leave_out(const struct validate_options *given, struct validate_report *report, struct error *err)
{
    report->part = (enum run_part)given->leave_out;
    return report->part == PART_ITSELF ||
           left_out_make(&report->validation, report->part, report->no_neighbours, &report->left_out,
                         &report->left_out_count, err);
}

static bool make_report(const struct validate_options *given, struct validate_report *report,
                        struct error *err)
{
    struct text text = {0};
    struct ranking ranking = {0};
    validation_predict(&report->validation, NULL);
    if (!validate_judge(report, err) || !find_best(given, report, err) || !simulate(given, report, err) ||
        !rank_splits(given, report, &ranking, err) || !leave_out(given, report, err))
        return false;
    bool shown = true;
    if (given->json)
        validate_write(report, &text);
    else
        shown = validate_print(report, &text, err);
    bool done = shown && output_text(given->output, &text, err) && draw(given, report, err);
    text_release(&text);
    ranking_release(&ranking);
    return done;
}

/* The device of the published runs of schedules, and the link between its nodes, where the options name no other. */
static bool run_schedules(const struct tables *tables, const struct validate_options *given,
                          struct error *err)
{
    const char *gpu = given->gpu ? given->gpu : "a100-80gb",
               *across = given->across ? given->across : "ib-200g";
    return check_defaults(tables, given, err) &&
           validate_schedules(
               &(struct validate_schedules){
                   .table = given->tables.count > 0 ? given->tables.items[0] : NULL,
                   .output = given->output,
                   .device = device_named(tables, gpu),
                   .across = tables_link(tables, across),
                   .software =
                       software_named(given->software ? given->software : "megatron-core", "", "").software,
                   .rows = given->rows,
                   .json = given->json},
               err);
}

static bool run(void *context, struct error *err)
{
    const struct validate_options *given = context;
    struct validate_report report = {.no_neighbours = given->no_neighbours,
                                     .rows = given->rows,
                                     .wide = given->wide,
                                     .worst = (int)given->worst};
    struct tables tables = {0};
    const char *table = given->tables.count > 0 ? given->tables.items[0] : NULL;
    const struct validation_defaults defaults = {
        .gpu = given->gpu,
        .framework = given->software,
        .precision = given->precision,
        .recompute = given->recompute,
        .across = given->across,
        .devices_per_node = (int)given->devices_per_node,
        .set = given->set,
        .tables = &tables,
    };
    if (!table && (given->layers || given->setup))
        return error_set(err, ERROR_USAGE, "%s: no TABLE is given, see 'rehearse help validate'",
                         given->layers ? "--layers" : "--setup");
    if (given->layers || given->setup)
        return validate_mixed(&(struct validate_mixed){.plans = table,
                                                       .layers = given->layers,
                                                       .setup = given->setup,
                                                       .output = given->output,
                                                       .rows = given->rows,
                                                       .wide = given->wide,
                                                       .json = given->json},
                              err);
    if (given->schedules) {
        bool shown = add_tables(&tables, given, err) && run_schedules(&tables, given, err);
        tables_release(&tables);
        return shown;
    }
    bool done = add_tables(&tables, given, err) && check_defaults(&tables, given, err) &&
                (table ? validation_load(&report.validation, table, &defaults, err)
                       : validation_load_known(&report.validation, &defaults, err)) &&
                check_set(&report.validation, given->set, err) && make_report(given, &report, err);
    free(report.judged);
    free(report.betters);
    free(report.simulated);
    free(report.left_out);
    validation_release(&report.validation);
    tables_release(&tables);
    return done;
}

static const char *const levels[] = {"auto", "passes", "layers", NULL}; /* enum sim_level */

static const struct option_spec options[] = {
    OPTION(validate_options, gpu, OPTION_TEXT, "gpu", .argument = "NAME",
           .help = "the device of all runs, if the table has no such column"),
    OPTION(validate_options, software, OPTION_TEXT, "software", .argument = "NAME",
           .help = "the training software of all runs, if the table has no such column; without both, "
                   "megatron-core, and megatron-deepspeed for BigScience's chronicles"),
    OPTION(validate_options, precision, OPTION_TEXT, "precision", .argument = "NAME", .initial = "bf16",
           .help = "the precision of all runs, if the table has no such column"),
    OPTION(validate_options, recompute, OPTION_TEXT, "recompute", .argument = "WHAT",
           .help = "the recomputation of all runs, if the table has no such column"),
    OPTION(validate_options, devices_per_node, OPTION_INTEGER, "devices-per-node", .argument = "N",
           .initial = "0", .min = 0, .max = 65536,
           .help = "devices of a node, if the table has no such column; 0: the usual number for the device"),
    OPTION(validate_options, across, OPTION_TEXT, "across", .argument = "NAME",
           .help = "the link between nodes (rehearse cost --list), if the table has no such column"),
    OPTION(
        validate_options, set, OPTION_TEXT, "set", .argument = "NAME",
        .help =
            "only runs of this set, a column of the table; of the published runs: trainers, simumax, mlperf, "
            "recipes"),
    OPTION(validate_options, devices, OPTION_FILE, "devices", .argument = "FILE",
           .help = "your own devices; a device of the same name replaces the known one (docs/device.md)"),
    OPTION(validate_options, links, OPTION_FILE, "links", .argument = "FILE",
           .help = "your own links; a link of the same name replaces the known one (docs/collectives.md)"),
    OPTION(validate_options, calibration, OPTION_FILE, "calibration", .argument = "FILE",
           .help = "the result of 'rehearse calibrate --runs', which replaces the built-in calibration"),
    OPTION(validate_options, layers, OPTION_FILE, "layers", .argument = "FILE",
           .help = "measured layer times (CSV): TABLE holds plans on mixed devices (docs/mixed.md)"),
    OPTION(validate_options, setup, OPTION_FILE, "setup", .argument = "FILE",
           .help = "models, links and software of those plans (examples/mixed/)"),
    OPTION(validate_options, rows, OPTION_FLAG, "rows",
           .help = "print every run, and the reason why a run is not scored"),
    OPTION(
        validate_options, wide, OPTION_FLAG, "wide", .letter = 'w',
        .help =
            "print full names, and with --rows degrees, batches and parts of times, wider than 100 columns"),
    OPTION(validate_options, best, OPTION_FLAG, "best",
           .help = "also plan every run anew on its devices, and print the predicted gain of the best split; "
                   "with --rows, also its changes"),
    OPTION(validate_options, simulate, OPTION_FLAG, "simulate",
           .help = "also simulate every run, and print the errors of formula and simulation side by side; "
                   "with --rows, "
                   "of each run"),
    OPTION(validate_options, level, OPTION_CHOICE, "level", .argument = "LEVEL", .words = levels,
           .initial = "auto", .help = "--simulate: by passes or by layers, as of rehearse simulate"),
    OPTION(validate_options, rank, OPTION_FLAG, "rank",
           .help =
               "also rank the measured splits of each job by predicted and by measured time, and print the "
               "correlation and the regret of the predicted best; with --rows, every split"),
    OPTION(validate_options, no_neighbours, OPTION_FLAG, "no-neighbours",
           .help = "the formulas alone: predictions are not corrected by known runs"),
    OPTION(validate_options, leave_out, OPTION_CHOICE, "leave-out", .argument = "PART",
           .words = run_part_names, .initial = "nothing",
           .help =
               "also predict each job, source, software, device or model as if no run of it were known, and "
               "print errors and the share inside the intervals"),
    OPTION(validate_options, worst, OPTION_INTEGER, "worst", .argument = "N", .initial = "0", .min = 0,
           .max = 1000, .help = "also print the N runs with the largest errors"),
    OPTION(validate_options, schedules, OPTION_FLAG, "schedules",
           .help = "TABLE holds measured runs of pipeline schedules with the times of their passes "
                   "(default: data/schedules.csv, which comes with the program): simulate them"),
    OPTION_THREADS(struct validate_options),
    OPTION(validate_options, figure, OPTION_FILE, "figure", .argument = "FILE",
           .help = "draw predicted against measured times (.svg, .png, .pdf)"),
    OPTION_JSON(struct validate_options),
    OPTION_OUTPUT(struct validate_options),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse validate", "errors of the published runs that come with the program"},
    {"rehearse validate runs.csv", "errors by source and device of your own runs"},
    {"rehearse validate runs.csv --rows --figure scatter.svg", "every run, and a picture"},
    {"rehearse validate runs.csv --rank", "are faster splits of a job also predicted to be faster?"},
    {"rehearse validate plans.csv --layers layers.csv --setup examples/mixed/amp.yaml",
     "plans on devices of several kinds"},
    {NULL, NULL},
};

const struct command command_validate = {
    .name = "validate",
    .summary = "predict the iteration time of measured training runs and print the errors",
    .description =
        "Reads a table of training runs (CSV), predicts the time of an iteration for every run with enough "
        "numbers, and prints the errors by source and device. One set of parameters per device generation is "
        "used for all runs; nothing is fitted to single runs. With --rows, runs without a measured time are "
        "predicted, too: a table of jobs to choose from. Runs that cannot be modelled are listed with the "
        "reason.\n\n"
        "Columns by name: gpu, gpus, framework, model, layers, hidden, heads, kv_heads, ffn, seq, vocab, "
        "precision, tp, pp, vp, dp, cp, ep, zero, mbs, gbs, recompute, sec_per_iter, mem_gb, sec_basis, "
        "outcome, devices_per_node, across. A row whose sec_basis is not 'printed', 'from_tokens_per_s' or "
        "'from_samples_per_s' is predicted and not scored.",
    .options = options,
    .options_size = sizeof(struct validate_options),
    .operands =
        {.name = "TABLE",
         .help =
             "runs, one per row (CSV, also packed by gzip); default: the published runs that come with the "
             "program",
         .min = 0,
         .max = 1,
         .at = offsetof(struct validate_options, tables)},
    .examples = examples,
    .run = run,
};
