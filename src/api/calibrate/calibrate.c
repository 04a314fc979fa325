/* rh_calibrate: a device, its links and its generation, fitted to measurements. */
#include "api/calibrate/calibrate.h"

#include "api/command.h"
#include "core/doc.h"
#include "core/fields.h"
#include "core/file.h"
#include "core/file_output.h"
#include "core/json.h"
#include "cost/calibrate/gemm.h"
#include "cost/calibrate/links.h"
#include "devices/tables.h"
#include "evidence/judge.h"
#include "model/profile_measured.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* In the order of enum cost_type. */
static const char *const types[] = {"fp64", "fp32", "tf32", "fp16", "bf16", "int8", "fp8", "fp4", NULL};

/* In the order of enum calibrate_left_out. */
static const char *const left_out_words[] = {"all", "rows", "sizes", "groups", "gpu", NULL};

void calibrate_add_line(struct calibrate_report *report, const char *what, const char *name,
                        const struct error_score *before, const struct error_score *after)
{
    if (report->line_count < CALIBRATE_MAX_LINES)
        report->lines[report->line_count++] = (struct calibrate_line){what, name, *before, *after, false};
}

struct text *calibrate_add_file(struct calibrate_report *report, const char *name)
{
    report->files[report->file_count].name = name;
    return &report->files[report->file_count++].text;
}

/* ---- the rows of the device ---- */

/* "NVIDIA H100 80GB HBM3", "h100_sxm" and "H100-SXM": letters and digits count, the maker does not. */
static void simplify(const char *name, char *out, size_t size)
{
    size_t length = 0;
    if (strncasecmp(name, "nvidia", 6) == 0 || strncasecmp(name, "amd", 3) == 0)
        name += tolower((unsigned char)*name) == 'n' ? 6 : 3;
    for (; *name && length + 1 < size; name++)
        if (isalnum((unsigned char)*name))
            out[length++] = (char)tolower((unsigned char)*name);
    out[length] = '\0';
}

static bool is_same_name(const char *left, const char *right)
{
    char a[128], b[128];
    if (!left || !right)
        return false;
    simplify(left, a, sizeof a);
    simplify(right, b, sizeof b);
    return *a && strcmp(a, b) == 0;
}

static bool is_of_device(const char *cell, const struct cost_device *device)
{
    bool same = is_same_name(cell, device->name) || is_same_name(cell, device->title) ||
                is_same_name(cell, device->capability);
    for (int i = 0; i < device->alias_count && !same; i++)
        same = is_same_name(cell, device->aliases[i]);
    return same;
}

/* Finds the device's name in the table; *name is NULL if the table has no column of devices. */
static bool find_rows(const struct calibrate_report *report, const struct csv *csv, const char **name,
                      struct error *err)
{
    int column = csv_column(csv, "gpu");
    *name = report->given->rows;
    if (column < 0)
        column = csv_column(csv, "device");
    if (column < 0 && *name)
        return error_set(err, ERROR_INPUT, "%s: --rows needs a column 'gpu' or 'device'", csv->path);
    if (column < 0)
        return true;
    for (int row = 0; row < csv->row_count; row++) {
        const char *cell = csv_cell(csv, row, column);
        if (*name ? strcmp(cell, *name) == 0 : is_of_device(cell, report->device)) {
            *name = cell;
            return true;
        }
    }
    if (*name)
        return error_set(err, ERROR_INPUT, "%s: no row for device '%s'", csv->path, *name);
    return error_set(err, ERROR_INPUT,
                     "%s: no row for device '%s'; --rows says what the table calls it ('%s' is its first)",
                     csv->path, report->device->name, csv->row_count > 0 ? csv_cell(csv, 0, column) : "");
}

#define SHOWN 0.0005 /* errors grow if they are shown to: the last place */

/* ---- matrix products ---- */

static const char *new_name(const struct calibrate_report *report)
{
    return report->given->name ? report->given->name : report->device->name;
}

/* Adds the errors of each type. *worse: those of all rows grow, when left out. */
static bool add_gemm_lines(struct calibrate_report *report, const struct gemm_fit *fit,
                           const struct gemm_samples *samples, bool *worse, struct error *err)
{
    double grown = 0, rows = 0;
    int first = report->line_count;
    for (int t = 0; t < COST_TYPE_COUNT; t++) {
        struct error_score before;
        if (fit->types[t].rows == 0)
            continue;
        if (!gemm_error_of(&before, report->device, samples, (enum cost_type)t, err))
            return false;
        calibrate_add_line(report, "matrix products", cost_type_name((enum cost_type)t), &before,
                           &fit->types[t]);
        grown += fit->types[t].rows * (fit->types[t].mean - before.mean);
        rows += fit->types[t].rows;
    }
    *worse = grown > SHOWN * rows;
    for (int i = first; i < report->line_count; i++)
        report->lines[i].kept = *worse;
    return true;
}

