#include "cost/kernel.h"

#include "devices/tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double attention_seconds(const char *name, int64_t heads, int64_t tokens, bool backward)
{
    const struct tables tables = {0};
    const struct cost_device *device = tables_device(&tables, name);
    const struct kernel kernel = {
        .kind = KERNEL_ATTENTION,
        .type = COST_BF16,
        .attention = ATTENTION_FLASH3,
        .size = {heads, tokens, tokens, 128},
        .causal = true,
        .backward = backward,
        .repeats = 1.0,
    };
    return kernel_time(&kernel, device, tables_calibration(&tables, device)).seconds;
}

/* Attention alone on B200, 4096 tokens, of SimuMax's table (github.com/MooreThreads/SimuMax, Apache-2.0, 2026-05): the share of 2250
 * TFLOP/s that products of all tokens with all others would reach. Half of these are left out, and few heads do not fill the device. */
static void few_heads_take_as_long_as_more(void **state)
{
    (void)state;
    static const struct {
        int64_t heads;
        double forward, backward;
    } measured[] = {
        {4, 0.167, 0.346}, {8, 0.310, 0.659}, {16, 0.578, 0.755}, {32, 0.732, 0.796}, {64, 0.872, 0.729},
    };
    double sum = 0.0;
    int count = (int)(sizeof measured / sizeof *measured);
    for (int i = 0; i < count; i++) {
        double all = 4.0 * 4096.0 * 4096.0 * 128.0 * (double)measured[i].heads / 2250e12;
        double forward =
                   attention_seconds("b200", measured[i].heads, 4096, false) / (all / measured[i].forward),
               backward = attention_seconds("b200", measured[i].heads, 4096, true) /
                          (2.5 * all / measured[i].backward);
        print_message("# %d heads: %.2f and %.2f of the measured time\n", (int)measured[i].heads, forward,
                      backward);
        assert_true(forward > 0.6 && forward < 1.6 && backward > 0.6 && backward < 1.6);
        sum += fabs(log(forward)) + fabs(log(backward));
    }
    assert_true(sum / (2.0 * count) < 0.3);
    assert_true(attention_seconds("b200", 8, 4096, false) < 1.25 * attention_seconds("b200", 4, 4096, false));
    assert_true(attention_seconds("b200", 128, 4096, false) >
                1.8 * attention_seconds("b200", 64, 4096, false));
}

/* Casts from bf16 to 8 bits, microseconds on each device: NVIDIA aiconfigurator (Apache-2.0, commit 095f58a5), quantize,
 * vLLM 0.24. Nothing was fitted on H200, B300 and GB300. */
static void casts_alone_take_as_long_as_measured(void **state)
{
    (void)state;
    static const char *const devices[] = {"h100-sxm", "b200", "h200", "b300", "gb300"};
    static const struct {
        double numbers, measured[5];
    } casts[] = {
        {32768.0 * 16384.0, {524.43, 233.24, 374.73, 232.55, 226.17}},
        {16384.0 * 8192.0, {133.39, 59.94, 95.19, 60.1, 58.69}},
        {8192.0 * 8192.0, {68.52, 31.66, 49.24, 31.82, 31.36}},
        {8192.0 * 4096.0, {35.83, 18.13, 25.79, 17.7, 17.33}},
        {4096.0 * 4096.0, {18.51, 9.51, 12.8, 9.13, 9.14}},
        {2048.0 * 4096.0, {5.98, 5.87, 5.74, 5.48, 5.83}},
        {1024.0 * 4096.0, {3.96, 3.82, 3.99, 3.82, 4.25}},
        {256.0 * 4096.0, {2.55, 2.58, 2.55, 2.24, 2.95}},
    };
    const struct tables tables = {0};
    for (int d = 0; d < 5; d++) {
        const struct cost_device *device = tables_device(&tables, devices[d]);
        double sum = 0.0;
        for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
            const struct kernel kernel = {
                .kind = KERNEL_STREAM, .bytes = 3.0 * casts[i].numbers, .repeats = 1.0, .alone = true};
            struct kernel_time time = kernel_time(&kernel, device, tables_calibration(&tables, device));
            double ratio = time.seconds * 1e6 / casts[i].measured[d];
            assert_true(time.low * 1e6 < casts[i].measured[d]);
            sum += fabs(log(ratio));
            if (casts[i].numbers > 1e8)
                assert_true(fabs(ratio - 1.0) < 0.1);
        }
        print_message("# %s: mean error %.1f %%\n", devices[d], 12.5 * sum);
        assert_true(sum / 8.0 < 0.12);
    }
}

