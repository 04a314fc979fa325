/* The built-in links against published measurements of collectives.
 *
 * Two errors of each link are held: that of its parameters as they are in data/links.yaml, which were fitted to all rows,
 * and that on rows a fit did not see. Both are
 * printed. */
#include "cost/calibrate/links.h"
#include "cost/collective_known.h"

#include "core/csv.h"
#include "core/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "devices/tables.h"
#include "support/sanitizer.h"

#define MAX_ROWS 20000

struct errors {
    double values[MAX_ROWS];
    int count;
};

static double error_of(const struct cost_link *inside, const struct known_collective *row)
{
    struct collective_group group = {row->devices, row->devices, inside, NULL};
    return fabs(collective_time(row->kind, &group, row->bytes).seconds / row->seconds - 1.0);
}

static void add(struct errors *errors, double error)
{
    assert_true(errors->count < MAX_ROWS);
    errors->values[errors->count++] = error;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct error_score summary(struct errors *errors)
{
    struct error_score error = {.rows = errors->count};
    assert_true(errors->count > 0);
    qsort(errors->values, (size_t)errors->count, sizeof *errors->values, ascending);
    error.median = errors->values[errors->count / 2];
    for (int i = 0; i < errors->count; i++)
        error.mean += errors->values[i] / errors->count;
    return error;
}

static void print(const char *what, const char *of, struct error_score error)
{
    printf("# %-24s %-16s %5d rows: median %4.1f %%, mean %5.1f %%\n", what, of, error.rows,
           100 * error.median, 100 * error.mean);
}

static void expect(const char *what, const char *of, struct error_score error, double most_median)
{
    print(what, of, error);
    if (!(error.median <= most_median))
        fail_msg("%s, %s: expected a median of at most %.1f %%", what, of, 100 * most_median);
}

/* The rows of a link by one source. */
struct measured {
    const char *source; /* its first words */
    const char *link;
    double median;   /* at most */
    double left_out; /* the same of rows that a fit did not see */
};

struct measured_table {
    const char *name;
    double median; /* of all its links */
    int count;
    struct measured measured[9];
};

#define NCCL "NVIDIA aiconfigurator"
#define XLA  "openxla/xla"

static const struct measured_table nccl = {
    NCCL,
    0.045,
    9,
    {{NCCL, "nvlink3", 0.04, 0.05},
     {NCCL, "nvlink4", 0.05, 0.05},
     {NCCL, "nvlink4-h200", 0.05, 0.05},
     {NCCL, "nvlink5", 0.05, 0.05},
     {NCCL, "nvlink5-b300", 0.04, 0.05},
     {NCCL, "nvlink5-gb200", 0.04, 0.04},
     {NCCL, "nvlink5-gb300", 0.05, 0.05},
     {NCCL, "pcie4-l40s", 0.05, 0.06},
     {NCCL, "pcie5", 0.04, 0.05}},
};

static const struct measured_table planners = {
    "planners",
    0.05,
    5,
    {{"vTrain", "nvlink3", 0.08, 0.08},
     {"vTrain", "nvlink2", 0.03, 0.04},
     {"Aceso", "nvlink2-ndv2", 0.05, 0.05},
     {"nnScaler", "infinity-fabric3", 0.05, 0.06},
     {"Galvatron", "nvlink3-torch", 0.04, 0.06}},
};

/* Those of sm_90 and B200 are single measurements, which the sizes next to them tell to no better than 10 %. */
static const struct measured_table xla = {
    XLA,
    0.07,
    5,
    {{XLA, "nvlink4-xla", 0.08, 0.11},
     {XLA, "nvlink5-xla", 0.08, 0.11},
     {XLA, "nvlink5-gb200-xla", 0.07, 0.08},
     {XLA, "nvlink5-gb300-xla", 0.07, 0.08},
     {XLA, "infinity-fabric4-mi350", 0.06, 0.06}},
};

static const struct measured_table *const tables[] = {&nccl, &planners, &xla};

static const struct known_collectives *rows_of(const struct measured *measured)
{
    const struct known_collectives *known = collectives_of(tables_link(NULL, measured->link));
    assert_non_null(known);
    return known;
}

static bool is_of(const struct known_collectives *known, int row, const struct measured *measured)
{
    return text_starts_with(known->sources[known->rows[row].variant], measured->source);
}

/* ---- the parameters of data/links.yaml ---- */

/* Of one link, priced as `link`; kind COLLECTIVE_KINDS: all kinds. */
static void add_all(struct errors *errors, const struct measured *measured, const char *link,
                    enum collective_kind kind)
{
    const struct cost_link *inside = tables_link(NULL, link);
    const struct known_collectives *known = rows_of(measured);
    assert_non_null(inside);
    for (int i = 0; i < known->count; i++)
        if (is_of(known, i, measured) && (kind == COLLECTIVE_KINDS || known->rows[i].kind == kind))
            add(errors, error_of(inside, &known->rows[i]));
}

static void print_kinds(const struct measured *measured)
{
    static struct errors errors;
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
        errors.count = 0;
        add_all(&errors, measured, measured->link, (enum collective_kind)kind);
        if (errors.count > 0)
            print(measured->link, collective_kind_name((enum collective_kind)kind), summary(&errors));
    }
}

