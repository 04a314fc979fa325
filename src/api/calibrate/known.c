/* `rehearse calibrate --known`: how well the measured products and collectives that come with the program are predicted
 * when they are left out. */
#include "api/calibrate/calibrate.h"

#include "core/csv.h"
#include "core/stop.h"
#include "cost/collective_near.h"
#include "cost/gemm_near.h"
#include "devices/measured/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_asked(const struct calibrate_report *report, enum calibrate_left_out part)
{
    return report->left_out == CALIBRATE_LEAVE_ALL || report->left_out == part;
}

static const enum calibrate_left_out parts[] = {CALIBRATE_LEAVE_ROWS, CALIBRATE_LEAVE_SIZES,
                                                CALIBRATE_LEAVE_GPU};
static const char *const part_words[] = {
    [CALIBRATE_LEAVE_ROWS] = "rows left out",
    [CALIBRATE_LEAVE_SIZES] = "sizes left out",
    [CALIBRATE_LEAVE_GPU] = "gpu left out",
};

/* ---- kernels ---- */

/* Errors of predictions beside those of the formula alone. */
struct errors {
    double *formula, *near;
    int count;
};

static void add_error(struct errors *errors, double formula, double near, double measured)
{
    errors->formula[errors->count] = formula / measured - 1;
    errors->near[errors->count++] = near / measured - 1;
}

static bool errors_make(struct errors *errors, int room)
{
    *errors = (struct errors){.formula = calloc(2 * (size_t)room + 1, sizeof(double))};
    errors->near = errors->formula ? errors->formula + room : NULL;
    return errors->formula != NULL;
}

/* Of products the formula's, of others the roofline's. */
static double formula_seconds(const struct cost_device *device, const struct measured *table,
                              const double *sizes)
{
    bool is_batched = strcmp(table->kernel, "batched-product") == 0;
    if (!is_batched && strcmp(table->kernel, "product") != 0)
        return measured_on(table, device, sizes) / exp(measured_log_ratio(table, sizes));
    struct product_size size = {1, llround(sizes[0]), llround(sizes[1]), llround(sizes[2])};
    if (is_batched) /* n, k, m and the batch */
        size =
            (struct product_size){llround(sizes[3]), llround(sizes[2]), llround(sizes[0]), llround(sizes[1])};
    return gemm_time(device, table->type, size).seconds;
}

/* "h100-sxm bf16 vllm" of products, "h100-sxm attention-128 bf16 vllm"; NULL: memory is out. */
static const char *name_of(struct calibrate_report *report, const char *device, const char *kernel,
                           enum cost_type type, const char *software)
{
    bool is_product = strstr(kernel, "product") != NULL;
    return arena_format(&report->arena, "%s %s%s%s %s", device, is_product ? "" : kernel,
                        is_product ? "" : " ", cost_type_name(type), software);
}

/* Of layers of experts, of which there are hundreds of thousands of cells, each fifth. */
static void score_cells(struct errors *errors, const struct measured *table, enum calibrate_left_out part)
{
    const struct cost_device *device = table->device;
    const struct measured *relative = part == CALIBRATE_LEAVE_GPU ? measured_relative(table) : NULL;
    int step = table->shape_axes && table->shape_axes < table->axis_count ? 5 : 1;
    for (int cell = 0; cell < table->cell_count && !stop_wanted(); cell += step) {
        double sizes[MEASURED_MAX_AXES] = {0}, log_ratio;
        if (!table->learned[cell] || (part == CALIBRATE_LEAVE_GPU && !relative))
            continue;
        measured_sizes(table, cell, sizes);
        double measured = measured_on(table, device, sizes), near = 0;
        if (relative)
            near = measured_on(relative, device, sizes);
        else if (measured_left_out(table, cell, part == CALIBRATE_LEAVE_SIZES, &log_ratio))
            near = measured * exp(log_ratio - (double)table->cells[cell]);
        if (near > 0)
            add_error(errors, formula_seconds(device, table, sizes), near, measured);
    }
}

static bool add_kernels(struct calibrate_report *report, const char *what, const char *name,
                        struct errors *errors)
{
    struct error_score formula = error_score_of(errors->formula, errors->count);
    struct error_score near = error_score_of(errors->near, errors->count);
    if (name && errors->count > 0)
        calibrate_add_line(report, what, name, &formula, &near);
    free(errors->formula);
    return name != NULL;
}

