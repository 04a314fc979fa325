#include "cli/command.h"
#include "cli/output.h"
#include "core/doc.h"
#include "core/file.h"
#include "core/json.h"
#include "cost/calibrate/gemm.h"
#include "cost/calibrate/links.h"
#include "cost/gemm_near.h"
#include "devices/tables.h"
#include "evidence/calibrate_runs.h"
#include "model/profile_measured.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

struct calibrate_options {
    const char *gemm, *collectives, *runs;
    const char *device, *rows, *across, *name, *output;
    double launch; /* seconds */
    int type;
    bool known, json;
};

/* A fit of a type of matrix products, of a kind of collective or of runs. */
struct line {
    const char *what, *name;
    struct error_score before, after; /* `after`: of rows left out of the fit */
};

#define MAX_LINES 128
#define MAX_FILES 4

struct result {
    const char *name; /* of the file in a folder, without ending */
    struct text text;
};

struct report {
    const struct calibrate_options *given;
    struct arena arena;
    struct table table;
    const struct cost_device *device; /* NULL: all, with --known */
    int line_count, file_count;
    struct line lines[MAX_LINES];
    struct result files[MAX_FILES];
};

static void add_line(struct report *report, const char *what, const char *name,
                     const struct error_score *before, const struct error_score *after)
{
    if (report->line_count < MAX_LINES)
        report->lines[report->line_count++] = (struct line){what, name, *before, *after};
}

static struct text *add_file(struct report *report, const char *name)
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
static bool find_rows(const struct report *report, const struct csv *csv, const char **name,
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
        return error_set(err, ERROR_INPUT, "%s: no row of '%s'", csv->path, *name);
    return error_set(err, ERROR_INPUT,
                     "%s: no row of '%s'; --rows says what the table calls it ('%s' is its first)", csv->path,
                     report->device->name, csv->row_count > 0 ? csv_cell(csv, 0, column) : "");
}

/* ---- matrix products ---- */

static const char *new_name(const struct report *report)
{
    return report->given->name ? report->given->name : report->device->name;
}

static bool add_gemm_lines(struct report *report, const struct gemm_fit *fit,
                           const struct gemm_samples *samples, struct error *err)
{
    for (int t = 0; t < COST_TYPE_COUNT; t++) {
        struct error_score before;
        if (fit->types[t].rows == 0)
            continue;
        if (!gemm_error_of(&before, report->device, samples, (enum cost_type)t, err))
            return false;
        add_line(report, "matrix products", cost_type_name((enum cost_type)t), &before, &fit->types[t]);
    }
    return true;
}

/* V100 multiplies what a table calls tf32 as fp32, and bf16 as fp16. */
static void honour_types(struct gemm_samples *samples, const struct cost_device *device)
{
    for (int i = 0; i < samples->count; i++)
        samples->samples[i].type = cost_device_type(device, samples->samples[i].type);
}

static bool fit_gemm(struct report *report, const struct csv *csv, struct error *err)
{
    const char *rows;
    struct gemm_samples samples;
    struct gemm_fit fit;
    if (!find_rows(report, csv, &rows, err) ||
        !gemm_samples_read(&samples, csv, rows, (enum cost_type)report->given->type, err))
        return false;
    honour_types(&samples, report->device);
    bool done = gemm_samples_take_off(&samples, report->given->launch, err) &&
                gemm_fit_samples(&fit, &samples, report->device, err) &&
                add_gemm_lines(report, &fit, &samples, err);
    if (done)
        gemm_fit_write(&fit, new_name(report), report->given->gemm, add_file(report, new_name(report)));
    gemm_samples_release(&samples);
    return done;
}

/* ---- products known before ---- */

static bool is_wanted(const struct report *report, const struct products *products)
{
    return !report->device || strcmp(report->device->name, products->device) == 0;
}

static bool add_known(struct report *report, const struct products *products, enum gemm_left_out left_out,
                      struct error *err)
{
    struct error_score physics, near;
    const char *name =
        arena_format(&report->arena, "%s %s", products->device, cost_type_name(products->type));
    if (!name || !gemm_near_errors(products, left_out, &physics, &near))
        return error_memory(err);
    add_line(report, left_out == GEMM_LEAVE_ROWS ? "rows left out" : "sizes left out", name, &physics, &near);
    return true;
}

