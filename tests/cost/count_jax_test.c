/* Counts of lowered programs against JAX's own (lowered.cost_analysis(), JAX 0.10.2): jax/counts.csv, made by
 * jax/programs.py. */
#include "core/file.h"
#include "cost/count/count.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FLOPS 0.001
#define BYTES 0.01

static void counts_are_those_of_jax(void **state)
{
    (void)state;
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    char path[4096], name[64], *text, *line, *rest;
    struct error err;
    size_t length;
    int programs = 0;
    if (!root)
        skip();
    snprintf(path, sizeof path, "%s/tests/cost/jax/counts.csv", root);
    assert_true(file_read(path, 1 << 20, &text, &length, &err));
    for (line = strtok_r(text, "\n", &rest); (line = strtok_r(NULL, "\n", &rest));) {
        struct hlo_module module;
        struct module_count count;
        const struct count_options options = {.rules = COUNT_XLA};
        double flops, bytes;
        assert_int_equal(sscanf(line, "%63[^,],%lf,%lf", name, &flops, &bytes), 3);
        snprintf(path, sizeof path, "%s/tests/cost/jax/%s.mlir", root, name);
        if (!hlo_load(&module, path, &err))
            fail_msg("%s", err.text);
        hlo_unpack(&module);
        assert_true(hlo_as_xla(&module, &err));
        assert_true(module_count(&count, &module, &options, &err));
        if (fabs(count.flops / flops - 1) > FLOPS || fabs(count.bytes / bytes - 1) > BYTES)
            fail_msg("%s: %.0f operations and %.0f bytes, JAX counts %.0f and %.0f", name, count.flops,
                     count.bytes, flops, bytes);
        module_count_release(&count);
        hlo_release(&module);
        programs++;
    }
    assert_true(programs >= 15);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_jax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
