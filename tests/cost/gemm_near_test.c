/* Products that lean on measured ones: near a measured shape, on no device with another formula, and never above the
 * peak. */
#include "cost/gemm_near.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "devices/tables.h"

static const struct cost_device *find(const char *name)
{
    const struct cost_device *device = tables_device(NULL, name);
    assert_non_null(device);
    return device;
}

static const struct measured *table_of(const struct cost_device *device, enum cost_type type, double *seconds)
{
    struct gemm_near near;
    *seconds = gemm_time_near(device, type, (struct product_size){2, 512, 1024, 2048}, 0, &near).seconds;
    return near.table;
}

static void devices_of_one_formula_share_a_table(void **state)
{
    double seconds, other;
    (void)state;
    const struct measured *table = table_of(find("h100-sxm"), COST_TF32, &seconds);
    assert_non_null(table);
    assert_ptr_equal(table_of(find("h800"), COST_TF32, &other), table);
    assert_ptr_equal(table_of(find("v100-16gb"), COST_FP32, &other),
                     table_of(find("v100-pcie-32gb"), COST_FP32, &other));
    assert_null(table_of(find("h20"), COST_TF32, &other)); /* fewer units */
    assert_null(table_of(find("mi300x"), COST_TF32, &other));
    struct cost_device mine = *find("h100-sxm");
    mine.gemm[COST_TF32].efficiency *= 0.9; /* as calibrated by a user */
    assert_null(table_of(&mine, COST_TF32, &other));
}

static void without_measured_shapes_times_are_the_formula_s(void **state)
{
    const struct cost_device *device = find("mi300x");
    const struct product_size size = {1, 512, 4096, 4096};
    struct gemm_near near;
    (void)state;
    assert_true(gemm_time_near(device, COST_BF16, size, 0, &near).seconds ==
                gemm_time(device, COST_BF16, size).seconds);
    assert_null(near.table);
    assert_true(near.log_ratio == 0);
    assert_true(gemm_time_near(device, COST_BF16, size, 8, &near).seconds > 0);
    assert_null(near.table);
}

/* A shape that was measured has its own ratio but for what three neighbours weigh. */
static void shapes_have_their_measured_times_and_none_exceeds_the_peak(void **state)
{
    const struct measured *table;
    int shapes = 0, near = 0;
    (void)state;
    for (int i = 0; (table = measured_known(i)); i++) {
        if (strcmp(table->kernel, "batched-product") != 0)
            continue;
        assert_true(table->shape_count >= 100);
        for (int shape = 0; shape < table->shape_count; shape += 7) {
            double at[MEASURED_MAX_AXES]; /* n, k, m, batch */
            measured_sizes(table, shape, at);
            struct product_size size = {llround(at[3]), llround(at[2]), llround(at[0]), llround(at[1])};
            double seconds = gemm_time_near(table->device, table->type, size, 0, NULL).seconds;
            assert_true(product_flops(&size) / seconds <= table->device->peak[table->type] * (1 + 1e-9));
            near += fabs(measured_log_ratio(table, at) - (double)table->cells[shape]) < 0.02;
            shapes++;
        }
    }
    assert_true(shapes > 1000 && near > 0.98 * shapes);
}

static void far_from_all_shapes_times_stay_finite(void **state)
{
    int64_t far = INT64_C(1) << 36;
    (void)state;
    struct gemm_time time =
        gemm_time_near(find("h100-sxm"), COST_BF16, (struct product_size){far, far, far, far}, 0, NULL);
    assert_true(isfinite(time.seconds) && time.seconds > 0);
    time = gemm_time_near(find("t4"), COST_FP32, (struct product_size){1, 1, 1, 1}, 0, NULL);
    assert_true(isfinite(time.seconds) && time.seconds > 0);
}

/* Few rows read few experts; many rows are as fast as single products, and no faster than the peak. */
static void grouped_products_are_priced_by_layers_of_experts(void **state)
{
    const struct cost_device *device = find("b200");
    struct gemm_near near;
    (void)state;
    struct product_size few = {8, 1, 2048, 7168}, many = {64, 1024, 2048, 7168};
    double seconds = gemm_time_near(device, COST_BF16, few, 64, &near).seconds;
    assert_non_null(near.table);
    assert_true(strcmp(near.table->kernel, "experts") == 0);
    double bytes = 8.0 * 2048 * 7168 * 2;
    assert_true(seconds > bytes / device->bandwidth && seconds < 4 * bytes / device->bandwidth);
    double rate = product_flops(&many) / gemm_time_near(device, COST_BF16, many, 64, &near).seconds;
    assert_true(rate > 0.3 * device->peak[COST_BF16] && rate < device->peak[COST_BF16]);
    assert_non_null(gemm_time_near(find("h200"), COST_FP8, many, 64, &near).seconds > 0 ? near.table : NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_of_one_formula_share_a_table),
        cmocka_unit_test(without_measured_shapes_times_are_the_formula_s),
        cmocka_unit_test(shapes_have_their_measured_times_and_none_exceeds_the_peak),
        cmocka_unit_test(far_from_all_shapes_times_stay_finite),
        cmocka_unit_test(grouped_products_are_priced_by_layers_of_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
