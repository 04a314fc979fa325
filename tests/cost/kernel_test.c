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
        cmocka_unit_test(a_later_device_waits_less_for_the_softmax),
        cmocka_unit_test(time_grows_with_heads_and_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
