/* Times of matrix products: they grow with the sizes, stay inside what the device can do, and hold against published
 * measurements, also those of a device whose own were not used. */
#include "cost/calibrate/gemm.h"
#include "cost/gemm.h"

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
#include "support/reference.h"

static const char *const measured[] = {"a100-80gb", "h100-sxm", "h200", "b200", "gb200", "l40s"};
#define MEASURED (sizeof measured / sizeof *measured)

static double seconds(const struct cost_device *device, enum cost_type type, int64_t m, int64_t n, int64_t k)
{
    return gemm_time(device, type, (struct product_size){1, m, n, k}).seconds;
}

static const struct cost_device *find(const char *name)
{
    const struct cost_device *device = tables_device(NULL, name);
    assert_non_null(device);
    return device;
}

/* ---- shape of the function ---- */

/* On every device: all of m, n, k as powers of two. In between, times have the steps of whole tiles and waves: they
 * never fall with m and n, but one step may take nothing. */
static void more_rows_or_columns_never_take_less(void **state)
{
    const struct table *table = tables_known(TABLE_DEVICES);
    (void)state;
    for (int d = 0; d < table->count; d++)
        for (int64_t m = 1; m <= 16384; m *= 4)
            for (int64_t n = 16; n <= 65536; n *= 4)
                for (int64_t k = 64; k <= 65536; k *= 4) {
                    const struct cost_device *device = &table->devices[d];
                    double time = seconds(device, COST_BF16, m, n, k);
                    assert_true(seconds(device, COST_BF16, 2 * m, n, k) >= time);
                    assert_true(seconds(device, COST_BF16, m, 2 * n, k) >= time);
                }
}

static void a_few_more_rows_never_take_less(void **state)
{
    (void)state;
    for (size_t d = 0; d < MEASURED; d++) {
        double before = 0;
        for (int64_t m = 8; m <= 4096; m += 8) {
            double time = seconds(find(measured[d]), COST_BF16, m, 4096, 1024);
            assert_true(time >= before);
            before = time;
        }
    }
}

/* Where the sum becomes long enough to be split among units, twice the work may take a little less. */
static void twice_as_long_sums_take_hardly_ever_less(void **state)
{
    (void)state;
    for (size_t d = 0; d < MEASURED; d++)
        for (int64_t m = 1; m <= 16384; m *= 2)
            for (int64_t n = 16; n <= 65536; n *= 2)
                for (int64_t k = 16; k <= 65536; k *= 2) {
                    const struct cost_device *device = find(measured[d]);
                    assert_true(seconds(device, COST_BF16, m, n, 2 * k) >=
                                0.93 * seconds(device, COST_BF16, m, n, k));
                }
}

static void sizes_inside_a_tile_take_the_same(void **state)
{
    const struct cost_device *device = find("a100");
    (void)state;
    double five = seconds(device, COST_BF16, 5, 64, 4096);
    assert_float_equal(seconds(device, COST_BF16, 1, 64, 4096) / five, 1, 0.02);
    assert_float_equal(seconds(device, COST_BF16, 16, 64, 4096) / five, 1, 0.02);
}

static void no_product_is_faster_than_the_peak(void **state)
{
    const struct table *table = tables_known(TABLE_DEVICES);
    (void)state;
    for (int d = 0; d < table->count; d++)
        for (int t = 0; t < COST_TYPE_COUNT; t++)
            for (int64_t size = 256; size <= 65536; size *= 4) {
                const struct cost_device *device = &table->devices[d];
                double rate =
                    2.0 * pow((double)size, 3) / seconds(device, (enum cost_type)t, size, size, size);
                if (device->peak[t] > 0)
                    assert_true(rate <= device->peak[t]);
            }
}

static void a_large_product_comes_near_the_peak(void **state)
{
    (void)state;
    for (size_t d = 0; d < MEASURED; d++) {
        const struct cost_device *device = find(measured[d]);
        double rate = 2.0 * pow(8192, 3) / seconds(device, COST_BF16, 8192, 8192, 8192);
        assert_true(rate >= 0.55 * device->peak[COST_BF16]);
    }
}

