#include "cost/allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB INT64_C(1048576)

/* ---- the slow way: all blocks in one list by address, which is walked for each request ---- */

#define MAX_BLOCKS 4096

struct slow_block {
    uint64_t address, segment; /* segment: the address of its own */
    int64_t size, stream;
    uint64_t name; /* 0: free */
    bool small;
};

struct slow {
    struct allocator_settings settings;
    struct slow_block blocks[MAX_BLOCKS];
    int count;
    uint64_t next;
    int64_t reserved, most;
};

static int64_t slow_round(const struct allocator_settings *settings, int64_t size)
{
    int64_t low = 512, mib = size / MIB, divisions = settings->divisions[0];
    for (int i = 1; i < ALLOCATOR_SIZES; i++)
        if (mib >= INT64_C(1) << i)
            divisions = settings->divisions[i];
    if (size < 512)
        return 512;
    if (divisions < 2 || size <= 512 * divisions)
        return (size + 511) / 512 * 512;
    while (2 * low <= size)
        low *= 2;
    for (int64_t part = 0; part <= divisions; part++)
        if (low + part * (low / divisions) >= size)
            return low + part * (low / divisions);
    return 2 * low;
}

static void slow_insert(struct slow *s, int at, struct slow_block block)
{
    assert_true(s->count < MAX_BLOCKS);
    memmove(s->blocks + at + 1, s->blocks + at, (size_t)(s->count - at) * sizeof block);
    s->blocks[at] = block;
    s->count++;
}

static void slow_take(struct slow *s, uint64_t name, int64_t size, int64_t stream)
{
    size = slow_round(&s->settings, size);
    bool small = size <= MIB;
    int64_t limit = s->settings.max_split;
    int best = -1;
    for (int i = 0; i < s->count; i++) {
        const struct slow_block *b = &s->blocks[i];
        if (b->name == 0 && b->small == small && b->stream == stream && b->size >= size &&
            (best < 0 || b->size < s->blocks[best].size))
            best = i;
    }
    if (best >= 0 && limit > 0 && size < limit && s->blocks[best].size >= limit)
        best = -1;
    if (best >= 0 && limit > 0 && size >= limit && s->blocks[best].size >= size + 20 * MIB)
        best = -1;
    if (best < 0) {
        int64_t segment = small             ? 2 * MIB
                          : size < 10 * MIB ? 20 * MIB
                                            : (size + 2 * MIB - 1) / (2 * MIB) * 2 * MIB;
        best = s->count;
        slow_insert(s, best, (struct slow_block){s->next, s->next, segment, stream, 0, small});
        s->next += (uint64_t)segment + 4 * MIB;
        s->reserved += segment;
        s->most = s->reserved > s->most ? s->reserved : s->most;
    }
    int64_t rest = s->blocks[best].size - size;
    if (small ? rest >= 512 : rest > MIB && (limit == 0 || size < limit)) {
        struct slow_block behind = s->blocks[best];
        behind.address += (uint64_t)size;
        behind.size = rest;
        slow_insert(s, best + 1, behind);
        s->blocks[best].size = size;
    }
    s->blocks[best].name = name;
}

static void slow_join(struct slow *s, int at)
{
    if (at < 0 || at + 1 >= s->count || s->blocks[at].name != 0 || s->blocks[at + 1].name != 0 ||
        s->blocks[at].segment != s->blocks[at + 1].segment)
        return;
    s->blocks[at].size += s->blocks[at + 1].size;
    s->count--;
    memmove(s->blocks + at + 1, s->blocks + at + 2, (size_t)(s->count - at - 1) * sizeof *s->blocks);
}

static void slow_give(struct slow *s, uint64_t name)
{
    for (int i = 0; i < s->count; i++)
        if (s->blocks[i].name == name) {
            s->blocks[i].name = 0;
            slow_join(s, i);
            slow_join(s, i - 1);
            return;
        }
}

static void slow_empty(struct slow *s)
{
    for (int i = s->count - 1; i >= 0; i--) {
        uint64_t segment = s->blocks[i].segment;
        bool whole = s->blocks[i].name == 0 && (i == 0 || s->blocks[i - 1].segment != segment) &&
                     (i + 1 == s->count || s->blocks[i + 1].segment != segment);
        if (!whole)
            continue;
        s->reserved -= s->blocks[i].size;
        s->count--;
        memmove(s->blocks + i, s->blocks + i + 1, (size_t)(s->count - i) * sizeof *s->blocks);
    }
}

/* ---- tests ---- */

static int64_t random_size(void)
{
    static const int64_t most[] = {600, MIB / 2, 2 * MIB, 12 * MIB, 80 * MIB};
    return 1 + rand() % most[rand() % 5];
}

