/* `rehearse calibrate --known`: how well the measured products and collectives that come with the program are predicted
 * when they are left out. */
#include "api/calibrate/calibrate.h"

#include "core/stop.h"
#include "cost/collective_near.h"
#include "cost/gemm_near.h"
#include "cost/gemm_unseen.h"

#include <stdlib.h>
#include <string.h>

static bool is_asked(const struct calibrate_report *report, enum calibrate_left_out part)
{
    return report->left_out == CALIBRATE_LEAVE_ALL || report->left_out == part;
}

/* ---- products ---- */

static bool add_products(struct calibrate_report *report, const struct products *products,
                         enum calibrate_left_out part, struct error *err)
{
    struct error_score physics, near;
    const char *donor = NULL;
    enum gemm_left_out left_out = part == CALIBRATE_LEAVE_SIZES ? GEMM_LEAVE_SIZES : GEMM_LEAVE_ROWS;
    if (!gemm_near_errors(products, left_out, &physics, &near) ||
        (part == CALIBRATE_LEAVE_GPU && !gemm_unseen_errors(products, &donor, &near)))
        return error_memory(err);
    if (near.rows == 0) /* no other GPU was measured */
        return true;
    const char *name =
        donor ? arena_format(&report->arena, "%s %s as %s", products->device, cost_type_name(products->type),
                             donor)
              : arena_format(&report->arena, "%s %s", products->device, cost_type_name(products->type));
    if (!name)
        return error_memory(err);
    calibrate_add_line(report,
                       part == CALIBRATE_LEAVE_ROWS    ? "rows left out"
                       : part == CALIBRATE_LEAVE_SIZES ? "sizes left out"
                                                       : "gpu left out",
                       name, &physics, &near);
    return true;
}

static bool score_products(struct calibrate_report *report, struct error *err)
{
    static const enum calibrate_left_out parts[] = {CALIBRATE_LEAVE_ROWS, CALIBRATE_LEAVE_SIZES,
                                                    CALIBRATE_LEAVE_GPU};
    const struct products *products;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        for (int i = 0; is_asked(report, parts[p]) && (products = products_known(i)); i++)
            if ((!report->device || strcmp(report->device->name, products->device) == 0) &&
                !add_products(report, products, parts[p], err))
                return false;
    return true;
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
    if (!score_products(report, err))
        return false;
    report->product_lines = report->line_count;
    if (!score_collectives(report, err) || stop_obeyed(err))
        return false;
    return report->line_count > 0 ||
           error_set(err, ERROR_INPUT, "no products or collectives of '%s' are known", report->device->name);
}
