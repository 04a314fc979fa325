#include "core/vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct item {
    int64_t number;
    char text[13];
};

static void items_that_are_added_stay_what_they_are(void **state)
{
    struct item *items = NULL;
    size_t count = 0, capacity = 0;
    (void)state;
    for (int i = 0; i < 10000; i++) {
        assert_true(VECTOR_ADD(items, count, capacity, (struct item){.number = i, .text = {(char)i, 'x'}}));
        assert_int_equal(count, i + 1);
        assert_true(capacity >= count);
    }
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(items[i].number, i);
        assert_int_equal(items[i].text[0], (char)i);
        assert_int_equal(items[i].text[1], 'x');
    }
    free(items);
}

/* So that n items are copied a number of times that is in proportion to n. */
static void room_doubles(void **state)
{
    char *bytes = NULL;
    size_t count = 0, capacity = 0, growths = 0;
    (void)state;
    for (size_t before = 0; count < 1 << 20; before = capacity) {
        assert_true(VECTOR_ADD(bytes, count, capacity, 'a'));
        growths += capacity > before;
    }
    assert_int_equal(growths, 17);
    assert_int_equal(capacity, 1 << 20);
    free(bytes);
}

static void room_is_made_for_as_many_as_are_wanted(void **state)
{
    (void)state;
    for (size_t wanted = 0; wanted < 300; wanted++) {
        int *items = NULL;
        size_t capacity = 0;
        assert_true(VECTOR_ROOM(items, capacity, wanted));
        assert_true(capacity >= wanted);
        assert_int_equal(!items, wanted == 0);
        size_t before = capacity;
        assert_true(VECTOR_ROOM(items, capacity, before));
        assert_int_equal(capacity, before);
        assert_true(VECTOR_ROOM(items, capacity, 7 * wanted));
        assert_true(capacity >= 7 * wanted);
        for (size_t i = 0; i < capacity; i++)
            items[i] = (int)i;
        free(items);
    }
}

static void new_room_is_zero_and_old_items_stay(void **state)
{
    int *items = NULL;
    size_t capacity = 0;
    (void)state;
    for (size_t wanted = 1; wanted < 5000; wanted += wanted / 3 + 1) {
        size_t before = capacity;
        assert_true(VECTOR_ROOM_ZEROED(items, capacity, wanted));
        for (size_t i = 0; i < capacity; i++) {
            assert_int_equal(items[i], i < before ? (int)i + 1 : 0);
            items[i] = (int)i + 1;
        }
    }
    free(items);
}

static void without_memory_all_stays_as_it_was(void **state)
{
    int64_t *items = NULL;
    size_t count = 0, capacity = 0;
    (void)state;
    assert_true(VECTOR_ADD(items, count, capacity, 42));
    const int64_t *at = items;
    size_t before = capacity;
    assert_false(VECTOR_ROOM(items, capacity, SIZE_MAX / 8 + 2)); /* overflows */
    assert_false(VECTOR_ROOM_ZEROED(items, capacity, SIZE_MAX));
    assert_false(VECTOR_ROOM(items, capacity, SIZE_MAX / 9));
    assert_ptr_equal(items, at);
    assert_int_equal(capacity, before);
    assert_int_equal(items[0], 42);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_that_are_added_stay_what_they_are),
        cmocka_unit_test(room_doubles),
        cmocka_unit_test(room_is_made_for_as_many_as_are_wanted),
        cmocka_unit_test(new_room_is_zero_and_old_items_stay),
        cmocka_unit_test(without_memory_all_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
