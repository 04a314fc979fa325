#include "core/hash.h"
#include "core/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void bytes_behind_the_end_do_not_count(void **state)
{
    char bytes[64];
    (void)state;
    for (size_t length = 0; length < 40; length++)
        for (size_t start = 0; start < 8; start++) {
            memset(bytes, 'x', sizeof bytes);
            uint64_t hash = hash_bytes(7, bytes + start, length);
            memset(bytes + start + length, 'y', sizeof bytes - start - length);
            memset(bytes, 'z', start);
            assert_true(hash == hash_bytes(7, bytes + start, length));
        }
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Texts that differ in one bit, in their length, or in what came before them: 64 bits are enough to tell all apart. */
static void hashes_differ(void **state)
{
    enum { COUNT = 24 * 8 + 25 + 100 };
    uint64_t hashes[COUNT];
    char bytes[24] = {0};
    size_t count = 0;
    (void)state;
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] = (char)(1 << bit % 8);
        hashes[count++] = hash_bytes(0, bytes, sizeof bytes);
        bytes[bit / 8] = 0;
    }
    for (size_t length = 0; length <= sizeof bytes; length++)
        hashes[count++] = hash_bytes(0, bytes, length);
    for (uint64_t start = 1; start <= 100; start++)
        hashes[count++] = hash_bytes(start, bytes, sizeof bytes);
    assert_int_equal(count, COUNT);
    qsort(hashes, count, sizeof *hashes, by_value);
    for (size_t i = 1; i < count; i++)
        assert_true(hashes[i] != hashes[i - 1]);
}

/* Against a list that is searched from its beginning. */
static void names_get_ids_in_their_order(void **state)
{
    enum { DRAWS = 4000, NAMES = 700 };
    static char twin[NAMES][16];
    static size_t lengths[NAMES];
    struct hash_names names = {0};
    uint64_t random = 1;
    uint32_t count = 0;
    (void)state;
    for (int draw = 0; draw < DRAWS; draw++) {
        char name[16];
        bool added;
        uint64_t number = random_next(&random) % NAMES;
        size_t length = (size_t)snprintf(name, sizeof name, "%llu", (unsigned long long)(number * number));
        name[length / 2] = number % 5 ? name[length / 2] : '\0'; /* a NUL is a byte like others */
        uint32_t id = 0;
        while (id < count && (lengths[id] != length || memcmp(twin[id], name, length) != 0))
            id++;
        assert_int_equal(hash_names_id(&names, name, length, &added), id + 1);
        assert_int_equal(added, id == count);
        if (id == count) {
            memcpy(twin[count], name, length);
            lengths[count++] = length;
        }
    }
    assert_int_equal(names.count, count);
    assert_true(count > NAMES / 2);
    hash_names_release(&names);
    assert_null(names.places);
}

static void no_bytes_are_a_name(void **state)
{
    struct hash_names names = {0};
    bool added;
    (void)state;
    assert_int_equal(hash_names_id(&names, "", 0, &added), 1);
    assert_true(added);
    assert_int_equal(hash_names_id(&names, "x", 0, &added), 1);
    assert_false(added);
    assert_int_equal(hash_names_id(&names, "", 1, &added), 2);
    hash_names_release(&names);
}

/* Against an array; keys lie in one stretch, and far apart. */
static void a_map_knows_the_last_value_of_each_key(void **state)
{
    enum { DRAWS = 20000, KEYS = 1500 };
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        static int64_t twin[KEYS];
        static bool there[KEYS];
        struct hash_map map = {0};
        uint64_t random = (uint64_t)wide;
        size_t count = 0;
        memset(there, 0, sizeof there);
        for (int draw = 0; draw < DRAWS; draw++) {
            size_t i = random_next(&random) % KEYS;
            uint64_t key = wide ? (uint64_t)(i + 1) << 52 : i + 1;
            const int64_t *found = hash_map_find(&map, key);
            assert_int_equal(found != NULL, there[i]);
            if (found)
                assert_int_equal(*found, twin[i]);
            int64_t *place = draw % 3 == 0 ? hash_map_place(&map, key) : NULL;
            if (place) {
                assert_int_equal(*place, there[i] ? twin[i] : 0);
                *place = twin[i] = draw;
            } else if (draw % 3 == 1) {
                assert_true(hash_map_set(&map, key, twin[i] = -draw));
            } else {
                continue;
            }
            count += !there[i];
            there[i] = true;
            assert_int_equal(map.count, count);
        }
        hash_map_release(&map);
        assert_null(hash_map_find(&map, 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_behind_the_end_do_not_count),      cmocka_unit_test(hashes_differ),
        cmocka_unit_test(names_get_ids_in_their_order),           cmocka_unit_test(no_bytes_are_a_name),
        cmocka_unit_test(a_map_knows_the_last_value_of_each_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
