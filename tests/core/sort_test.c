
#include "core/caller.h"
#include "core/random.h"
#include "core/statistics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct item {
    uint32_t key, place;
    char rest[5];
};

static int by_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static int by_scaled_key(const void *a, const void *b, void *scale)
{
    return *(const int *)scale * by_key(a, b);
}

static struct item *new_items(size_t count, uint64_t keys)
{
    struct item *items = calloc(count + 1, sizeof *items);
    assert_non_null(items);
    for (size_t i = 0; i < count; i++)
        items[i] = (struct item){(uint32_t)(random_mix(i + 1) % keys), (uint32_t)i, "abcd"};
    return items;
}

/* Around one run, two, and numbers of runs that are no power of two. */
static void items_are_in_order_and_equal_ones_stay(void **state)
{
    static const size_t counts[] = {0, 1, 2, 4095, 4096, 4097, 8192, 12289, 20000, 50001};
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int scale = -1; scale <= 1; scale += 2) {
            struct item *items = new_items(counts[c], 1000);
            struct error err;
            bool sorted = scale > 0
                              ? sort_items(items, counts[c], sizeof *items, by_key, &err)
                              : sort_items_with(items, counts[c], sizeof *items, by_scaled_key, &scale, &err);
            assert_true(sorted);
            uint64_t places = 0;
            for (size_t i = 0; i < counts[c]; i++) {
                int order = i > 0 ? scale * by_key(&items[i - 1], &items[i]) : -1;
                assert_true(order < 0 || (order == 0 && items[i - 1].place < items[i].place));
                assert_string_equal(items[i].rest, "abcd");
                places += items[i].place;
            }
            assert_int_equal(places, counts[c] < 2 ? 0 : counts[c] * (counts[c] - 1) / 2);
            free(items);
        }
}

static atomic_bool stop;
static long compared;

static int stop_soon(const void *a, const void *b)
{
    atomic_store(&stop, ++compared >= 100000);
    return by_key(a, b);
}

static void a_stop_ends_it(void **state)
{
    (void)state;
    struct item *items = new_items(100000, UINT32_MAX);
    struct caller caller = {.stop = &stop}, *before = caller_set(&caller);
    struct error err = {.kind = ERROR_FAILED};
    assert_false(sort_items(items, 100000, sizeof *items, stop_soon, &err));
    caller_set(before);
    assert_int_equal(err.kind, ERROR_STOPPED);
    assert_true(compared < 200000);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_in_order_and_equal_ones_stay),
        cmocka_unit_test(a_stop_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