/* 1 x 16384 by 16384 x 16384 reads 512 MiB of weights, and does nothing else of note. */
static void one_row_takes_the_memory_s_time(void **state)
{
    (void)state;
    for (size_t d = 0; d < MEASURED; d++) {
        const struct cost_device *device = find(measured[d]);
        double bytes = 2.0 * 16384 * 16384;
        double time = seconds(device, COST_BF16, 1, 16384, 16384);
        assert_true(time >= bytes / device->bandwidth);
        assert_true(time <= 1.9 * bytes / device->bandwidth);
    }
}

static void the_smallest_product_takes_its_launch(void **state)
{
    (void)state;
    for (size_t d = 0; d < MEASURED; d++) {
        const struct cost_device *device = find(measured[d]);
        double time = seconds(device, COST_BF16, 1, 1, 1);
        assert_true(time >= device->gemm[COST_BF16].floor);
        assert_true(time <= device->gemm[COST_BF16].floor + 3e-6);
    }
}

static void the_largest_sizes_stay_finite(void **state)
{
    (void)state;
    int64_t max = (int64_t)1 << 40;
    struct gemm_time time = gemm_time(find("h100"), COST_BF16, (struct product_size){max, max, max, max});
    assert_true(isfinite(time.seconds));
    assert_true(time.seconds > 1e20);
}

static void a_batch_is_faster_than_its_products_one_by_one(void **state)
{
    (void)state;
    for (size_t d = 0; d < MEASURED; d++) {
        const struct cost_device *device = find(measured[d]);
        double one = seconds(device, COST_BF16, 128, 128, 64);
        double all = gemm_time(device, COST_BF16, (struct product_size){96, 128, 128, 64}).seconds;
        assert_true(all > one);
        assert_true(all < 48 * one);
    }
}

static void rows_and_columns_change_places(void **state)
{
    (void)state;
    for (size_t d = 0; d < MEASURED; d++) {
        const struct cost_device *device = find(measured[d]);
        double wide = seconds(device, COST_BF16, 4096, 16384, 4096);
        double tall = seconds(device, COST_BF16, 16384, 4096, 4096);
        assert_float_equal(wide / tall, 1, 0.1);
    }
}

/* V100 has no bf16: fp32. A100 has no fp8: fp16. */
static void missing_types_are_computed_in_another(void **state)
{
    (void)state;
    assert_int_equal(cost_device_type(find("v100"), COST_BF16), COST_FP16);
    assert_int_equal(cost_device_type(find("v100"), COST_TF32), COST_FP32);
    assert_int_equal(cost_device_type(find("a100"), COST_FP4), COST_BF16);
    assert_int_equal(cost_device_type(find("h100"), COST_FP8), COST_FP8);
    double bf16 = seconds(find("v100"), COST_BF16, 8192, 8192, 8192);
    assert_float_equal(bf16 / seconds(find("v100"), COST_FP16, 8192, 8192, 8192), 1, 1e-9);
    double fp8 = seconds(find("a100"), COST_FP8, 8192, 8192, 8192);
    assert_float_equal(fp8 / seconds(find("a100"), COST_FP16, 8192, 8192, 8192), 1, 0.02);
}

/* H200 and H100 have the same matrix units: long products differ by how far the clocks fell when they were measured. */
static void newer_devices_are_faster(void **state)
{
    static const char *const order[] = {"v100", "a100-40gb", "a100-80gb", "h100-pcie",
                                        "h100", "h200",      "b200"};
    static const int64_t shapes[][3] = {{512, 768, 768},    {512, 768, 3072},   {512, 3072, 768},
                                        {4096, 768, 3072},  {1024, 1600, 6400}, {2048, 4096, 4096},
                                        {8192, 12288, 6144}};
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t d = 1; d < sizeof order / sizeof *order; d++)
            for (int type = COST_TF32; type <= COST_FP16; type++)
                assert_true(seconds(find(order[d]), (enum cost_type)type, shapes[s][0], shapes[s][1],
                                    shapes[s][2]) <= 1.03 * seconds(find(order[d - 1]), (enum cost_type)type,
                                                                    shapes[s][0], shapes[s][1],
                                                                    shapes[s][2]));
}

/* ---- against measurements ---- */

