/* Makers and timing against makespans, spans and peaks that a public generator's orders had in another simulator
 * (reference: training/schedules). */
#include "core/csv.h"
#include "schedule/schedule.h"
#include "support/reference.h"
#include "support/sanitizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_STAGES 4096

struct golden_row {
    const char *name;
    struct schedule_shape shape;
    double makespan, span, peak;
    struct pass_cost costs[MAX_STAGES];
};

static double number(const struct csv *csv, int row, const char *column)
{
    struct error err;
    double value;
    if (!csv_number(csv, row, csv_column(csv, column), 0, 1e9, &value, &err))
        fail_msg("%s", err.text);
    return value;
}

static void load(struct csv *csv, const char *path)
{
    struct error err;
    if (!csv_load(csv, path, &err))
        fail_msg("%s", err.text);
}

static void read_row(const struct csv *csv, int row, struct golden_row *golden)
{
    bool two_chains =
        csv_column(csv, "chunks") < 0; /* the file of DualPipe: a device has two stages of a chain */
    int chunks = two_chains ? 1 : (int)number(csv, row, "chunks");
    int stages = (int)number(csv, row, "p") * (two_chains ? 2 : chunks);
    golden->name = csv_cell(csv, row, csv_column(csv, "schedule"));
    golden->shape = (struct schedule_shape){.devices = (int)number(csv, row, "p"),
                                            .microbatches = (int)number(csv, row, "m")};
    golden->makespan = number(csv, row, "makespan");
    golden->span = number(csv, row, "max_stage_span");
    golden->peak = number(csv, row, "peak_activation_microbatches");
    for (int stage = 0; stage < stages; stage++)
        golden->costs[stage] = (struct pass_cost){.forward = number(csv, row, "f") / chunks,
                                                  .input = number(csv, row, "b") / chunks,
                                                  .weight = number(csv, row, "w") / chunks,
                                                  .send_forward = number(csv, row, "comm"),
                                                  .send_backward = number(csv, row, "comm"),
                                                  .kept = 1.0 / chunks,
                                                  .kept_for_weight = 1.0 / chunks};
}

static void time_row(const struct golden_row *golden, const char *name, struct timing *timing)
{
    struct error err;
    struct pass_order order;
    struct schedule_shape shape = golden->shape;
    struct timing_options options = {.costs = golden->costs};
    *timing = (struct timing){.extent.makespan = 0.0};
    shape.timing = &options;
    const struct schedule *schedule = schedule_find(name, &shape.chunks, &err);
    if (schedule == NULL || !schedule_make(schedule, &shape, &order, &err) ||
        !timing_of_order(&order, &options, false, timing, &err))
        fail_msg("%s: %s", golden->name, err.text);
    pass_order_release(&order);
}

static void assert_near(const struct golden_row *golden, const char *what, double found, double expected)
{
    if (fabs(found - expected) > 1e-9 * fmax(1.0, expected))
        fail_msg("%s, %d devices, %d micro-batches: %s %.12g, expected %.12g", golden->name,
                 golden->shape.devices, golden->shape.microbatches, what, found, expected);
}

static void assert_row(const struct golden_row *golden, const struct timing *timing)
{
    assert_near(golden, "makespan", timing->extent.makespan, golden->makespan);
    assert_near(golden, "span", timing->extent.span, golden->span);
    assert_near(golden, "peak", timing->peak, golden->peak);
}

static void orders_with_full_backward_passes_are_golden(void **state)
{
    (void)state;
    char *path = reference_path("training/schedules/golden_schedules.csv");
    if (path == NULL)
        skip();
    struct csv csv;
    struct golden_row *golden = malloc(sizeof *golden);
    int rows = 0;
    assert_non_null(golden);
    load(&csv, path);
    for (int row = 0; row < csv.row_count; row++) {
        struct timing timing;
        read_row(&csv, row, golden);
        if (strcmp(golden->name, "GPipe") != 0 && strcmp(golden->name, "1F1B") != 0 &&
            strncmp(golden->name, "interleaved", 11) != 0)
            continue;
        time_row(golden, golden->name, &timing);
        assert_row(golden, &timing);
        timing_release(&timing);
        rows++;
    }
    printf("# %d rows\n", rows);
    assert_true(rows > 0);
    csv_release(&csv);
    free(golden);
    free(path);
}

struct tally {
    int better, equal, worse;
};

static void judge_row(const struct golden_row *golden, const char *name, double worst, struct tally *tally)
{
    struct timing timing;
    time_row(golden, name, &timing);
    double ratio = timing.extent.makespan / golden->makespan;
    tally->better += ratio < 1 - 1e-9;
    tally->worse += ratio > 1 + 1e-9;
    tally->equal += fabs(ratio - 1) <= 1e-9;
    if (timing.peak > golden->peak * (1 + 1e-9) || ratio > worst)
        fail_msg("%s for %s, %d devices, %d micro-batches: makespan %.12g, peak %.12g, recorded %.12g, %.12g",
                 name, golden->name, golden->shape.devices, golden->shape.microbatches,
                 timing.extent.makespan, timing.peak, golden->makespan, golden->peak);
    timing_release(&timing);
}

/* The rows of V shapes are results of a heuristic: none is exact. List scheduling is at most 3 % slower, searched orders are
 * never slower, and none needs more memory. */
static void v_shapes_are_about_as_good(void **state)
{
    (void)state;
    char *path = reference_path("training/schedules/golden_schedules.csv");
    if (path == NULL)
        skip();
    struct csv csv;
    struct golden_row *golden = malloc(sizeof *golden);
    struct tally listed = {0}, searched = {0};
    assert_non_null(golden);
    load(&csv, path);
    for (int row = 0; row < csv.row_count; row += SEARCH_STEP) {
        read_row(&csv, row, golden);
        bool zb_v = strcmp(golden->name, "ZBV") == 0;
        if (!zb_v && strncmp(golden->name, "V1F1B", 5) != 0)
            continue;
        judge_row(golden, zb_v ? "zb-v" : "v-half", 1.03, &listed);
        judge_row(golden, golden->name, 1 + 1e-9, &searched);
    }
    printf("# list scheduling: %d rows better, %d equal, %d worse\n", listed.better, listed.equal,
           listed.worse);
    printf("# by their own names: %d rows better, %d equal\n", searched.better, searched.equal);
    if (SEARCH_STEP == 1)
        assert_true(listed.better > listed.worse && searched.better > listed.better / 2);
    csv_release(&csv);
    free(golden);
    free(path);
}

static void dualpipe_is_golden(void **state)
{
    (void)state;
    char *path = reference_path("training/simulate/golden_dualpipe.csv");
    if (path == NULL)
        skip();
    struct csv csv;
    struct golden_row *golden = malloc(sizeof *golden);
    assert_non_null(golden);
    load(&csv, path);
    for (int row = 0; row < csv.row_count; row++) {
        struct timing timing;
        read_row(&csv, row, golden);
        time_row(golden, golden->name, &timing);
        assert_row(golden, &timing);
        timing_release(&timing);
    }
    printf("# %d rows\n", csv.row_count);
    csv_release(&csv);
    free(golden);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_with_full_backward_passes_are_golden),
        cmocka_unit_test(v_shapes_are_about_as_good),
        cmocka_unit_test(dualpipe_is_golden),
    };
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
