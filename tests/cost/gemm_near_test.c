/* Products that lean on measured ones: exactly at a measured shape, less and less away from it, and not at all on a device
 * with another formula. */
#include "cost/gemm_near.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "devices/tables.h"
#include "support/sanitizer.h"

static const struct cost_device *find(const char *name)
{
    const struct cost_device *device = tables_device(NULL, name);
    assert_non_null(device);
    return device;
}

static double log_ratio_at(const struct cost_device *device, enum cost_type type, int64_t m, int64_t n,
                           int64_t k)
{
    struct gemm_near near;
    gemm_time_near(device, type, (struct product_size){1, m, n, k}, &near);
    return near.log_ratio;
}

/* ---- the table ---- */

static void codes_keep_ratios(void **state)
{
    (void)state;
    for (double ratio = -1.0; ratio <= 1.0; ratio += 0.01) {
        char code = product_encode(ratio);
        assert_true(code > ' ' && code <= '~');
        assert_true(fabs(product_decode(code) - ratio) <= 0.005 + 0.04 * fabs(ratio));
    }
    assert_true(product_encode(100) == product_encode(99));
    assert_true(product_decode(product_encode(0)) == 0);
    assert_true(product_encode(5) != PRODUCT_NONE && product_encode(-5) != PRODUCT_NONE);
}

static void every_table_is_of_a_known_device_and_in_order(void **state)
{
    const struct products *products;
    int rows = 0;
    (void)state;
    for (int i = 0; (products = products_known(i)); i++) {
        const struct cost_device *device = find(products->device);
        assert_true(device->peak[products->type] > 0);
        assert_non_null(products->source);
        assert_true(products->count >= 100);
        assert_ptr_equal(products_of(device, products->type), products);
        for (int row = 0; row < products->count; row++) {
            const struct product *p = &products->rows[row];
            assert_true(p->size.batch >= 1 && p->size.m >= 1 && p->size.n >= 1 && p->size.k >= 1);
            assert_true(row == 0 || p[-1].at[PRODUCT_BY_N] <= p->at[PRODUCT_BY_N]);
        }
        rows += products->count;
    }
    assert_int_equal(rows, 11069);
}

static void devices_of_one_formula_share_a_table(void **state)
{
    (void)state;
    assert_ptr_equal(products_of(find("h800"), COST_TF32), products_of(find("h100-sxm"), COST_TF32));
    assert_ptr_equal(products_of(find("v100-16gb"), COST_FP32),
                     products_of(find("v100-pcie-32gb"), COST_FP32));
    assert_null(products_of(find("h20"), COST_TF32)); /* fewer units */
    assert_null(products_of(find("mi300x"), COST_TF32));
    struct cost_device mine = *find("h100-sxm");
    mine.gemm[COST_TF32].efficiency *= 0.9; /* as calibrated by a user */
    assert_null(products_of(&mine, COST_TF32));
}

/* ---- neighbours ---- */

/* The slow and obvious search. */
static const struct product *nearest_of(const struct products *products, const float *at)
{
    const struct product *best = NULL;
    double least = HUGE_VAL;
    for (int i = 0; i < products->count; i++) {
        double distance = 0;
        for (int axis = 0; axis < PRODUCT_AXES; axis++)
            distance += pow((double)products->rows[i].at[axis] - (double)at[axis], 2);
        if (distance < least) {
            least = distance;
            best = &products->rows[i];
        }
    }
    return best;
}

static void the_nearest_shape_is_among_those_found(void **state)
{
    const struct cost_device *device = find("t4");
    const struct products *products = products_of(device, COST_FP32);
    uint64_t random = 7;
    (void)state;
    for (int i = 0; i < 500 / SEARCH_STEP; i++) {
        int64_t size[3];
        for (int s = 0; s < 3; s++)
            size[s] = (int64_t)exp2(3 + 13 * random_uniform(&random));
        float at[PRODUCT_AXES];
        product_place(at, device->units, (struct product_size){1, size[0], size[1], size[2]});
        struct gemm_near near;
        gemm_time_near(device, COST_FP32, (struct product_size){1, size[0], size[1], size[2]}, &near);
        bool found = false;
        const struct product *nearest = nearest_of(products, at);
        for (int n = 0; n < near.count; n++)
            found |= memcmp(near.products[n]->at, nearest->at, sizeof nearest->at) == 0;
        assert_int_equal(near.count, GEMM_NEAREST);
        assert_true(found);
    }
}

