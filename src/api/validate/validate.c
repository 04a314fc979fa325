/* rh_validate: measured training runs beside their predictions. */
#include "api/command.h"
#include "api/validate/report.h"
#include "core/fields.h"
#include "core/stop.h"
#include "devices/tables.h"
#include "figure/scatter.h"

#include <stdlib.h>

/* In the order of enum sim_level. */
static const char *const levels[] = {"auto", "passes", "layers", NULL};

/* ---- the defaults of all runs ---- */

static bool add_tables(struct tables *tables, const struct rh_validate_request *given, struct error *err)
{
    return tables_add(tables, TABLE_DEVICES, given->devices, err) &&
           tables_add(tables, TABLE_LINKS, given->links, err) &&
           tables_add(tables, TABLE_CALIBRATIONS, given->calibration, err);
}

/* Checks the words of the command line, which would else be the reason of every row. */
static bool check_defaults(const struct tables *tables, const struct rh_validate_request *given,
                           struct error *err)
{
    static const char *const types[] = {"fp4", "fp8", "bf16", "fp16", "tf32", "fp32"};
    static const char *const recomputes[] = {"full", "selective", "none"};
    enum cost_type type;
    enum recompute recompute;
    struct text_hint hint;
    if (!tables_ready(err))
        return false;
    if (given->gpu && !tables_device(tables, given->gpu))
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

/* ---- a table of runs ---- */

/* What is asked besides predictions; some of it by all threads. */
static bool look_further(const struct rh_validate_request *given, struct validate_report *report,
                         struct parallel *pool, struct error *err)
{
    struct validation *validation = &report->validation;
    size_t room = (size_t)validation->count + 1;
    if (given->best && !(report->betters = calloc(room, sizeof *report->betters)))
        return error_memory(err);
    if (given->simulate && !(report->simulated = calloc(room, sizeof *report->simulated)))
        return error_memory(err);
    if ((given->best && !better_find(report->betters, validation, pool, err)) ||
        (given->simulate && !simulated_find(report->simulated, validation,
                                            (enum sim_level)option_index(levels, given->level), pool, err)))
        return false;
    report->ranked = given->rank && ranking_make(&report->ranking, validation, err);
    report->part = (enum run_part)option_index(run_part_names, given->leave_out);
    return report->ranked == given->rank &&
           (report->part == PART_ITSELF || left_out_make(validation, report->part, report->no_neighbours,
                                                         &report->left_out, &report->left_out_count, err));
}

static const struct field undrawn_fields[] = {
    FIELD_OUT(struct error, "undrawn", text, FIELD_KNOWN_CHARS),
    FIELD_OUT(struct error, "undrawn_code", kind, FIELD_INT),
};

/* A report without its picture is an answer: the values `undrawn` and `undrawn_code` say why. */
static void draw(const struct rh_validate_request *given, const struct validate_report *report,
                 rh_handle *handle)
{
    struct error why;
    if (validation_score(&report->validation, NULL, NULL).rows == 0)
        error_set(&why, ERROR_INFEASIBLE,
                  "--figure: nothing to draw: no run that could be modelled has measured seconds");
    else if (figure_scatter(&report->validation, given->figure, &why))
        return;
    API_VALUES(handle, &why, undrawn_fields);
}

/* What the handle keeps: columns point into it. */
struct kept {
    struct tables tables;
    struct validate_report report;
};

static void drop(void *context)
{
    struct kept *kept = context;
    struct validate_report *report = &kept->report;
    free(report->judged);
    free(report->betters);
    free(report->simulated);
    free(report->left_out);
    ranking_release(&report->ranking);
    validation_release(&report->validation);
    tables_release(&kept->tables);
}

static bool validate_judge(struct validate_report *report, struct error *err)
{
    struct validation *validation = &report->validation;
    report->judged = calloc((size_t)validation->count + 1, sizeof *report->judged);
    if (!report->judged)
        return error_memory(err);
    for (int i = 0; i < validation->count && !stop_wanted(); i++) {
        struct run *run = &validation->runs[i];
        if (run->reason)
            continue;
        struct estimate estimate = run_judge(run, PART_ITSELF);
        struct judged *judged = &report->judged[i];
        judged->interval = interval_of(&estimate, run->predicted.seconds);
        judged->nearest = run_by_nearest(run, &estimate);
        run_expect(run, run->predicted.seconds * (report->no_neighbours ? 1.0 : estimate.factor));
        if (!run->scored)
            continue;
        report->covered += interval_holds(&judged->interval, run->seconds);
        report->extrapolated += judged->interval.extrapolates;
    }
    return true;
}

static bool report_runs(const struct rh_validate_request *given, struct validate_report *report,
                        const struct api_call *call, struct api_report *answer, struct error *err)
{
    validation_predict(&report->validation, NULL);
    struct parallel *pool = given->best || given->simulate ? parallel_new(call->how.threads, err) : NULL;
    bool done = ((!given->best && !given->simulate) || pool) && validate_judge(report, err) &&
                look_further(given, report, pool, err);
    parallel_free(pool);
    if (!done || !validate_print(report, &answer->text, err))
        return false;
    validate_write(report, &answer->json);
    validate_add_values(report, &answer->base);
    if (given->figure && !api_stopped(call, err))
        draw(given, report, &answer->base);
    return true;
}

/* Columns point to these words where the table lacks them. */
static bool keep_word(rh_handle *handle, const char **word, struct error *err)
{
    *word = *word ? arena_string(&handle->arena, *word) : NULL;
    return *word || error_memory(err);
}

static bool validate_runs(const struct rh_validate_request *given, const struct api_call *call,
                          struct api_report *answer, struct kept *kept, struct error *err)
{
    struct validate_report *report = &kept->report;
    struct validation_defaults defaults = {
        .gpu = given->gpu,
        .framework = given->software,
        .precision = given->precision,
        .recompute = given->recompute,
        .across = given->across,
        .devices_per_node = (int)given->devices_per_node,
        .set = given->set,
        .tables = &kept->tables,
    };
    *report = (struct validate_report){.no_neighbours = given->no_neighbours,
                                       .rows = given->rows,
                                       .wide = given->wide,
                                       .worst = (int)given->worst};
    return (!defaults.gpu || keep_word(&answer->base, &defaults.gpu, err)) &&
           (!defaults.framework || keep_word(&answer->base, &defaults.framework, err)) &&
           (given->table ? validation_load(&report->validation, given->table, &defaults, err)
                         : validation_load_known(&report->validation, &defaults, err)) &&
           check_set(&report->validation, given->set, err) && report_runs(given, report, call, answer, err);
}

/* ---- the command ---- */

/* The device of the published runs of schedules, and the link between its nodes, where the options name no other. */
static bool run_schedules(const struct rh_validate_request *given, struct api_report *answer,
                          struct error *err)
{
    struct tables tables = {0};
    const char *gpu = given->gpu ? given->gpu : "a100-80gb",
               *across = given->across ? given->across : "ib-200g",
               *software = given->software ? given->software : "megatron-core";
    bool done =
        add_tables(&tables, given, err) && check_defaults(&tables, given, err) &&
        validate_schedules(&(struct validate_schedules){.table = given->table,
                                                        .device = tables_device(&tables, gpu),
                                                        .across = tables_link(&tables, across),
                                                        .software = software_named(software, "", "").software,
                                                        .rows = given->rows},
                           answer, err);
    tables_release(&tables);
    return done;
}

static bool run_table(const struct rh_validate_request *given, const struct api_call *call,
                      struct api_report *answer, struct error *err)
{
    struct kept *kept = api_report_keep(answer, sizeof *kept, drop, err);
    return kept && add_tables(&kept->tables, given, err) && check_defaults(&kept->tables, given, err) &&
           validate_runs(given, call, answer, kept, err);
}

static bool run(const void *request, const struct api_call *call, struct api_report *answer,
                struct error *err)
{
    const struct rh_validate_request *given = request;
    if (given->layers || given->setup)
        return error_set(err, ERROR_USAGE, "layers, setup: rh_check_plan scores plans on mixed devices");
    return given->schedules ? run_schedules(given, answer, err) : run_table(given, call, answer, err);
}

const struct option_spec api_validate_options[] = {
    OPTION_OF(rh_validate_request, table, OPTION_FILE, "table", .is_operand = true),
    OPTION_OF(rh_validate_request, gpu, OPTION_TEXT, "gpu"),
    OPTION_OF(rh_validate_request, software, OPTION_TEXT, "software"),
    OPTION_OF(rh_validate_request, precision, OPTION_TEXT, "precision", .initial = "bf16"),
    OPTION_OF(rh_validate_request, recompute, OPTION_TEXT, "recompute"),
    OPTION_OF(rh_validate_request, devices_per_node, OPTION_INTEGER, "devices-per-node", .initial = "0",
              .min = 0, .max = 65536),
    OPTION_OF(rh_validate_request, across, OPTION_TEXT, "across"),
    OPTION_OF(rh_validate_request, set, OPTION_TEXT, "set"),
    OPTION_OF(rh_validate_request, device_file, OPTION_FILE, "device-file", .was = "devices"),
    OPTION_OF(rh_validate_request, links, OPTION_FILE, "links"),
    OPTION_OF(rh_validate_request, calibration, OPTION_FILE, "calibration"),
    OPTION_OF(rh_validate_request, rows, OPTION_FLAG, "rows"),
    OPTION_OF(rh_validate_request, wide, OPTION_FLAG, "wide", .letter = 'w'),
    OPTION_OF(rh_validate_request, best, OPTION_FLAG, "best"),
    OPTION_OF(rh_validate_request, simulate, OPTION_FLAG, "simulate"),
    OPTION_OF(rh_validate_request, level, OPTION_WORD, "level", .words = levels, .initial = "auto"),
    OPTION_OF(rh_validate_request, rank, OPTION_FLAG, "rank"),
    OPTION_OF(rh_validate_request, no_neighbours, OPTION_FLAG, "no-neighbours"),
    OPTION_OF(rh_validate_request, leave_out, OPTION_WORD, "leave-out", .words = run_part_names,
              .initial = "nothing"),
    OPTION_OF(rh_validate_request, worst, OPTION_INTEGER, "worst", .initial = "0", .min = 0, .max = 1000),
    OPTION_OF(rh_validate_request, schedules, OPTION_FLAG, "schedules"),
    OPTION_OF(rh_validate_request, figure, OPTION_FILE, "figure"),
    OPTION_END,
};

API_COMMAND(validate, "validate", rh_validate_request, .answer = run);
