/* The built-in links against published measurements of collectives.
 *
 * Two errors of each link are held: that of its parameters as they are in data/links.yaml, which were fitted to all rows,
 * and that on rows a fit did not see. Both are
 * printed. */
#include "cost/calibrate/links.h"
#include "cost/collective.h"

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

static double error_of(const struct cost_link *inside, const struct link_sample *sample)
{
    struct collective_group group = {sample->devices, sample->devices, inside, NULL};
    return fabs(collective_time(sample->kind, &group, sample->bytes).seconds / sample->seconds - 1.0);
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

/* Reads a table that comes with the source. False: it is packed, and the program was built without zlib. */
static bool load(struct csv *csv, const char *relative)
{
    struct error err;
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", root ? root : ".", relative);
    bool loaded = csv_load(csv, path, &err), packed = !loaded && strstr(err.text, "zlib");
    if (packed)
        printf("# skipped: %s\n", err.text);
    else if (!loaded)
        fail_msg("%s", err.text);
    return loaded;
}

static const char *cell(const struct csv *csv, int row, const char *column)
{
    return csv_cell(csv, row, csv_column(csv, column));
}

static double number(const struct csv *csv, int row, const char *column)
{
    return strtod(cell(csv, row, column), NULL);
}

/* "all-reduce", "allreduce", "all_reduce". */
static bool kind_of(const char *text, enum collective_kind *kind)
{
    static const struct {
        const char *word;
        enum collective_kind kind;
    } words[] = {
        {"allreduce", COLLECTIVE_ALL_REDUCE},         {"allgather", COLLECTIVE_ALL_GATHER},
        {"reducescatter", COLLECTIVE_REDUCE_SCATTER}, {"alltoall", COLLECTIVE_ALL_TO_ALL},
        {"all2all", COLLECTIVE_ALL_TO_ALL},           {"p2pintranode", COLLECTIVE_SEND},
        {"collectivepermute", COLLECTIVE_SEND},
    };
    char word[64];
    size_t length = 0;
    for (; *text && length + 1 < sizeof word; text++)
        if (!strchr("-_ ", *text))
            word[length++] = *text;
    word[length] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0) {
            *kind = words[i].kind;
            return true;
        }
    return false;
}

/* ---- rows of the three tables; false: not one of this device in one node ---- */

/* NVIDIA aiconfigurator: NCCL 2.26 to 2.29. */
static bool nccl_row(const struct csv *csv, int i, const char *folder, struct link_sample *sample)
{
    sample->devices = (int)number(csv, i, "ranks");
    sample->bytes = number(csv, i, "bytes");
    sample->seconds = number(csv, i, "time_us") * 1e-6;
    return text_starts_with(cell(csv, i, "source"), folder) &&
           kind_of(cell(csv, i, "collective"), &sample->kind);
}

/* What planners were given: vTrain, Aceso, nnScaler, Galvatron. */
static bool planner_row(const struct csv *csv, int i, const char *gpu, struct link_sample *sample)
{
    if (strcmp(cell(csv, i, "gpu"), gpu) != 0 || number(csv, i, "nodes") != 1.0 ||
        !kind_of(cell(csv, i, "collective"), &sample->kind))
        return false;
    sample->devices = (int)number(csv, i, "ranks");
    sample->bytes = number(csv, i, "bytes");
    /* Aceso's all-gathers are listed by what one device gives: their rates fall with the number of devices by as
     * much as this makes good */
    if (strcmp(gpu, "V100-SXM2-32GB") == 0 && sample->kind == COLLECTIVE_ALL_GATHER)
        sample->bytes *= sample->devices;
    sample->seconds = number(csv, i, "time_us") * 1e-6;
    if (sample->seconds <= 0.0)
        sample->seconds = sample->bytes / (number(csv, i, "busbw_GBps") * 1e9);
    return sample->bytes >= 128.0;
}