/* V100 multiplies what a table calls tf32 as fp32, and bf16 as fp16. */
static void honour_types(struct gemm_samples *samples, const struct cost_device *device)
{
    for (int i = 0; i < samples->count; i++)
        samples->samples[i].type = cost_device_type(device, samples->samples[i].type);
}

static bool fit_gemm(struct calibrate_report *report, const struct csv *csv, struct error *err)
{
    const char *rows;
    struct gemm_samples samples;
    struct gemm_fit fit;
    if (!find_rows(report, csv, &rows, err) ||
        !gemm_samples_read(&samples, csv, rows, (enum cost_type)option_index(types, report->given->type),
                           err))
        return false;
    honour_types(&samples, report->device);
    bool worse = false;
    bool done = gemm_samples_take_off(&samples, report->given->launch, err) &&
                gemm_fit_samples(&fit, &samples, report->device, err) &&
                add_gemm_lines(report, &fit, &samples, &worse, err);
    if (done && !worse)
        report->fitted = fit.device;
    if (done && !worse)
        gemm_fit_write(&fit, new_name(report), report->given->gemm,
                       calibrate_add_file(report, new_name(report)));
    gemm_samples_release(&samples);
    return done;
}

/* ---- collectives ---- */

/* Adds the errors of each kind. Kinds whose errors grow, of rows left out, stay as they are known. */
static bool add_link_lines(struct calibrate_report *report, struct link_fit *fit,
                           const struct link_samples *samples, const struct cost_link *start,
                           const struct cost_link *inside, bool *better, struct error *err)
{
    for (int k = 0; k < COLLECTIVE_KINDS; k++) {
        struct error_score before;
        if (fit->kinds[k].rows == 0)
            continue;
        if (!link_error_of(&before, samples, (enum collective_kind)k, start, inside, err))
            return false;
        const char *name = collective_kind_name((enum collective_kind)k);
        calibrate_add_line(report, start->name, name, &before, &fit->kinds[k]);
        if (fit->kinds[k].mean <= before.mean + SHOWN) {
            *better = true;
            continue;
        }
        report->lines[report->line_count - 1].kept = true;
        fit->link.transfers[k] = start->transfers[k];
        fit->link.fitted = arena_format(&fit->arena, "%s; %s as it was known", fit->link.fitted, name);
        if (!fit->link.fitted)
            return error_memory(err);
    }
    return true;
}

/* A fitted link keeps its name, so that it takes the place of the known one wherever --links gives the file. */
static bool fit_link(struct calibrate_report *report, const struct link_samples *samples,
                     const struct cost_link *start, const struct cost_link *inside, struct error *err)
{
    struct link_fit fit;
    if (!link_fit_samples(&fit, samples, start, inside, start->name, err))
        return false;
    bool better = false;
    bool done = add_link_lines(report, &fit, samples, start, inside, &better, err);
    if (done && better)
        cost_link_write(&fit.link, calibrate_add_file(report, start->name));
    link_fit_release(&fit);
    return done;
}

static bool has_rows(const struct link_samples *samples, bool across)
{
    for (int i = 0; i < samples->count; i++)
        if ((samples->samples[i].nodes > 1) == across)
            return true;
    return false;
}

static bool fit_links(struct calibrate_report *report, const struct link_samples *samples, struct error *err)
{
    const struct rh_calibrate_request *given = report->given;
    if (!tables_ready(err))
        return false;
    const struct cost_link *inside = report->device->link ? tables_link(NULL, report->device->link) : NULL;
    const struct cost_link *across = given->across ? tables_link(NULL, given->across) : NULL;
    if (!inside)
        return error_set(err, ERROR_INPUT, "%s: unknown link '%s', see 'rehearse cost --list'",
                         report->device->name, report->device->link ? report->device->link : "");
    if (given->across && !across)
        return tables_unknown(TABLE_LINKS, "--across: ", given->across, err);
    if (!across && !has_rows(samples, false))
        return error_set(err, ERROR_INPUT,
                         "%s: all rows span several nodes: add --across LINK, the link between nodes",
                         samples->path);
    return (!has_rows(samples, false) || fit_link(report, samples, inside, NULL, err)) &&
           (!across || fit_link(report, samples, across, inside, err));
}

