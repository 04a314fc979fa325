/* Measured kernels: a learned cell has its time, a hole lies between its neighbours, another device has the ratios of its
 * relative, and nothing is faster than the peak. */
#include "devices/measured/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "devices/tables.h"

static const struct cost_device *find(const char *name)
{
    const struct cost_device *device = tables_device(NULL, name);
    assert_non_null(device);
    return device;
}

static double product(const char *device, enum cost_type type, const char *software, double m, double n,
                      double k, const struct measured **table)
{
    const struct measured *room;
    const double sizes[] = {m, n, k};
    return measured_seconds("product", find(device), type, software, sizes, table ? table : &room);
}

static void at_most_half_of_the_cells_are_learned(void **state)
{
    const struct measured *table;
    int tables = 0;
    (void)state;
    for (; (table = measured_known(tables)); tables++) {
        int learned = 0;
        const char *device = table->device->name;
        assert_true(strcmp(device, "h200") != 0 && strcmp(device, "b300") != 0 &&
                    strcmp(device, "gb300") != 0);
        assert_null(strstr(table->title, "SGLang"));
        for (int cell = 0; cell < table->cell_count; cell++) {
            learned += table->learned[cell];
            assert_true(isfinite(table->cells[cell]));
        }
        bool is_grid =
            table->shape_axes < table->axis_count; /* all of NeuSight's and XLA's rows are learned */
        assert_true(learned >= 20 && learned <= (is_grid ? (table->cell_count + 1) / 2 : table->cell_count));
    }
    assert_true(tables > 30);
}

static void a_cell_has_its_ratio_and_a_hole_the_mean_of_its_neighbours(void **state)
{
    const struct measured *table = measured_known(0);
    uint64_t random = 5;
    int holes = 0;
    (void)state;
    for (int i = 0; i < 2000; i++) {
        int cell = (int)(random_next(&random) % (uint64_t)table->cell_count), around = 0;
        double sizes[MEASURED_MAX_AXES], sum = 0;
        measured_sizes(table, cell, sizes);
        assert_float_equal(measured_log_ratio(table, sizes), table->cells[cell], 1e-3);
        for (int axis = 0, stride = table->cell_count; axis < table->axis_count; axis++) {
            stride /= table->axes[axis].count;
            int at = cell / stride % table->axes[axis].count;
            for (int step = -1; step <= 1; step += 2)
                if (at + step >= 0 && at + step < table->axes[axis].count &&
                    table->learned[cell + step * stride]) {
                    sum += (double)table->cells[cell + step * stride];
                    around++;
                }
        }
        if (table->learned[cell] || around == 0)
            continue;
        assert_float_equal(table->cells[cell], sum / around, 1e-5);
        holes++;
    }
    assert_true(holes > 100);
}

static void outside_of_the_grid_the_ratio_stays(void **state)
{
    const struct measured *table = measured_known(0);
    const double small[] = {1, 1, 1}, large[] = {1e9, 1e9, 1e9};
    (void)state;
    assert_float_equal(measured_log_ratio(table, small), table->cells[0], 1e-6);
    assert_float_equal(measured_log_ratio(table, large), table->cells[table->cell_count - 1], 1e-6);
}

static void a_software_has_its_own_times_and_narrow_types_the_fastest(void **state)
{
    const struct measured *table;
    (void)state;
    double one = product("h100-sxm", COST_FP8, "tensorrt-llm", 4096, 4096, 4096, &table);
    assert_string_equal(table->software, "tensorrt-llm");
    double other = product("h100-sxm", COST_FP8, "vllm", 4096, 4096, 4096, &table);
    assert_string_equal(table->software, "vllm");
    assert_true(one != other);
    assert_true(product("h100-sxm", COST_FP8, NULL, 4096, 4096, 4096, NULL) <= fmin(one, other));
    assert_true(product("h100-sxm", COST_BF16, NULL, 4096, 4096, 4096, &table) > 0);
    assert_string_equal(table->software, "tensorrt-llm");
    assert_true(product("h100-sxm", COST_BF16, "no such", 4096, 4096, 4096, &table) == 0);
    assert_null(table);
}

static void a_relative_stands_in_for_a_device(void **state)
{
    static const char *const pairs[][2] = {
        {"h200", "h100-sxm"}, {"b300", "b200"}, {"gb300", "gb200"}, {"h800", "h100-sxm"}};
    const struct measured *table;
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        product(pairs[i][0], COST_BF16, NULL, 4096, 4096, 4096, &table);
        assert_non_null(table);
        assert_string_equal(table->device->name, pairs[i][1]);
    }
    assert_true(product("h200", COST_BF16, NULL, 16, 16384, 16384, NULL) <
                product("h100-sxm", COST_BF16, NULL, 16, 16384, 16384, NULL));   /* faster memory */
    assert_true(product("h20", COST_BF16, NULL, 4096, 4096, 4096, &table) == 0); /* fewer units */
    assert_true(product("mi300x", COST_BF16, NULL, 4096, 4096, 4096, &table) == 0);
    struct cost_device mine = *find("h100-sxm");
    mine.gemm[COST_BF16].efficiency *= 0.9; /* as calibrated by a user */
    const double sizes[] = {4096, 4096, 4096};
    assert_true(measured_seconds("product", &mine, COST_BF16, NULL, sizes, &table) == 0);
}

