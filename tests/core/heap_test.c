#include "core/heap.h"
#include "core/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    int key, number;
    char rest[HEAP_MAX_ITEM - 2 * sizeof(int)];
};

static bool before(const void *a, const void *b, const void *context)
{
    int sign = *(const int *)context;
    return sign * ((const struct item *)a)->key < sign * ((const struct item *)b)->key;
}

static bool is_heap(const struct item *items, size_t count, const int *sign)
{
    for (size_t i = 1; i < count; i++)
        if (before(&items[i], &items[(i - 1) / 2], sign))
            return false;
    return true;
}

/* Against a set that is searched for its first: pushes and pops at random, with many equal keys, from either end. */
static void what_comes_first_is_popped_first(void **state)
{
    enum { MOST = 60, TURNS = 20000 };
    uint64_t random = 5;
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        struct item heap[MOST], all[TURNS];
        bool inside[TURNS] = {false};
        size_t count = 0;
        int made = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            bool push = count == 0 || (count < MOST && random_next(&random) % 2);
            if (push) {
                struct item item = {.key = (int)(random_next(&random) % 50), .number = made};
                memset(item.rest, made % 128, sizeof item.rest);
                inside[made] = true;
                heap[count++] = all[made++] = item;
                heap_push(heap, count, sizeof *heap, before, &sign);
            } else {
                heap_pop(heap, count, sizeof *heap, before, &sign);
                struct item popped = heap[--count];
                assert_true(inside[popped.number]);
                inside[popped.number] = false;
                assert_memory_equal(&popped, &all[popped.number], sizeof popped);
                for (int i = 0; i < made; i++)
                    assert_false(inside[i] && before(&all[i], &popped, &sign));
            }
            assert_true(is_heap(heap, count, &sign));
        }
    }
}

static void a_heap_of_one_item_is_emptied(void **state)
{
    struct item items[2] = {{.key = 3}, {.key = 7}};
    int sign = 1;
    (void)state;
    heap_push(items, 1, sizeof *items, before, &sign);
    heap_pop(items, 1, sizeof *items, before, &sign);
    assert_int_equal(items[0].key, 3);
    assert_int_equal(items[1].key, 7); /* not of the heap */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_first_is_popped_first),
        cmocka_unit_test(a_heap_of_one_item_is_emptied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