static bool fit_collectives(struct calibrate_report *report, const struct csv *csv, struct error *err)
{
    const char *rows;
    struct link_samples samples;
    if (!find_rows(report, csv, &rows, err) || !link_samples_read(&samples, csv, rows, err))
        return false;
    bool done = fit_links(report, &samples, err);
    link_samples_release(&samples);
    return done;
}

/* ---- runs ---- */

static bool fit_runs(struct calibrate_report *report, struct error *err)
{
    const char *generation = report->device->generation;
    const struct validation_defaults defaults = {.gpu = report->device->name};
    struct validation validation;
    struct own_lab_fit fit = {.lab = {.runs = 0}};
    if (!validation_load(&validation, report->given->runs, &defaults, err))
        return false;
    validation_predict(&validation, NULL);
    bool done = judge_learn_lab(&fit, &validation, generation, report->given->runs, err);
    if (done) {
        calibrate_add_line(report, "runs", generation, &fit.before, &fit.after);
        struct text *out = calibrate_add_file(report, "calibration");
        struct calibration calibration = {.lab = fit.lab};
        calibration.name = generation;
        calibration.fitted = arena_format(&report->arena, "%d runs of %s", fit.lab.runs, report->given->runs);
        text_add(out, "format: rehearse-calibration/1\ngenerations:\n");
        calibration_write(&calibration, out);
        report->lab = fit.lab;
        done = calibration.fitted || error_memory(err);
    }
    validation_release(&validation);
    return done;
}

/* ---- the command ---- */

static bool write_files(struct calibrate_report *report, struct error *err)
{
    const char *output = report->given->output;
    enum file_kind kind;
    if (!output || report->file_count == 0)
        return true;
    if (!file_look(output, &kind, err))
        return false;
    size_t length = strlen(output);
    bool is_folder = kind == FILE_FOLDER || (length > 0 && output[length - 1] == '/');
    if (!is_folder && report->file_count == 1)
        return file_write_exact(output, &report->files[0].text, err);
    if (!is_folder)
        return error_set(err, ERROR_USAGE, "--output: there are %d files to write: name a folder, '%s/'",
                         report->file_count, output);
    if (!file_make_directory(output, err))
        return false;
    for (int i = 0; i < report->file_count; i++) {
        const char *path = arena_format(&report->arena, "%s/%s.yaml", output, report->files[i].name);
        if (!path)
            return error_memory(err);
        if (!file_write_exact(path, &report->files[i].text, err))
            return false;
    }
    return true;
}

/* Loads the matrix products of a measured profile as a table. */
static bool load_products(struct csv *csv, const char *path, struct error *err)
{
    struct profile profile;
    struct text text = {0};
    int count = 0;
    if (!profile_load(&profile, path, 0, err))
        return false;
    text_add(&text, "device,dtype,batch,m,n,k,seconds\n");
    for (int d = 0; d < profile.device_count; d++) {
        const struct profile_measured *measured = profile.devices[d].measured;
        for (int i = 0; measured && i < measured->product_count; i++, count++) {
            const struct profile_product *of = &measured->products[i];
            text_format(&text, "\"%s\",%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%.9g\n",
                        profile.devices[d].name ? profile.devices[d].name : "", of->type, of->size.batch,
                        of->size.m, of->size.n, of->size.k, of->seconds);
        }
    }
    bool done = !text.failed || error_memory(err);
    if (count == 0)
        done =
            error_set(err, ERROR_INPUT,
                      "%s: has no measured matrix products, as 'rehearse measure layers' writes them", path);
    done = done && csv_parse(csv, path, text.data, text.length, err);
    text_release(&text);
    profile_release(&profile);
    return done;
}

static bool fit_table(struct calibrate_report *report, const char *path,
                      bool (*fit)(struct calibrate_report *report, const struct csv *csv, struct error *err),
                      struct error *err)
{
    struct csv csv;
    if (!path)
        return true;
    bool recorded = calibrate_is_recorded(path);
    if (recorded && !calibrate_recorded_read(&report->recorded, path, report->given->device, err))
        return false;
    if (!(recorded            ? calibrate_recorded_table(&report->recorded, fit == fit_gemm, &csv, err)
          : doc_is_name(path) ? load_products(&csv, path, err)
                              : csv_load(&csv, path, err)))
        return false;
    bool done = fit(report, &csv, err);
    csv_release(&csv);
    return done;
}

