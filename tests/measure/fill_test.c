#include "measure/layers/fill.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static double bf16_value(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double f16_value(uint16_t half)
{
    double size = ldexp(1.0 + (half & 0x3ff) / 1024.0, (half >> 10 & 31) - 15);
    return half & 0x8000 ? -size : size;
}

static void contents_are_sensible(void **state)
{
    (void)state;
    enum { COUNT = 4096 };
    static const int64_t dims[] = {COUNT};
    static const enum hlo_type types[] = {HLO_TYPE_F32, HLO_TYPE_F64, HLO_TYPE_BF16, HLO_TYPE_F16};
    static union {
        char bytes[COUNT * 16];
        float single[COUNT];
        double real[COUNT];
        uint16_t half[COUNT];
        int32_t whole[COUNT];
        uint8_t narrow[COUNT];
    } data;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const struct hlo_shape shape = {.type = types[t], .rank = 1, .dims = dims};
        double sum = 0.0, squares = 0.0;
        fill_random(&data, &shape, 1);
        for (int i = 0; i < COUNT; i++) {
            double value = t == 0   ? (double)data.single[i]
                           : t == 1 ? data.real[i]
                           : t == 2 ? bf16_value(data.half[i])
                                    : f16_value(data.half[i]);
            assert_true(fabs(value) <= 1.0 && fabs(value) >= 9e-4);
            sum += value;
            squares += value * value;
        }
        assert_true(fabs(sum / COUNT) < 0.05 && fabs(squares / COUNT - 1.0 / 3.0) < 0.03);
    }
    const struct hlo_shape whole = {.type = HLO_TYPE_S32, .rank = 1, .dims = dims};
    fill_random(&data, &whole, 1);
    for (int i = 0; i < COUNT; i++)
        assert_in_range(data.whole[i], 0, FILL_MAX_INDEX - 1);
    static const enum hlo_type narrow[] = {HLO_TYPE_F8E4M3FN, HLO_TYPE_F8E5M2, HLO_TYPE_PRED, HLO_TYPE_S4,
                                           HLO_TYPE_F8E8M0FNU};
    static const int limits[] = {0xbf, 0xbf, 1, 1, 127};
    for (size_t t = 0; t < sizeof narrow / sizeof *narrow; t++) {
        const struct hlo_shape shape = {.type = narrow[t], .rank = 1, .dims = dims};
        fill_random(&data, &shape, 1);
        for (int i = 0; i < COUNT; i++)
            assert_true(data.narrow[i] <= limits[t] && (t > 1 || (data.narrow[i] & 0x40) == 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_are_sensible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