static void expect_table(const struct measured_table *table)
{
    static struct errors all, errors;
    all.count = 0;
    for (int i = 0; i < table->count; i++) {
        const struct measured *measured = &table->measured[i];
        print_kinds(measured);
        errors.count = 0;
        add_all(&errors, measured, measured->link, COLLECTIVE_KINDS);
        add_all(&all, measured, measured->link, COLLECTIVE_KINDS);
        expect(measured->link, "all kinds", summary(&errors), measured->median);
    }
    expect(table->name, "", summary(&all), table->median);
}

static void nccl_inside_a_node_is_met(void **state)
{
    (void)state;
    expect_table(&nccl);
}

static void tables_of_planners_are_met(void **state)
{
    (void)state;
    expect_table(&planners);
}

static void xla_inside_a_node_is_met(void **state)
{
    (void)state;
    expect_table(&xla);
}

static void each_kind_of_collective_is_met(void **state)
{
    static struct errors errors[COLLECTIVE_KINDS];
    (void)state;
    memset(errors, 0, sizeof errors);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (int i = 0; i < tables[t]->count; i++)
            for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
                add_all(&errors[kind], &tables[t]->measured[i], tables[t]->measured[i].link,
                        (enum collective_kind)kind);
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
        expect("every table", collective_kind_name((enum collective_kind)kind), summary(&errors[kind]), 0.08);
}

/* What `fitted` says, of rows that were left out, is no better than what the parameters do on all of them. */
static void expect_said(const struct measured *measured)
{
    static struct errors errors;
    const char *said = strstr(tables_link(NULL, measured->link)->fitted, "cross-validated error: median ");
    assert_non_null(said);
    double median = strtod(said + strlen("cross-validated error: median "), NULL) / 100;
    errors.count = 0;
    add_all(&errors, measured, measured->link, COLLECTIVE_KINDS);
    double found = summary(&errors).median;
    if (!(found <= median + 0.005 && median <= measured->left_out))
        fail_msg("%s: said %.1f %%, found %.1f %%", measured->link, 100 * median, 100 * found);
}

static void what_links_say_of_their_error_holds(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (int i = 0; i < tables[t]->count; i++)
            if (t != 1 || strcmp(tables[t]->measured[i].link, "nvlink3") != 0) /* it was fitted to NVIDIA's */
                expect_said(&tables[t]->measured[i]);
}

/* ---- rows that a fit did not see ---- */

/* Of this link only its bandwidth is known, and that few devices or the switch are another matter: the rest is NCCL's. */
static struct cost_link start_of(const struct cost_link *link)
{
    struct cost_link start = *tables_link(NULL, "ib-400g");
    start.bandwidth = link->bandwidth;
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
        const struct link_transfer *from = &link->transfers[kind];
        struct link_transfer *to = &start.transfers[kind];
        to->share_count = from->share_count;
        for (int i = 0; i < from->share_count; i++)
            to->shares[i] = (struct link_share){from->shares[i].devices, 1.0};
        if (from->nvls.rate > 0.0)
            to->nvls = (struct link_switch){30e-6, 0.5, from->nvls.from};
    }
    return start;
}

/* Fits of more rows than this wait for REHEARSE_SLOW: together they take some minutes. */
#define QUICK_ROWS 150

static void expect_blind(const struct measured *measured)
{
    static struct link_sample rows[MAX_ROWS];
    const struct known_collectives *known = rows_of(measured);
    struct link_samples samples = {.path = measured->source, .samples = rows};
    struct cost_link start = start_of(known->link);
    struct link_fit fit;
    struct error err;
    for (int i = 0; i < known->count && samples.count < MAX_ROWS; i++) {
        const struct known_collective *row = &known->rows[i];
        if (is_of(known, i, measured))
            rows[samples.count++] =
                (struct link_sample){row->kind, row->devices, 1, row->bytes, row->seconds};
    }
    if (samples.count > QUICK_ROWS && !getenv("REHEARSE_SLOW"))
        return;
    if (!link_fit_samples(&fit, &samples, &start, NULL, measured->link, &err))
        fail_msg("%s", err.text);
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
        if (fit.kinds[kind].rows > 0)
            print(measured->link, collective_kind_name((enum collective_kind)kind), fit.kinds[kind]);
    expect(measured->link, "left out", fit.all, measured->left_out);
    link_fit_release(&fit);
}