static bool score_known(struct report *report, struct error *err)
{
    const struct products *products;
    for (int left_out = GEMM_LEAVE_ROWS; left_out <= GEMM_LEAVE_SIZES; left_out++)
        for (int i = 0; (products = products_known(i)); i++)
            if (is_wanted(report, products) &&
                !add_known(report, products, (enum gemm_left_out)left_out, err))
                return false;
    return report->line_count > 0 ||
           error_set(err, ERROR_INPUT, "no products of '%s' are known", report->device->name);
}

/* ---- collectives ---- */

static bool add_link_lines(struct report *report, const struct link_fit *fit,
                           const struct link_samples *samples, const struct cost_link *start,
                           const struct cost_link *inside, struct error *err)
{
    for (int k = 0; k < COLLECTIVE_KINDS; k++) {
        struct error_score before;
        if (fit->kinds[k].rows == 0)
            continue;
        if (!link_error_of(&before, samples, (enum collective_kind)k, start, inside, err))
            return false;
        add_line(report, start->name, collective_kind_name((enum collective_kind)k), &before, &fit->kinds[k]);
    }
    return true;
}

/* A fitted link keeps its name, so that it takes the place of the known one wherever --links gives the file. */
static bool fit_link(struct report *report, const struct link_samples *samples, const struct cost_link *start,
                     const struct cost_link *inside, struct error *err)
{
    struct link_fit fit;
    if (!link_fit_samples(&fit, samples, start, inside, start->name, err))
        return false;
    bool done = add_link_lines(report, &fit, samples, start, inside, err);
    if (done)
        cost_link_write(&fit.link, add_file(report, start->name));
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

static bool fit_links(struct report *report, const struct link_samples *samples, struct error *err)
{
    const struct calibrate_options *given = report->given;
    if (!tables_ready(err))
        return false;
    const struct cost_link *inside = report->device->link ? tables_link(NULL, report->device->link) : NULL;
    const struct cost_link *across = given->across ? tables_link(NULL, given->across) : NULL;
    if (!inside)
        return error_set(err, ERROR_INPUT, "%s: its link '%s' is not known, see 'rehearse cost --list'",
                         report->device->name, report->device->link ? report->device->link : "");
    if (given->across && !across)
        return tables_unknown(TABLE_LINKS, "--across: ", given->across, err);
    if (!across && !has_rows(samples, false))
        return error_set(err, ERROR_INPUT,
                         "%s: all rows are of several nodes; --across names the link between them",
                         samples->path);
    return (!has_rows(samples, false) || fit_link(report, samples, inside, NULL, err)) &&
           (!across || fit_link(report, samples, across, inside, err));
}

static bool fit_collectives(struct report *report, const struct csv *csv, struct error *err)
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

static bool is_of_generation(const struct run *run, const void *generation)
{
    return strcmp(run->job.device->generation, generation) == 0;
}

static bool fit_runs(struct report *report, struct error *err)
{
    const char *generation = report->device->generation;
    const struct validation_defaults defaults = {.gpu = report->device->name};
    struct validation validation;
    struct runs_fit fit;
    if (!validation_load(&validation, report->given->runs, &defaults, err))
        return false;
    validation_predict(&validation, NULL);
    struct error_score before = validation_score(&validation, is_of_generation, generation);
    bool done = calibrate_runs(&fit, &validation, generation, report->given->runs, err);
    if (done) {
        add_line(report, "runs", generation, &before, &fit.left_out);
        struct text *out = add_file(report, "calibration");
        text_add(out, "format: rehearse-calibration/1\ngenerations:\n");
        calibration_write(&fit.calibration, out);
    }
    validation_release(&validation);
    return done;
}

/* ---- the report ---- */

static void print_head(const struct report *report, struct text *out)
{
    bool known = report->given->known;
    if (report->device)
        text_format(out, "%s, %s\n\n", report->device->name, report->device->title);
    text_format(out, "%-17s %-*s %6s   %-27s   %s\n", "", known ? 19 : 15, "", "",
                known ? "error of the formula" : "error before",
                known ? "with the nearest others" : "after, of rows left out");
    text_format(out, "%-17s %-*s %6s   %8s %8s %8s    %8s %8s %8s\n", known ? "products" : "fitted",
                known ? 19 : 15, "", "rows", "median", "mean", "p90", "median", "mean", "p90");
}

static void print_report(const struct report *report, struct text *out)
{
    print_head(report, out);
    for (int i = 0; i < report->line_count; i++) {
        const struct line *line = &report->lines[i];
        text_format(out, "%-17s %-*s %6d   %6.1f %% %6.1f %% %6.1f %%    %6.1f %% %6.1f %% %6.1f %%\n",
                    line->what, report->given->known ? 19 : 15, line->name, line->after.rows,
                    100 * line->before.median, 100 * line->before.mean, 100 * line->before.p90,
                    100 * line->after.median, 100 * line->after.mean, 100 * line->after.p90);
    }
}

static void write_errors(struct json *json, const char *key, const struct error_score *errors)
{
    json_open_flat(json, key, '{');
    error_score_write(errors, json);
    json_close(json);
}

static void write_report(const struct report *report, struct text *out)
{
    struct json json = {.out = out};
    json_open_document(&json, "rehearse-calibration-fit/1");
    json_string(&json, "device", report->device ? report->device->name : "all");
    json_open(&json, "fitted", '[');
    for (int i = 0; i < report->line_count; i++) {
        const struct line *line = &report->lines[i];
        json_open(&json, NULL, '{');
        json_string(&json, "what", line->what);
        json_string(&json, "name", line->name);
        json_integer(&json, "rows", line->after.rows);
        write_errors(&json, "before", &line->before);
        write_errors(&json, "after", &line->after);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

/* ---- the command ---- */

static bool write_files(struct report *report, struct error *err)
{
    const char *output = report->given->output;
    enum file_kind kind;
    if (!output)
        return true;
    if (!file_look(output, &kind, err))
        return false;
    size_t length = strlen(output);
    bool is_folder = kind == FILE_FOLDER || (length > 0 && output[length - 1] == '/');
    if (!is_folder && report->file_count == 1)
        return output_text(output, &report->files[0].text, err);
    if (!is_folder)
        return error_set(err, ERROR_USAGE, "--output: there are %d files to write: name a folder, '%s/'",
                         report->file_count, output);
    if (!file_make_directory(output, err))
        return false;
    for (int i = 0; i < report->file_count; i++) {
        const char *path = arena_format(&report->arena, "%s/%s.yaml", output, report->files[i].name);
        if (!path)
            return error_memory(err);
        if (!output_text(path, &report->files[i].text, err))
            return false;
    }
    return true;
}

static bool show(const struct report *report, struct error *err)
{
    struct text text = {0};
    if (report->given->output && strcmp(report->given->output, "-") == 0)
        return true; /* where the files went */
    if (report->given->json)
        write_report(report, &text);
    else
        print_report(report, &text);
    return output_and_release(NULL, &text, err);
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
                        profile.devices[d].name ? profile.devices[d].name : "", of->type, of->batch, of->m,
                        of->n, of->k, of->seconds);
        }
    }
    bool done =
        count > 0 ? (!text.failed || error_memory(err)) && csv_parse(csv, path, text.data, text.length, err)
                  : error_set(err, ERROR_INPUT,
                              "%s: has no measured matrix products, as 'rehearse measure layers' writes them",
                              path);
    text_release(&text);
    profile_release(&profile);
    return done;
}