/* Casts with a factor for each row, likewise: the sum of what aiconfigurator has of both of their parts. */
static void rows_alone_take_as_long_as_measured(void **state)
{
    (void)state;
    static const char *const devices[] = {"h100-sxm", "b200", "h200", "b300"};
    static const struct {
        double rows, width, measured[4];
    } casts[] = {
        {16384, 8192, {135.9, 106.2, 119.0, 103.3}}, {8192, 8192, {71.7, 55.1, 62.8, 53.8}},
        {8192, 4096, {37.4, 34.4, 35.2, 33.3}},      {4096, 4096, {20.8, 17.4, 19.3, 16.5}},
        {1024, 4096, {6.2, 6.3, 6.2, 5.9}},
    };
    const struct tables tables = {0};
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++)
        for (int d = 0; d < 4; d++) {
            const struct cost_device *device = tables_device(&tables, devices[d]);
            const struct kernel kernel = {.kind = KERNEL_STREAM,
                                          .bytes = 3.0 * casts[i].rows * casts[i].width,
                                          .rows = casts[i].rows,
                                          .width = casts[i].width,
                                          .repeats = 1.0,
                                          .alone = true};
            struct kernel_time time = kernel_time(&kernel, device, tables_calibration(&tables, device));
            assert_true(fabs(time.seconds * 1e6 / casts[i].measured[d] - 1.0) < 0.15);
        }
}

/* XLA's blocks take several narrow rows: as many bytes in narrow rows take at most half as long again. */
static void narrow_rows_share_a_block(void **state)
{
    (void)state;
    const struct cost_device *device = tables_device(NULL, "h100-sxm");
    const struct calibration *calibration = tables_calibration(NULL, device);
    struct kernel kernel = {.kind = KERNEL_STREAM, .bytes = 1 << 28, .repeats = 1.0, .alone = true};
    double copy = kernel_time(&kernel, device, calibration).seconds;
    for (kernel.width = 1.0; kernel.width < 8192.0; kernel.width *= 2.0) {
        kernel.rows = (1 << 25) / kernel.width;
        assert_true(kernel_time(&kernel, device, calibration).seconds < 1.5 * copy);
    }
}

/* What training reaches is applied once: a long copy takes 1 / share of its time alone. */
static void a_share_belongs_to_training(void **state)
{
    (void)state;
    const struct tables tables = {0};
    const struct cost_device *device = tables_device(&tables, "b200");
    const struct calibration *calibration = tables_calibration(&tables, device);
    struct kernel kernel = {.kind = KERNEL_STREAM, .bytes = 1e12, .repeats = 1.0};
    double training = kernel_time(&kernel, device, calibration).seconds;
    kernel.alone = true;
    double alone = kernel_time(&kernel, device, calibration).seconds;
    assert_float_equal(alone / training, calibration->stream, 1e-4);
    kernel = (struct kernel){
        .kind = KERNEL_GEMM, .type = COST_BF16, .size = {1, 8192, 8192, 8192}, .repeats = 1.0};
    training = kernel_time(&kernel, device, calibration).seconds;
    kernel.alone = true;
    alone = kernel_time(&kernel, device, calibration).seconds;
    assert_float_equal(alone / training, calibration->gemm, 1e-2);
}

static void a_later_device_waits_less_for_the_softmax(void **state)
{
    (void)state;
    double b200 = attention_seconds("b200", 64, 8192, false),
           b300 = attention_seconds("b300", 64, 8192, false);
    assert_true(b300 < b200 / 1.3);
}

/* More work never takes less time. */
static void time_grows_with_heads_and_tokens(void **state)
{
    (void)state;
    static const char *const devices[] = {"a100-80gb", "h100-sxm", "b200", "gb300"};
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
        for (int backward = 0; backward < 2; backward++)
            for (int64_t heads = 1; heads <= 128; heads *= 2)
                for (int64_t tokens = 64; tokens <= 65536; tokens *= 2) {
                    double here = attention_seconds(devices[d], heads, tokens, backward);
                    assert_true(attention_seconds(devices[d], 2 * heads, tokens, backward) >= here);
                    assert_true(attention_seconds(devices[d], heads, 2 * tokens, backward) >= here);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_heads_take_as_long_as_more),
        cmocka_unit_test(casts_alone_take_as_long_as_measured),
        cmocka_unit_test(rows_alone_take_as_long_as_measured),
        cmocka_unit_test(narrow_rows_share_a_block),
        cmocka_unit_test(a_share_belongs_to_training),
        cmocka_unit_test(a_later_device_waits_less_for_the_softmax),
        cmocka_unit_test(time_grows_with_heads_and_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