static bool score_kernels(struct calibrate_report *report, enum calibrate_left_out part, struct error *err)
{
    const struct measured *table;
    for (int i = 0; (table = measured_known(i)); i++) {
        struct errors errors;
        if (report->device && strcmp(report->device->name, table->device->name) != 0)
            continue;
        if (!errors_make(&errors, table->cell_count))
            return error_memory(err);
        score_cells(&errors, table, part);
        if (!add_kernels(report, part_words[part],
                         name_of(report, table->device->name, table->kernel, table->type, table->software),
                         &errors))
            return error_memory(err);
    }
    return true;
}

/* ---- measured kernels of a file ---- */

enum { FILE_GPU, FILE_KERNEL, FILE_TYPE, FILE_LIBRARY, FILE_SOFTWARE, FILE_TIME, FILE_COLUMNS };
static const char *const file_columns[] = {"gpu", "kernel", "dtype", "library", "software", "time_us"};

static bool same_group(const struct csv *csv, const int *columns, int a, int b)
{
    for (int c = FILE_GPU; c <= FILE_SOFTWARE; c++)
        if (strcmp(csv_cell(csv, a, columns[c]), csv_cell(csv, b, columns[c])) != 0)
            return false;
    return true;
}

static const struct measured *table_of_kernel(const char *kernel)
{
    const struct measured *table;
    for (int i = 0; (table = measured_known(i)); i++)
        if (strcmp(table->kernel, kernel) == 0)
            return table;
    return NULL;
}

/* Scores the rows from `first` that are of one device, type and software. Returns the first of the next; 0: failed. */
static int score_group(struct calibrate_report *report, const struct csv *csv, const int *columns, int first,
                       struct error *err)
{
    const char *gpu = csv_cell(csv, first, columns[FILE_GPU]);
    const char *kernel = csv_cell(csv, first, columns[FILE_KERNEL]);
    const char *library = csv_cell(csv, first, columns[FILE_LIBRARY]);
    const char *software = csv_cell(csv, first, columns[FILE_SOFTWARE]);
    const struct cost_device *device = tables_device(NULL, gpu);
    const struct measured *of = table_of_kernel(kernel), *table;
    enum cost_type type;
    struct errors errors;
    int axes[MEASURED_MAX_AXES], last = first;
    if (!device || !of || !cost_type_find(csv_cell(csv, first, columns[FILE_TYPE]), &type))
        return csv_error(csv, first, columns[device ? of ? FILE_TYPE : FILE_KERNEL : FILE_GPU], err,
                         "unknown: see 'rehearse cost --list' and data/kernels.txt");
    for (int a = 0; a < of->axis_count; a++)
        if (!csv_need(csv, of->axes[a].name, &axes[a], err))
            return 0;
    while (last < csv->row_count && same_group(csv, columns, first, last))
        last++;
    if (!errors_make(&errors, last - first))
        return error_memory(err);
    for (int row = first; row < last; row++) {
        double sizes[MEASURED_MAX_AXES] = {0}, measured;
        bool read = csv_number(csv, row, columns[FILE_TIME], 1e-3, 1e12, &measured, err);
        for (int a = 0; a < of->axis_count && read; a++)
            read = csv_number(csv, row, axes[a], 1, 1e12, &sizes[a], err);
        if (!read) {
            free(errors.formula);
            return 0;
        }
        double near = measured_seconds(kernel, device, type, *library ? library : NULL, sizes, &table);
        if (table)
            add_error(&errors, formula_seconds(device, table, sizes), near, measured * 1e-6);
    }
    if (errors.count == 0) {
        free(errors.formula);
        return csv_error(
            csv, first, columns[FILE_LIBRARY], err,
            "nothing of '%s' in this type was measured on %s or a relative: leave it empty, or take "
            "another library of data/kernels.txt",
            *library ? library : kernel, device->name);
    }
    const char *name = name_of(report, device->name, kernel, type, software);
    if (name && *library && strcmp(software, library) != 0)
        name = arena_format(&report->arena, "%s as %s", name, library);
    return add_kernels(report, "predicted", name, &errors) ? last : error_memory(err);
}

static bool score_file(struct calibrate_report *report, struct error *err)
{
    struct csv csv;
    int columns[FILE_COLUMNS], row = 0;
    if (!csv_load(&csv, report->given->gemm, err))
        return false;
    bool done = true;
    for (int c = 0; c < FILE_COLUMNS && done; c++)
        done = csv_need(&csv, file_columns[c], &columns[c], err);
    while (done && row < csv.row_count) {
        row = score_group(report, &csv, columns, row, err);
        done = row > 0;
    }
    csv_release(&csv);
    report->product_lines = report->line_count;
    return done && !stop_obeyed(err);
}