/* Attention of B300 is faster than that of B200 by more than its memory and its clock: by its powers. */
static void attention_is_known_by_heads_and_length(void **state)
{
    const struct measured *table;
    const double sizes[] = {128, 4096}, longer[] = {128, 8192};
    (void)state;
    double seconds = measured_seconds("attention-128", find("b200"), COST_BF16, NULL, sizes, &table);
    assert_non_null(table);
    assert_string_equal(table->software, "vllm");
    double ultra = measured_seconds("attention-128", find("b300"), COST_BF16, NULL, sizes, &table);
    assert_true(ultra < seconds / 1.1 && ultra > seconds / 1.3);
    double twice = measured_seconds("attention-128", find("b200"), COST_BF16, NULL, longer, &table);
    assert_true(twice > 3 * seconds && twice < 4.5 * seconds);
    double latent = measured_seconds("attention-mla", find("b200"), COST_BF16, NULL, longer, &table);
    assert_true(latent > twice && latent < 2 * twice); /* 320 products for each 256 */
    assert_true(measured_seconds("attention-100", find("b200"), COST_BF16, NULL, sizes, &table) == 0);
}

static void nothing_is_faster_than_the_peak(void **state)
{
    static const char *const devices[] = {"a100-80gb", "h100-sxm", "h200", "b200", "b300", "gb300", "l40s"};
    static const enum cost_type types[] = {COST_BF16, COST_FP8, COST_FP4};
    uint64_t random = 11;
    int found = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        const struct cost_device *device = find(devices[random_next(&random) % 7]);
        enum cost_type type = types[random_next(&random) % 3];
        double sizes[3];
        const struct measured *table;
        for (int s = 0; s < 3; s++)
            sizes[s] = floor(exp2(17 * random_uniform(&random)));
        double seconds = measured_seconds("product", device, type, NULL, sizes, &table);
        found += table != NULL;
        assert_true(!table ||
                    2 * sizes[0] * sizes[1] * sizes[2] / seconds <= device->peak[type] * (1 + 1e-9));
    }
    assert_true(found > 10000);
}

static void what_is_left_out_comes_from_the_others(void **state)
{
    const struct measured *table = measured_known(0);
    int found = 0, all = 0;
    (void)state;
    for (int cell = 0; cell < table->cell_count; cell++) {
        double log_ratio;
        if (!table->learned[cell])
            continue;
        all++;
        found += measured_left_out(table, cell, false, &log_ratio) &&
                 fabs(log_ratio - (double)table->cells[cell]) < 0.1;
    }
    assert_true(4 * found > 3 * all);
}

/* Where sizes lie on no grid, a shape that was measured has its own ratio and one between others that of the nearest. */
static void experts_are_known_by_shapes(void **state)
{
    const struct measured *table;
    const double mixtral[] = {4096, 14336, 8, 2, 1, 512}, half[] = {4096, 7168, 8, 2, 1, 512},
                 between[] = {4096, 10000, 8, 2, 1, 512}, more[] = {4096, 14336, 8, 2, 1, 8192};
    (void)state;
    const struct cost_device *device = find("h100-sxm");
    double seconds = measured_seconds("experts", device, COST_BF16, "vllm-triton", mixtral, &table);
    assert_non_null(table);
    assert_int_equal(table->shape_axes, MEASURED_EXPERTS_SHAPE);
    assert_float_equal(seconds, 1.8e-3, 0.1e-3); /* 1,792 us */
    double narrower = measured_on(table, device, half), middle = measured_on(table, device, between);
    assert_true(narrower < middle && middle < seconds);
    double long_one = measured_on(table, device, more);
    assert_true(long_one > 6 * seconds && long_one < 16 * seconds);
    assert_true(measured_seconds("experts", find("h200"), COST_BF16, "vllm-triton", mixtral, &table) <
                seconds);
    assert_true(measured_seconds("experts-skewed", device, COST_BF16, "vllm-triton", mixtral, &table) >
                seconds);
    for (int shape = 1; shape < table->shape_count; shape++)
        assert_true(table->shapes[(shape - 1) * table->shape_axes] <=
                    table->shapes[shape * table->shape_axes]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_most_half_of_the_cells_are_learned),
        cmocka_unit_test(a_cell_has_its_ratio_and_a_hole_the_mean_of_its_neighbours),
        cmocka_unit_test(outside_of_the_grid_the_ratio_stays),
        cmocka_unit_test(a_software_has_its_own_times_and_narrow_types_the_fastest),
        cmocka_unit_test(a_relative_stands_in_for_a_device),
        cmocka_unit_test(attention_is_known_by_heads_and_length),
        cmocka_unit_test(experts_are_known_by_shapes),
        cmocka_unit_test(nothing_is_faster_than_the_peak),
        cmocka_unit_test(what_is_left_out_comes_from_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