static bool read_products(struct gemm_samples *samples, const char *relative, const char *rows)
{
    struct error err;
    struct csv csv;
    char *path = reference_path(relative);
    if (!path)
        return false;
    bool loaded = csv_load(&csv, path, &err);
    free(path);
    if (!loaded || !gemm_samples_read(samples, &csv, rows, COST_BF16, &err))
        fail_msg("%s", err.text);
    csv_release(&csv);
    return true;
}

static struct error_score error_with(const char *name, const struct gemm_parameters *parameters,
                                     const struct gemm_samples *samples)
{
    struct cost_device device = *find(name);
    struct error_score error;
    struct error err;
    device.gemm[COST_BF16] = *parameters;
    assert_true(gemm_error_of(&error, &device, samples, COST_BF16, &err));
    return error;
}

/* Products as training has them (1024 rows and more), bf16, with the built-in parameters. */
static void products_of_training_are_known(void **state)
{
    static const struct {
        const char *rows, *device;
        double median, mean;
    } bars[] = {
        {"a100_sxm", "a100", 0.04, 0.06}, {"h100_sxm", "h100", 0.04, 0.06}, {"h200_sxm", "h200", 0.04, 0.06},
        {"b200_sxm", "b200", 0.06, 0.07}, {"gb200", "gb200", 0.065, 0.08},  {"l40s", "l40s", 0.06, 0.08},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++) {
        struct gemm_samples samples;
        if (!read_products(&samples, "cost/tables/gemm_training_shapes.csv", bars[i].rows))
            skip();
        struct error_score error =
            error_with(bars[i].device, &find(bars[i].device)->gemm[COST_BF16], &samples);
        print_message("# %s: %d products, median %.1f %%, mean %.1f %%\n", bars[i].device, error.rows,
                      100 * error.median, 100 * error.mean);
        assert_true(error.median <= bars[i].median);
        assert_true(error.mean <= bars[i].mean);
        gemm_samples_release(&samples);
    }
}

/* Each device as if nobody had measured it: with the parameters of another of its generation, or of the next one.
 * Ada is between Ampere and Hopper in everything but its power limit, which L40S's long products run into. */
static void a_device_that_was_not_measured_is_known_from_its_neighbour(void **state)
{
    static const struct {
        const char *rows, *device, *neighbour;
        double mean;
    } bars[] = {
        {"a100_sxm", "a100", "h100", 0.10},  {"h100_sxm", "h100", "h200", 0.10},
        {"h100_sxm", "h100", "a100", 0.10},  {"h200_sxm", "h200", "h100", 0.10},
        {"b200_sxm", "b200", "gb200", 0.10}, {"gb200", "gb200", "b200", 0.10},
        {"l40s", "l40s", "a100", 0.21},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++) {
        struct gemm_samples samples;
        if (!read_products(&samples, "cost/tables/gemm_training_shapes.csv", bars[i].rows))
            skip();
        struct error_score error =
            error_with(bars[i].device, &find(bars[i].neighbour)->gemm[COST_BF16], &samples);
        print_message("# %s by %s: %d products, median %.1f %%, mean %.1f %%\n", bars[i].device,
                      bars[i].neighbour, error.rows, 100 * error.median, 100 * error.mean);
        assert_true(error.mean <= bars[i].mean);
        gemm_samples_release(&samples);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_rows_or_columns_never_take_less),
        cmocka_unit_test(a_few_more_rows_never_take_less),
        cmocka_unit_test(twice_as_long_sums_take_hardly_ever_less),
        cmocka_unit_test(sizes_inside_a_tile_take_the_same),
        cmocka_unit_test(no_product_is_faster_than_the_peak),
        cmocka_unit_test(a_large_product_comes_near_the_peak),
        cmocka_unit_test(one_row_takes_the_memory_s_time),
        cmocka_unit_test(the_smallest_product_takes_its_launch),
        cmocka_unit_test(the_largest_sizes_stay_finite),
        cmocka_unit_test(a_batch_is_faster_than_its_products_one_by_one),
        cmocka_unit_test(rows_and_columns_change_places),
        cmocka_unit_test(missing_types_are_computed_in_another),
        cmocka_unit_test(newer_devices_are_faster),
        cmocka_unit_test(products_of_training_are_known),
        cmocka_unit_test(a_device_that_was_not_measured_is_known_from_its_neighbour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
