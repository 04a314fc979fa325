#include "core/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    struct arena arena = {0};
    unsigned char *blocks[3000];
    (void)state;
    for (size_t i = 0; i < 3000; i++) {
        size_t size = i * 7 % 301 + 1;
        blocks[i] = arena_alloc(&arena, size, 1);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(blocks[i][k], 0);
        memset(blocks[i], (int)(i % 255) + 1, size);
    }
    for (size_t i = 0; i < 3000; i++)
        for (size_t k = 0; k < i * 7 % 301 + 1; k++)
            assert_int_equal(blocks[i][k], i % 255 + 1);
    arena_release(&arena);
}

static void large_pieces_are_had(void **state)
{
    struct arena arena = {0};
    (void)state;
    for (size_t size = 65520; size <= 65552; size++) { /* around the size of a block */
        char *memory = arena_alloc(&arena, size, 1);
        assert_non_null(memory);
        memset(memory, 1, size);
    }
    char *large = arena_alloc(&arena, 1 << 20, 8);
    assert_non_null(large);
    memset(large, 1, (size_t)8 << 20);
    assert_non_null(arena_alloc(&arena, 1, 1));
    arena_release(&arena);
}

/* Its blocks are mapped, and end where memory of another ends. */
static void a_large_arena_goes_on(void **state)
{
    struct arena arena = {0};
    unsigned char *parts[48];
    (void)state;
    for (size_t i = 0; i < 48; i++) {
        parts[i] = arena_alloc(&arena, ((size_t)1 << 20) - 16 * i, 1);
        assert_non_null(parts[i]);
        assert_int_equal((uintptr_t)parts[i] % 16, 0);
        assert_int_equal(parts[i][0] | parts[i][((size_t)1 << 20) - 16 * i - 1], 0);
        memset(parts[i], (int)i + 1, ((size_t)1 << 20) - 16 * i);
    }
    for (size_t i = 0; i < 48; i++)
        assert_true(parts[i][0] == i + 1 && parts[i][((size_t)1 << 20) - 16 * i - 1] == i + 1);
    arena_release(&arena);
    assert_null(arena.last);
}

static void sizes_that_overflow_are_refused(void **state)
{
    struct arena arena = {0};
    (void)state;
    assert_null(arena_alloc(&arena, SIZE_MAX, 2));
    assert_null(arena_alloc(&arena, 2, SIZE_MAX));
    assert_null(arena_alloc(&arena, SIZE_MAX / 8 + 2, 8));
    assert_null(arena_alloc(&arena, (size_t)1 << 33, (size_t)1 << 33));
    assert_int_equal(arena.used, 0);
    assert_non_null(arena_alloc(&arena, 1, 1));
    arena_release(&arena);
}

static void nothing_can_be_asked_for(void **state)
{
    struct arena arena = {0};
    (void)state;
    assert_non_null(arena_alloc(&arena, 0, 8));
    assert_non_null(arena_alloc(&arena, SIZE_MAX, 0));
    arena_release(&arena);
}

static void texts_are_copied(void **state)
{
    struct arena arena = {0};
    char text[] = "abc";
    (void)state;
    char *part = arena_copy(&arena, text, 2), *whole = arena_string(&arena, text);
    char *made = arena_format(&arena, "%s-%d", text, 42), *none = arena_copy(&arena, text, 0);
    memset(text, 'x', 3);
    assert_string_equal(part, "ab");
    assert_string_equal(whole, "abc");
    assert_string_equal(made, "abc-42");
    assert_string_equal(none, "");
    arena_release(&arena);
}

static void a_released_arena_is_ready_again(void **state)
{
    struct arena arena = {0};
    (void)state;
    arena_release(&arena);
    assert_non_null(ARENA_NEW(&arena, double));
    assert_true(arena.used >= sizeof(double));
    arena_release(&arena);
    assert_int_equal(arena.used, 0);
    assert_null(arena.last);
    assert_non_null(ARENA_ARRAY(&arena, 10, double));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(large_pieces_are_had),
        cmocka_unit_test(a_large_arena_goes_on),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(nothing_can_be_asked_for),
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(a_released_arena_is_ready_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