static bool fit_table(struct report *report, const char *path,
                      bool (*fit)(struct report *report, const struct csv *csv, struct error *err),
                      struct error *err)
{
    struct csv csv;
    if (!path)
        return true;
    if (!(doc_is_name(path) ? load_products(&csv, path, err) : csv_load(&csv, path, err)))
        return false;
    bool done = fit(report, &csv, err);
    csv_release(&csv);
    return done;
}

static bool check_options(const struct calibrate_options *given, struct error *err)
{
    bool measured = given->gemm || given->collectives || given->runs;
    if (given->known && (measured || given->output))
        return error_set(err, ERROR_USAGE, "--known fits nothing: it takes no tables and no --output");
    if (given->known)
        return true;
    if (!given->device)
        return error_set(err, ERROR_USAGE, "calibrate: '--device NAME' is missing");
    if (!measured)
        return error_set(err, ERROR_USAGE, "expected at least one of --gemm, --collectives and --runs");
    if (given->across && !given->collectives)
        return error_set(err, ERROR_USAGE, "--across needs --collectives");
    if (given->name && !given->gemm)
        return error_set(err, ERROR_USAGE, "--name needs --gemm: links and generations keep their names");
    if (given->name && (!*given->name || strchr(given->name, '/') || strlen(given->name) > 64))
        return error_set(err, ERROR_USAGE, "--name: expected from 1 to 64 characters without '/', found '%s'",
                         given->name);
    return true;
}

static bool choose_device(struct report *report, struct error *err)
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