/* openxla/xla: rates of the shapes it was asked for. */
static bool xla_row(const struct csv *csv, int i, const char *device, struct link_sample *sample)
{
    if (strcmp(cell(csv, i, "device"), device) != 0 || !kind_of(cell(csv, i, "opcode"), &sample->kind))
        return false;
    sample->devices = sample->kind == COLLECTIVE_SEND ? 2 : (int)number(csv, i, "devices_per_group");
    sample->bytes = strcmp(cell(csv, i, "dtype"), "BF16") == 0 ? 2.0 : 4.0;
    const char *at = cell(csv, i, "dims");
    for (char *end; *at; at = *end ? end + 1 : end)
        sample->bytes *= strtod(at, &end);
    if (sample->kind == COLLECTIVE_REDUCE_SCATTER) /* the table has the result's shape */
        sample->bytes *= sample->devices;
    sample->seconds = sample->bytes / number(csv, i, "network_throughput_Bps");
    return isfinite(sample->seconds) && sample->bytes >= 128.0;
}

struct measured {
    const char *device, *link;
    double median;   /* at most */
    double left_out; /* the same of rows that a fit did not see */
};

struct measured_table {
    const char *file;
    bool (*row)(const struct csv *csv, int i, const char *device, struct link_sample *sample);
    double median; /* of all its links */
    int count;
    struct measured measured[9];
};

static const struct measured_table nccl = {
    "tests/data/collectives/nccl.csv.gz",
    nccl_row,
    0.045,
    9,
    {{"a100_sxm/", "nvlink3", 0.04, 0.05},
     {"h100_sxm/", "nvlink4", 0.05, 0.05},
     {"h200_sxm/", "nvlink4-h200", 0.05, 0.05},
     {"b200_sxm/", "nvlink5", 0.05, 0.05},
     {"b300_sxm/", "nvlink5-b300", 0.04, 0.05},
     {"gb200/", "nvlink5-gb200", 0.04, 0.04},
     {"gb300/", "nvlink5-gb300", 0.05, 0.05},
     {"l40s/", "pcie4-l40s", 0.05, 0.06},
     {"rtx_pro_6000_server/", "pcie5", 0.04, 0.05}},
};

static const struct measured_table planners = {
    "tests/data/collectives/planners.csv.gz",
    planner_row,
    0.05,
    5,
    {{"A100-SXM4-80GB", "nvlink3", 0.08, 0.08},
     {"V100-SXM2", "nvlink2", 0.03, 0.04},
     {"V100-SXM2-32GB", "nvlink2-ndv2", 0.05, 0.05},
     {"MI200", "infinity-fabric3", 0.05, 0.06},
     {"A100 (Galvatron testbed)", "nvlink3-torch", 0.04, 0.06}},
};

/* Those of sm_90 and B200 are single measurements, which the sizes next to them tell to no better than 10 %. */
static const struct measured_table xla = {
    "tests/data/collectives/xla.csv.gz",
    xla_row,
    0.07,
    5,
    {{"sm_90", "nvlink4-xla", 0.08, 0.11},
     {"sm_100_B200", "nvlink5-xla", 0.08, 0.11},
     {"sm_100_GB200", "nvlink5-gb200-xla", 0.07, 0.08},
     {"sm_103", "nvlink5-gb300-xla", 0.07, 0.08},
     {"gfx950", "infinity-fabric4-mi350", 0.06, 0.06}},
};

/* ---- the parameters of data/links.yaml ---- */

/* Of one link; kind COLLECTIVE_KINDS: all kinds. */
static void add_all(struct errors *errors, const struct csv *csv, const struct measured_table *table,
                    const struct measured *measured, enum collective_kind kind)
{
    const struct cost_link *link = tables_link(NULL, measured->link);
    assert_non_null(link);
    for (int i = 0; i < csv->row_count; i++) {
        struct link_sample sample;
        if (table->row(csv, i, measured->device, &sample) &&
            (kind == COLLECTIVE_KINDS || sample.kind == kind))
            add(errors, error_of(link, &sample));
    }
}

static void print_kinds(const struct csv *csv, const struct measured_table *table,
                        const struct measured *measured)
{
    static struct errors errors;
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
        errors.count = 0;
        add_all(&errors, csv, table, measured, (enum collective_kind)kind);
        if (errors.count > 0)
            print(measured->link, collective_kind_name((enum collective_kind)kind), summary(&errors));
    }
}