static void expect_table_blind(const struct measured_table *table)
{
    if (SEARCH_STEP > 1)
        skip();
    for (int i = 0; i < table->count; i++)
        expect_blind(&table->measured[i]);
}

static void nccl_is_met_on_rows_left_out(void **state)
{
    (void)state;
    expect_table_blind(&nccl);
}

static void tables_of_planners_are_met_on_rows_left_out(void **state)
{
    (void)state;
    expect_table_blind(&planners);
}

static void xla_is_met_on_rows_left_out(void **state)
{
    (void)state;
    expect_table_blind(&xla);
}

/* A link that was not measured is described by `like` one that was: with the parameters of the other GPU. */
static void links_carry_over_to_their_next_of_kin(void **state)
{
    static const struct {
        struct measured measured;
        const char *as;
    } kin[] = {{{NCCL, "nvlink4-h200", 0.08, 0.0}, "nvlink4"},
               {{NCCL, "nvlink4", 0.08, 0.0}, "nvlink4-h200"},
               {{NCCL, "nvlink5-b300", 0.08, 0.0}, "nvlink5"},
               {{NCCL, "nvlink5-gb300", 0.08, 0.0}, "nvlink5-gb200"},
               {{NCCL, "nvlink5-gb200", 0.10, 0.0}, "nvlink5"}};
    static struct errors errors;
    (void)state;
    for (size_t i = 0; i < sizeof kin / sizeof *kin; i++) {
        errors.count = 0;
        add_all(&errors, &kin[i].measured, kin[i].as, COLLECTIVE_KINDS);
        expect(kin[i].as, kin[i].measured.link, summary(&errors), kin[i].measured.median);
    }
}

/* Reads a table that comes with the source. */
static void load(struct csv *csv, const char *relative)
{
    struct error err;
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", root ? root : ".", relative);
    if (!csv_load(csv, path, &err))
        fail_msg("%s", err.text);
}

/* ---- across nodes: SimAI's efficiency of all-gathers and all-to-alls on 2 to 128 nodes of 8 ---- */

/* Of the ports: a ring uses the eight of a node at once, an all-to-all sends what leaves the node. */
static double efficiency(enum collective_kind kind, int nodes, double bytes)
{
    const struct cost_link *far = tables_link(NULL, "ib-400g");
    struct collective_group group = {8 * nodes, 8, tables_link(NULL, "nvlink4"), far};
    double ideal = kind == COLLECTIVE_ALL_GATHER
                       ? bytes * (8 * nodes - 1) / (8 * nodes) / (8 * far->bandwidth)
                       : bytes * (nodes - 1) / nodes / far->bandwidth;
    return ideal / collective_time(kind, &group, bytes).seconds;
}

static void efficiency_falls_with_nodes_as_measured(void **state)
{
    static const struct {
        const char *file;
        enum collective_kind kind;
    } files[] = {{"tests/data/collectives/simai-all-gather.csv", COLLECTIVE_ALL_GATHER},
                 {"tests/data/collectives/simai-all-to-all.csv", COLLECTIVE_ALL_TO_ALL}};
    (void)state;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        static struct errors errors;
        struct csv csv = {0};
        errors.count = 0;
        load(&csv, files[f].file);
        for (int i = 0; i < csv.row_count; i++)
            for (int column = 2; column <= 8; column++) {
                double measured = strtod(csv_cell(&csv, i, column), NULL);
                if (measured > 0.0)
                    add(&errors, fabs(efficiency(files[f].kind, 1 << (column - 1),
                                                 strtod(csv_cell(&csv, i, 0), NULL)) /
                                          measured -
                                      1.0));
            }
        expect("ib-400g", collective_kind_name(files[f].kind), summary(&errors), 0.12);
        csv_release(&csv);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nccl_inside_a_node_is_met),
        cmocka_unit_test(tables_of_planners_are_met),
        cmocka_unit_test(xla_inside_a_node_is_met),
        cmocka_unit_test(each_kind_of_collective_is_met),
        cmocka_unit_test(what_links_say_of_their_error_holds),
        cmocka_unit_test(nccl_is_met_on_rows_left_out),
        cmocka_unit_test(tables_of_planners_are_met_on_rows_left_out),
        cmocka_unit_test(xla_is_met_on_rows_left_out),
        cmocka_unit_test(links_carry_over_to_their_next_of_kin),
        cmocka_unit_test(efficiency_falls_with_nodes_as_measured),
    };
    return cmocka_run_group_tests_name("collective_tables", tests, NULL, NULL);
}