static void reserves_what_the_slow_way_does(void **state)
{
    (void)state;
    static struct slow slow;
    srand(7);
    for (int round = 0; round < 60; round++) {
        struct allocator fast = {.settings.max_split = round % 3 == 1 ? 32 * MIB : 0};
        uint64_t live[200];
        int count = 0;
        for (int i = 0; i < ALLOCATOR_SIZES; i++)
            fast.settings.divisions[i] = round % 4 == 2 ? 4 : round % 4 == 3 ? i % 3 * 2 : 0;
        slow = (struct slow){.settings = fast.settings, .next = 4 * (uint64_t)MIB};
        for (uint64_t name = 1; name < 1500; name++) {
            if (count == 200 || (count > 0 && rand() % 100 < 48)) {
                int at = rand() % count;
                assert_true(allocator_give(&fast, live[at]));
                slow_give(&slow, live[at]);
                live[at] = live[--count];
            } else {
                int64_t size = random_size(), stream = rand() % 2;
                assert_true(allocator_take(&fast, name, size, stream));
                slow_take(&slow, name, size, stream);
                live[count++] = name;
            }
            if (rand() % 300 == 0) {
                allocator_empty(&fast);
                slow_empty(&slow);
            }
            assert_int_equal(fast.reserved, slow.reserved);
        }
        assert_int_equal(fast.most_reserved, slow.most);
        while (count > 0)
            assert_true(allocator_give(&fast, live[--count]));
        assert_int_equal(fast.allocated, 0);
        assert_int_equal(fast.requested, 0);
        allocator_empty(&fast);
        assert_int_equal(fast.reserved, 0);
        allocator_release(&fast);
    }
}

/* To quarters of powers of two with roundup_power2_divisions:4, but not up to four blocks of 512. */
static void rounds_up(void **state)
{
    (void)state;
    struct allocator_settings settings = {0};
    assert_int_equal(allocator_round(&settings, 1), 512);
    assert_int_equal(allocator_round(&settings, 513), 1024);
    settings.divisions[0] = 4;
    assert_int_equal(allocator_round(&settings, 1200), 1536);
    assert_int_equal(allocator_round(&settings, 2049), 2560);
    assert_int_equal(allocator_round(&settings, 4096), 4096);
    assert_int_equal(allocator_round(&settings, 3 * MIB), 3 * MIB);
}

/* An expandable segment grows by what is missing, in steps, and gives its end back. */
static void grows_at_the_end(void **state)
{
    (void)state;
    struct allocator a = {.settings.expandable = true};
    assert_true(allocator_take(&a, 1, 30 * MIB, 0));
    assert_int_equal(a.reserved, 40 * MIB);
    assert_true(allocator_take(&a, 2, 30 * MIB, 0)); /* ten are left */
    assert_int_equal(a.reserved, 60 * MIB);
    assert_true(allocator_give(&a, 1));
    assert_true(allocator_take(&a, 3, 35 * MIB, 0)); /* what is free lies before 2 */
    assert_int_equal(a.reserved, 100 * MIB);
    assert_true(allocator_take(&a, 4, 100, 0)); /* small ones have a segment of their own */
    assert_int_equal(a.reserved, 102 * MIB);
    assert_true(allocator_give(&a, 3));
    allocator_empty(&a);
    assert_int_equal(a.reserved, 62 * MIB);
    assert_true(allocator_take(&a, 5, 25 * MIB, 0)); /* into the gap */
    assert_int_equal(a.reserved, 62 * MIB);
    allocator_release(&a);
}

/* Blocks of a segment that was there: what is too small to be split off belongs to the block before. */
static void begins_with_what_is_there(void **state)
{
    (void)state;
    struct allocator a = {.settings.max_split = 0};
    const struct allocator_segment segment = {.address = 4096, .size = 20 * MIB, .stream = 0};
    const struct allocator_held held[] = {{4096 + (uint64_t)(4 * MIB), 3 * MIB, 0},
                                          {4096 + (uint64_t)(8 * MIB), 5 * MIB, 0}};
    assert_true(allocator_put(&a, &segment, held, 2));
    assert_int_equal(a.reserved, 20 * MIB);
    assert_int_equal(a.allocated, 9 * MIB);
    assert_true(allocator_take(&a, 1, 4 * MIB, 0));
    assert_true(allocator_take(&a, 2, 7 * MIB, 0));
    assert_int_equal(a.reserved, 20 * MIB);
    assert_true(allocator_take(&a, 3, 2 * MIB, 0));
    assert_int_equal(a.reserved, 40 * MIB);
    assert_true(allocator_give(&a, held[0].address));
    assert_true(allocator_take(&a, 4, 4 * MIB, 0));
    assert_int_equal(a.reserved, 40 * MIB);
    assert_false(allocator_take(&a, 4, 1, 0)); /* the name is in use */
    allocator_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserves_what_the_slow_way_does),
        cmocka_unit_test(rounds_up),
        cmocka_unit_test(grows_at_the_end),
        cmocka_unit_test(begins_with_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