/* ---- collectives ---- */

/* The errors of all links, by who measured them. */
struct table_errors {
    const char *name;
    double *physics, *near;
    int count;
};

struct all_errors {
    struct table_errors *tables; /* room for one of each row */
    int count, rows;
};

static bool is_of_device(const struct calibrate_report *report, const struct known_collectives *known)
{
    return !report->device || (report->device->link && strcmp(report->device->link, known->link->name) == 0);
}

/* Returns the table of a source, named by its first words; NULL: memory is out. */
static struct table_errors *table_of(struct all_errors *all, const char *source, struct arena *arena)
{
    size_t length = strcspn(source, "(,:");
    while (length > 0 && source[length - 1] == ' ')
        length--;
    for (int i = 0; i < all->count; i++)
        if (strncmp(all->tables[i].name, source, length) == 0 && !all->tables[i].name[length])
            return &all->tables[i];
    struct table_errors *table = &all->tables[all->count];
    *table = (struct table_errors){.name = arena_copy(arena, source, length),
                                   .physics = ARENA_ARRAY(arena, (size_t)all->rows, double),
                                   .near = ARENA_ARRAY(arena, (size_t)all->rows, double)};
    if (!table->name || !table->physics || !table->near)
        return NULL;
    all->count++;
    return table;
}

static void add_scores(struct calibrate_report *report, const char *what, const char *name, double *physics,
                       double *near, int count)
{
    struct error_score before = error_score_of(physics, count), after = error_score_of(near, count);
    calibrate_add_line(report, what, name, &before, &after);
}

static bool add_link(struct calibrate_report *report, struct all_errors *all,
                     const struct known_collectives *known, enum collective_left_out left_out,
                     const char *what)
{
    double *physics = calloc(2 * (size_t)known->count + 1, sizeof *physics);
    if (!physics)
        return false;
    double *near = physics + known->count;
    collective_near_errors(known, left_out, physics, near);
    for (int i = 0; i < known->count; i++) {
        struct table_errors *table = table_of(all, known->sources[known->rows[i].variant], &report->arena);
        if (!table) {
            free(physics);
            return false;
        }
        table->physics[table->count] = physics[i];
        table->near[table->count++] = near[i];
    }
    add_scores(report, what, known->link->name, physics, near, known->count);
    free(physics);
    return true;
}

static bool score_links(struct calibrate_report *report, enum collective_left_out left_out, const char *what,
                        struct error *err)
{
    struct all_errors all = {.count = 0};
    const struct known_collectives *known;
    for (int i = 0; (known = collectives_known(i)); i++)
        all.rows += known->count;
    all.tables = ARENA_ARRAY(&report->arena, (size_t)all.rows + 1, struct table_errors);
    if (!all.tables)
        return error_memory(err);
    for (int i = 0; (known = collectives_known(i)); i++)
        if (is_of_device(report, known) && !add_link(report, &all, known, left_out, what))
            return error_memory(err);
    for (int i = 0; i < all.count && !report->device; i++)
        add_scores(report, what, all.tables[i].name, all.tables[i].physics, all.tables[i].near,
                   all.tables[i].count);
    return true;
}

static bool score_collectives(struct calibrate_report *report, struct error *err)
{
    return (!is_asked(report, CALIBRATE_LEAVE_ROWS) ||
            score_links(report, COLLECTIVE_LEAVE_ROWS, "rows left out", err)) &&
           (!is_asked(report, CALIBRATE_LEAVE_SIZES) ||
            score_links(report, COLLECTIVE_LEAVE_SIZES, "sizes left out", err)) &&
           (!is_asked(report, CALIBRATE_LEAVE_GROUPS) ||
            score_links(report, COLLECTIVE_LEAVE_GROUPS, "groups left out", err));
}

bool calibrate_known(struct calibrate_report *report, struct error *err)
{
    if (report->given->gemm)
        return score_file(report, err);
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        if (is_asked(report, parts[p]) && !score_kernels(report, parts[p], err))
            return false;
    report->product_lines = report->line_count;
    if (!score_collectives(report, err) || stop_obeyed(err))
        return false;
    return report->line_count > 0 ||
           error_set(err, ERROR_INPUT, "no products or collectives of '%s' are known", report->device->name);
}