static void a_measured_shape_has_its_measured_time(void **state)
{
    int rows = 0, near = 0;
    const struct cost_device *device = find("b200");
    const struct products *products = products_of(device, COST_TF32);
    (void)state;
    for (int i = 0; i < products->count; i += 7) {
        const struct product *p = &products->rows[i];
        struct gemm_near found;
        gemm_time_near(device, COST_TF32, p->size, &found);
        near += fabs(found.log_ratio - (double)p->log_ratio) <= 0.03;
        rows++;
    }
    assert_true(rows >= 25 && 4 * near >= 3 * rows);
}

static void far_from_all_shapes_the_formula_counts(void **state)
{
    const struct cost_device *device = find("h100-sxm");
    int64_t far = INT64_C(1) << 36;
    (void)state;
    assert_true(fabs(log_ratio_at(device, COST_FP32, far, far, far)) < 0.005);
    assert_true(fabs(log_ratio_at(device, COST_FP32, 1, 1, far)) < 0.01);
    struct gemm_time time =
        gemm_time_near(device, COST_BF16, (struct product_size){far, far, far, far}, NULL);
    assert_true(isfinite(time.seconds) && time.seconds > 0);
}

static void without_measured_shapes_times_are_the_formula_s(void **state)
{
    const struct cost_device *device = find("mi300x");
    struct gemm_near near;
    (void)state;
    double seconds =
        gemm_time_near(device, COST_BF16, (struct product_size){1, 512, 4096, 4096}, &near).seconds;
    assert_true(seconds == gemm_time(device, COST_BF16, (struct product_size){1, 512, 4096, 4096}).seconds);
    assert_int_equal(near.count, 0);
    assert_true(near.log_ratio == 0);
}

static void no_correction_exceeds_the_peak(void **state)
{
    const struct products *products;
    (void)state;
    for (int i = 0; (products = products_known(i)); i++) {
        const struct cost_device *device = find(products->device);
        for (int row = 0; row < products->count; row += 501) {
            const struct product *p = &products->rows[row];
            double seconds = gemm_time_near(device, products->type, p->size, NULL).seconds;
            double flops =
                2.0 * (double)p->size.batch * (double)p->size.m * (double)p->size.n * (double)p->size.k;
            assert_true(flops / seconds <= device->peak[products->type] * (1 + 1e-9));
        }
    }
}

/* ---- errors of what was left out ---- */

static void rows_left_out_are_known_from_the_others(void **state)
{
    static const struct {
        const char *device;
        enum cost_type type;
        double median, mean;
    } bars[] = {
        {"v100-pcie-32gb", COST_FP32, 0.04, 0.055}, {"p100", COST_FP32, 0.05, 0.07},
        {"a100-pcie-80gb", COST_FP32, 0.05, 0.075}, {"h100-sxm", COST_FP32, 0.06, 0.085},
        {"b200", COST_TF32, 0.035, 0.065},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++) {
        struct error_score physics, near, sizes;
        const struct products *products = products_of(find(bars[i].device), bars[i].type);
        assert_true(gemm_near_errors(products, GEMM_LEAVE_ROWS, &physics, &near));
        assert_true(near.median <= bars[i].median);
        assert_true(near.mean <= bars[i].mean);
        assert_true(near.mean < physics.mean);
        if (SEARCH_STEP > 1)
            continue;
        assert_true(gemm_near_errors(products, GEMM_LEAVE_SIZES, &physics, &sizes));
        assert_true(near.median <= sizes.median);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_keep_ratios),
        cmocka_unit_test(every_table_is_of_a_known_device_and_in_order),
        cmocka_unit_test(devices_of_one_formula_share_a_table),
        cmocka_unit_test(the_nearest_shape_is_among_those_found),
        cmocka_unit_test(a_measured_shape_has_its_measured_time),
        cmocka_unit_test(far_from_all_shapes_the_formula_counts),
        cmocka_unit_test(without_measured_shapes_times_are_the_formula_s),
        cmocka_unit_test(no_correction_exceeds_the_peak),
        cmocka_unit_test(rows_left_out_are_known_from_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