static bool check_options(const struct rh_calibrate_request *given, struct error *err)
{
    bool measured = given->gemm || given->collectives || given->runs || given->log;
    if (given->known && (given->collectives || given->runs || given->log || given->output))
        return error_set(
            err, ERROR_USAGE,
            "--known fits nothing: it cannot be combined with --output, or tables other than --gemm");
    if (given->known)
        return true;
    if (!given->device && (!given->log || given->gemm || given->collectives || given->runs))
        return error_set(err, ERROR_USAGE, "calibrate: '--device NAME' is missing");
    if (!measured)
        return error_set(err, ERROR_USAGE,
                         "expected at least one of --gemm, --collectives, --runs and --log");
    if (given->log && given->runs)
        return error_set(err, ERROR_USAGE,
                         "--log (the log of one run) and --runs (a table of runs) cannot be combined");
    if ((given->name && !given->gemm && !given->known) || (given->across && !given->collectives))
        return error_set(err, ERROR_USAGE, "--%s needs --%s TABLE, or a recorded run as --log that has them",
                         given->across ? "across" : "name", given->across ? "collectives" : "gemm");
    if (given->name && (!*given->name || strchr(given->name, '/') || strlen(given->name) > 64))
        return error_set(err, ERROR_USAGE, "--name: expected from 1 to 64 characters without '/', found '%s'",
                         given->name);
    return true;
}

static bool choose_device(struct calibrate_report *report, struct error *err)
{
    if (!report->given->device) /* --known: all */
        return true;
    if (!tables_load(NULL, TABLE_DEVICES, &report->table, report->given->device, err))
        return false;
    report->device = &report->table.devices[0];
    return report->table.count == 1 ||
           error_set(err, ERROR_USAGE, "--device: %s describes %d devices, expected one",
                     report->given->device, report->table.count);
}

/* ---- the answer ---- */

static const struct field line_fields[] = {
    FIELD_OUT(struct calibrate_line, "what", what, FIELD_TEXT),
    FIELD_OUT(struct calibrate_line, "name", name, FIELD_TEXT),
    FIELD_OUT(struct calibrate_line, "rows", after.rows, FIELD_INT),
    FIELD_OPEN("before", FIELD_FLAT_MAP),
    FIELD_OUT(struct calibrate_line, "mean_error", before.mean, FIELD_DOUBLE),
    FIELD_OUT(struct calibrate_line, "median_error", before.median, FIELD_DOUBLE),
    FIELD_OUT(struct calibrate_line, "p90_error", before.p90, FIELD_DOUBLE),
    FIELD_CLOSE,
    FIELD_OPEN("after", FIELD_FLAT_MAP),
    FIELD_OUT(struct calibrate_line, "mean_error", after.mean, FIELD_DOUBLE),
    FIELD_OUT(struct calibrate_line, "median_error", after.median, FIELD_DOUBLE),
    FIELD_OUT(struct calibrate_line, "p90_error", after.p90, FIELD_DOUBLE),
    FIELD_CLOSE,
    FIELD_OUT(struct calibrate_line, "kept", kept, FIELD_FLAG),
};

static const struct field lab_fields[] = {
    FIELD_OPEN("learned", FIELD_FLAT_MAP),
    FIELD_OUT(struct own_lab, "runs", runs, FIELD_INT),
    FIELD_OUT(struct own_lab, "kernels", kernels, FIELD_DOUBLE),
    FIELD_OUT(struct own_lab, "transfers", transfers, FIELD_DOUBLE),
    FIELD_OUT(struct own_lab, "block", block, FIELD_DOUBLE),
    FIELD_CLOSE,
};

static void write_json(const struct calibrate_report *report, struct json *json)
{
    json_open_document(json, "rehearse-calibration-fit/1");
    json_string(json, "device", report->device ? report->device->name : "all");
    if (report->fitted.name && report->fitted.pace > 0.0)
        json_number(json, "pace", report->fitted.pace);
    json_open(json, "fitted", '[');
    FIELDS_TELL(line_fields, json);
    for (int i = 0; i < report->line_count; i++) {
        json_open(json, NULL, '{');
        FIELDS_WRITE(&report->lines[i], line_fields, json);
        json_close(json);
    }
    json_close(json);
    if (report->lab.runs > 0)
        FIELDS_WRITE(&report->lab, lab_fields, json);
    if (report->run)
        calibrate_run_write(report, json);
    json_close(json);
}

static const struct field file_fields[] = {
    FIELD_OUT(struct calibrate_file, "name", name, FIELD_TEXT),
    FIELD_OUT(struct calibrate_file, "text", text.data, FIELD_TEXT),
};