static void expect_table(const struct measured_table *table)
{
    static struct errors all, errors;
    struct csv csv = {0};
    if (!load(&csv, table->file))
        skip();
    all.count = 0;
    for (int i = 0; i < table->count; i++) {
        const struct measured *measured = &table->measured[i];
        print_kinds(&csv, table, measured);
        errors.count = 0;
        add_all(&errors, &csv, table, measured, COLLECTIVE_KINDS);
        add_all(&all, &csv, table, measured, COLLECTIVE_KINDS);
        expect(measured->link, "all kinds", summary(&errors), measured->median);
    }
    expect(table->file, "", summary(&all), table->median);
    csv_release(&csv);
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
    static const struct measured_table *const tables[] = {&nccl, &planners, &xla};
    static struct errors errors[COLLECTIVE_KINDS];
    (void)state;
    memset(errors, 0, sizeof errors);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        struct csv csv = {0};
        if (!load(&csv, tables[t]->file))
            skip();
        for (int i = 0; i < tables[t]->count; i++)
            for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
                add_all(&errors[kind], &csv, tables[t], &tables[t]->measured[i], (enum collective_kind)kind);
        csv_release(&csv);
    }
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
        expect("every table", collective_kind_name((enum collective_kind)kind), summary(&errors[kind]), 0.08);
}

/* What `fitted` says, of rows that were left out, is no better than what the parameters do on all of them. */
static void what_links_say_of_their_error_holds(void **state)
{
    static const struct measured_table *const tables[] = {&nccl, &planners, &xla};
    static struct errors errors;
    (void)state;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        struct csv csv = {0};
        if (!load(&csv, tables[t]->file))
            skip();
        for (int i = 0; i < tables[t]->count; i++) {
            const struct measured *measured = &tables[t]->measured[i];
            const char *said =
                strstr(tables_link(NULL, measured->link)->fitted, "cross-validated error: median ");
            assert_non_null(said);
            double median = strtod(said + strlen("cross-validated error: median "), NULL) / 100;
            if (strcmp(measured->device, "A100-SXM4-80GB") == 0) /* not what nvlink3 was fitted to */
                continue;
            errors.count = 0;
            add_all(&errors, &csv, tables[t], measured, COLLECTIVE_KINDS);
            double found = summary(&errors).median;
            if (!(found <= median + 0.005 && median <= measured->left_out))
                fail_msg("%s: said %.1f %%, found %.1f %%", measured->link, 100 * median, 100 * found);
        }
        csv_release(&csv);
    }
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

static void expect_blind(const struct measured_table *table, const struct csv *csv,
                         const struct measured *measured)
{
    static struct link_sample rows[MAX_ROWS];
    struct link_samples samples = {.path = table->file, .samples = rows};
    struct cost_link start = start_of(tables_link(NULL, measured->link));
    struct link_fit fit;
    struct error err;
    for (int i = 0; i < csv->row_count && samples.count < MAX_ROWS; i++)
        if (table->row(csv, i, measured->device, &rows[samples.count]))
            rows[samples.count++].nodes = 1;
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
    struct csv csv = {0};
    if (SEARCH_STEP > 1 || !load(&csv, table->file))
        skip();
    for (int i = 0; i < table->count; i++)
        expect_blind(table, &csv, &table->measured[i]);
    csv_release(&csv);
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
    static const struct measured kin[] = {{"h200_sxm/", "nvlink4", 0.08, 0.0},
                                          {"h100_sxm/", "nvlink4-h200", 0.08, 0.0},
                                          {"b300_sxm/", "nvlink5", 0.08, 0.0},
                                          {"gb300/", "nvlink5-gb200", 0.08, 0.0},
                                          {"gb200/", "nvlink5", 0.10, 0.0}};
    static struct errors errors;
    struct csv csv = {0};
    (void)state;
    if (!load(&csv, nccl.file))
        skip();
    for (size_t i = 0; i < sizeof kin / sizeof *kin; i++) {
        errors.count = 0;
        add_all(&errors, &csv, &nccl, &kin[i], COLLECTIVE_KINDS);
        expect(kin[i].link, kin[i].device, summary(&errors), kin[i].median);
    }
    csv_release(&csv);
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
        if (!load(&csv, files[f].file))
            skip();
        for (int i = 0; i < csv.row_count; i++)
            for (int column = 2; column <= 8; column++) {
                double measured = strtod(csv_cell(&csv, i, column), NULL);
                if (measured > 0.0)
                    add(&errors, fabs(efficiency(files[f].kind, 1 << (column - 1), number(&csv, i, "bytes")) /
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