static bool run(void *context, struct error *err)
{
    const struct calibrate_options *given = context;
    struct report report = {.given = given};
    bool done = check_options(given, err) && choose_device(&report, err) &&
                (!given->known || score_known(&report, err)) &&
                fit_table(&report, given->gemm, fit_gemm, err) &&
                fit_table(&report, given->collectives, fit_collectives, err) &&
                (!given->runs || fit_runs(&report, err)) && write_files(&report, err) && show(&report, err);
    for (int i = 0; i < report.file_count; i++)
        text_release(&report.files[i].text);
    table_release(&report.table);
    arena_release(&report.arena);
    return done;
}

/* In the order of enum cost_type. */
static const char *const types[] = {"fp64", "fp32", "tf32", "fp16", "bf16", "int8", "fp8", "fp4", NULL};

static const struct option_spec options[] = {
    {.name = "device",
     .letter = 'd',
     .kind = OPTION_TEXT,
     .at = offsetof(struct calibrate_options, device),
     .argument = "NAME",
     .help =
         "the measured device, by name or as a file; only its rows of the tables are used (required, but for "
         "--known)"},
    {.name = "gemm",
     .kind = OPTION_FILE,
     .at = offsetof(struct calibrate_options, gemm),
     .argument = "TABLE",
     .help = "measured matrix products, CSV or a profile of 'rehearse measure layers': fits the device"},
    {.name = "collectives",
     .kind = OPTION_FILE,
     .at = offsetof(struct calibrate_options, collectives),
     .argument = "TABLE",
     .help = "measured collectives (CSV): fits the device's link"},
    {.name = "runs",
     .kind = OPTION_FILE,
     .at = offsetof(struct calibrate_options, runs),
     .argument = "TABLE",
     .help = "measured training runs (CSV, as for 'rehearse validate'): fits the device's generation"},
    {.name = "rows",
     .kind = OPTION_TEXT,
     .at = offsetof(struct calibrate_options, rows),
     .argument = "NAME",
     .help = "the device's name in the tables' column gpu or device, if it differs from its known names"},
    {.name = "type",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct calibrate_options, type),
     .argument = "TYPE",
     .initial = "bf16",
     .words = types,
     .help = "number format of the matrix products, if the table has no column dtype"},
    {.name = "launch",
     .kind = OPTION_QUANTITY,
     .at = offsetof(struct calibrate_options, launch),
     .argument = "TIME",
     .unit = UNIT_TIME,
     .help = "how much of each time in --gemm is launch and not product: it is taken off (2.7 us)"},
    {.name = "known",
     .kind = OPTION_FLAG,
     .at = offsetof(struct calibrate_options, known),
     .help = "print how well the products that come with the program are predicted: by the formula alone, "
             "and with the "
             "nearest other ones"},
    {.name = "across",
     .kind = OPTION_TEXT,
     .at = offsetof(struct calibrate_options, across),
     .argument = "LINK",
     .help = "also fit this link between nodes, to the rows of several nodes"},
    {.name = "name",
     .kind = OPTION_TEXT,
     .at = offsetof(struct calibrate_options, name),
     .argument = "NEW",
     .help = "name of the fitted device; by default its name is kept"},
    OPTION_JSON(struct calibrate_options),
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .at = offsetof(struct calibrate_options, output),
     .argument = "OUT",
     .help = "write the fitted parameters to this file, or into this folder if there are several tables"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"rehearse calibrate --device h100 --gemm gemm.csv --name my-h100 -o my-h100.yaml",
     "a device as measured here"},
    {"rehearse cost --model gpt2-xl --device my-h100.yaml", "and its use"},
    {"rehearse calibrate --device h100 --collectives nccl.csv --across ib-400g -o links/",
     "links inside a node and between nodes"},
    {NULL, NULL},
};

const struct command command_calibrate = {
    .name = "calibrate",
    .summary = "fit a device, its links and its generation to measurements",
    .description =
        "Reads tables of measurements (CSV) and fits to them the parameters that published numbers do not "
        "give: "
        "of the device's matrix products, of its collectives, and of whole training runs. Prints the errors "
        "with the known parameters, and the errors of the fit on rows that it did not see (five fits, each "
        "without a fifth of the rows).\n\n"
        "Columns of matrix products: m, n, k and time_us, time_ms, seconds or flops_per_sec; optionally "
        "batch, dtype and gpu. Of collectives: collective, ranks, bytes and time_us, time_ms or seconds; "
        "optionally nodes and gpu.",
    .options = options,
    .options_size = sizeof(struct calibrate_options),
    .examples = examples,
    .run = run,
};
