/* Matrix products of recorded runs: their sizes, and the kernels launched within them. */
#include "sim/replay/products.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void sizes_follow_from_inputs(void **state)
{
    static const struct {
        const char *name, *dims;
        struct product_size size; /* batch 0: none */
    } cases[] = {
        {"aten::mm", "8,4;4,2;", {1, 8, 2, 4}},
        {"aten::addmm", "2;8,4;4,2;;;", {1, 8, 2, 4}},
        {"aten::bmm", "3,8,4;3,4,2;", {3, 8, 2, 4}},
        {"aten::baddbmm", "3,8,2;3,8,4;3,4,2;;;", {3, 8, 2, 4}},
        {"aten::_scaled_mm", "8,4;4,2;;;;;;", {1, 8, 2, 4}},
        {"aten::add", "8,4;4,2;", {0}},
        {"aten::mm", "8,4;5,2;", {0}},      /* not of one length */
        {"aten::bmm", "3,8,4;2,4,2;", {0}}, /* nor of one batch */
        {"aten::mm", "0,4;4,2;", {0}},      /* empty */
        {"aten::mm", "8,4;4,2", {0}},       /* cut */
        {"aten::mm", "8,4,1;4,2;", {0}},    /* of another kind */
        {"aten::addmm", "", {0}},
        {"aten::mm", "9999999999999,4;4,2;", {0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct product_size size = {0};
        bool read = replay_product_size(cases[i].name, cases[i].dims, &size);
        assert_int_equal(read, cases[i].size.batch > 0);
        assert_memory_equal(&size, &cases[i].size, sizeof size);
    }
}

#define OPERATION(tid, ts, dims)                                                                             \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": " tid ", \"ts\": " ts \
    ", \"dur\": 10, \"args\": {\"Input Dims\": " dims ", \"Input type\": [\"float\", \"float\"]}},\n"
#define KERNEL(tid, launch, correlation, name, dur)                                                          \
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": " tid   \
    ", \"ts\": " launch ", \"dur\": 1, \"args\": {\"correlation\": " correlation "}},\n"                     \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name "\", \"pid\": 0, \"tid\": 7, \"ts\": 1" launch  \
    ", \"dur\": " dur ", \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": " correlation "}}"

/* Of three runs of one size: one has a second kernel, one is of another thread; a kernel outside counts for none. */
static const char trace[] =
    "[" OPERATION("1", "100", "[[64, 32], [32, 16]]") OPERATION("1", "200", "[[64, 32], [32, 16]]")
        OPERATION("2", "305", "[[64, 32], [32, 16]]") OPERATION("1", "400", "[[2, 2], [3, 3]]")
            KERNEL("1", "102", "1", "gemm", "20") ",\n" KERNEL("1", "201", "2", "gemm", "30") ",\n" KERNEL(
                "1", "205", "3", "splitK",
                "9") ",\n" KERNEL("2", "306", "4", "gemm",
                                  "24") ",\n" KERNEL("1", "307", "5", "other",
                                                     "50") ",\n" KERNEL("1", "402", "6", "wrong", "70") "]";

static void kernels_belong_to_the_operation_around_their_launch(void **state)
{
    struct replay replay;
    struct replay_product *list;
    struct error err;
    size_t count;
    (void)state;
    assert_true(replay_parse(&replay, "run.json", trace, sizeof trace - 1, &err));
    assert_int_equal(replay.operation_count, 3);
    assert_true(replay_products(&replay, &list, &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(list[0].count, 3);
    assert_int_equal(list[0].total, 83000);
    assert_int_equal(list[0].median, 24000);
    assert_string_equal(replay.texts[list[0].kernel], "gemm");
    assert_string_equal(replay.texts[list[0].type], "float");
    free(list);
    replay_release(&replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_follow_from_inputs),
        cmocka_unit_test(kernels_belong_to_the_operation_around_their_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