/* What the handle keeps: columns point into it. Its request ends with the call. */
static void drop(void *kept)
{
    struct calibrate_report *report = kept;
    for (int i = 0; i < report->file_count; i++)
        text_release(&report->files[i].text);
    calibrate_run_release(report->run);
    calibrate_recorded_release(&report->recorded);
    table_release(&report->table);
    arena_release(&report->arena);
}

static bool fit(struct calibrate_report *report, struct rh_calibrate_request *given, struct error *err)
{
    report->given = given;
    if (!calibrate_take_recorded(report, given, err))
        return false;
    report->left_out = (enum calibrate_left_out)option_index(left_out_words, given->leave_out);
    if (!check_options(given, err) || !choose_device(report, err))
        return false;
    if (given->known)
        return calibrate_known(report, err);
    return fit_table(report, given->gemm, fit_gemm, err) &&
           fit_table(report, given->collectives, fit_collectives, err) &&
           (!given->runs || fit_runs(report, err)) && (!given->log || calibrate_from(report, err));
}

static bool answer(const void *request, const struct api_call *call, struct api_report *made,
                   struct error *err)
{
    struct rh_calibrate_request given = *(const struct rh_calibrate_request *)request;
    struct calibrate_report *report = api_report_keep(made, sizeof *report, drop, err);
    if (!report || !fit(report, &given, err) || api_stopped(call, err) || !write_files(report, err))
        return false;
    if (report->run)
        calibrate_run_print(report, &made->text);
    calibrate_print(report, &made->text);
    write_json(report, &made->json);
    API_FIELDS(&made->base, "files", report->files, report->file_count, file_fields);
    report->given = NULL;
    return true;
}

const struct option_spec api_calibrate_options[] = {
    OPTION_OF(rh_calibrate_request, device, OPTION_TEXT, "device", .letter = 'd'),
    OPTION_OF(rh_calibrate_request, gemm, OPTION_FILE, "gemm"),
    OPTION_OF(rh_calibrate_request, collectives, OPTION_FILE, "collectives"),
    OPTION_OF(rh_calibrate_request, runs, OPTION_FILE, "runs"),
    OPTION_OF(rh_calibrate_request, log, OPTION_FILE, "log", .was = "from"),
    OPTION_OF(rh_calibrate_request, jobs, OPTION_FILE, "job", .needs = "log", .repeats = true),
    OPTION_OF(rh_calibrate_request, set, OPTION_TEXT, "set", .needs = "log", .repeats = true),
    OPTION_OF(rh_calibrate_request, root, OPTION_FILE, "root"),
    OPTION_OF(rh_calibrate_request, model, OPTION_TEXT, "model", .needs = "log", .letter = 'm'),
    OPTION_OF(rh_calibrate_request, sequence, OPTION_INTEGER, "sequence", .needs = "log",
              .dimension = DIMENSION_LENGTH, .initial = "0", .max = 1 << 24),
    OPTION_OF(rh_calibrate_request, software, OPTION_TEXT, "software", .needs = "log"),
    OPTION_OF(rh_calibrate_request, devices, OPTION_INTEGER, "devices", .needs = "log", .initial = "0",
              .max = 1048576),
    OPTION_OF(rh_calibrate_request, devices_per_node, OPTION_INTEGER, "devices-per-node", .needs = "log",
              .initial = "0", .max = 1024),
    OPTION_OF(rh_calibrate_request, rows, OPTION_TEXT, "rows"),
    OPTION_OF(rh_calibrate_request, type, OPTION_WORD, "type", .initial = "bf16", .words = types),
    OPTION_OF(rh_calibrate_request, launch, OPTION_QUANTITY, "launch", .dimension = DIMENSION_LAUNCH,
              .unit = UNIT_TIME),
    OPTION_OF(rh_calibrate_request, known, OPTION_FLAG, "known"),
    OPTION_OF(rh_calibrate_request, leave_out, OPTION_WORD, "leave-out", .needs = "known", .initial = "all",
              .words = left_out_words),
    OPTION_OF(rh_calibrate_request, across, OPTION_TEXT, "across", .needs = "collectives log"),
    OPTION_OF(rh_calibrate_request, name, OPTION_TEXT, "name", .needs = "gemm log"),
    OPTION_OF(rh_calibrate_request, output, OPTION_FILE, "output", .letter = 'o'),
    OPTION_END,
};

API_COMMAND(calibrate, "calibrate", rh_calibrate_request, .answer = answer);
