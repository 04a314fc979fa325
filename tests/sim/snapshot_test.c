#include "core/text.h"
#include "sim/replay/snapshot.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB INT64_C(1048576)

/* A run of the allocator whose events are written from some moment on, as PyTorch does. */
struct recorder {
    struct allocator allocator;
    struct text events;
    bool records;
    int64_t most; /* reserved, since then */
};

static const struct allocator_block *block_of(const struct allocator *a, uint64_t name)
{
    return &a->blocks[*hash_map_find(&a->live, name)];
}

static const struct allocator_block *first_of(const struct allocator *a, const struct allocator_block *block)
{
    while (block->previous)
        block = &a->blocks[block->previous];
    return block;
}

static void note(struct recorder *r, const char *action, uint64_t address, int64_t size)
{
    if (!r->records)
        return;
    text_format(&r->events,
                "%s{\"action\": \"%s\", \"addr\": %" PRIu64 ", \"size\": %" PRId64 ", \"stream\": 0}",
                r->events.length > 0 ? ",\n" : "", action, address, size);
    if (r->allocator.reserved > r->most)
        r->most = r->allocator.reserved;
}

static void take(struct recorder *r, uint64_t name, int64_t size)
{
    struct allocator *a = &r->allocator;
    int64_t before = a->reserved;
    assert_true(allocator_take(a, name, size, 0));
    const struct allocator_block *block = block_of(a, name);
    if (a->reserved > before && !block->grows)
        note(r, "segment_alloc", first_of(a, block)->address, a->reserved - before);
    else if (a->reserved > before) {
        while (block->next)
            block = &a->blocks[block->next];
        note(r, "segment_map", block->address + (uint64_t)block->size - (uint64_t)(a->reserved - before),
             a->reserved - before);
    }
    note(r, "alloc", block_of(a, name)->address, size);
}

static void give(struct recorder *r, uint64_t name)
{
    const struct allocator_block *block = block_of(&r->allocator, name);
    uint64_t address = block->address;
    int64_t size = block->requested;
    assert_true(allocator_give(&r->allocator, name));
    note(r, "free_requested", address, size);
    note(r, "free_completed", address, size);
}

/* Writes the segments at the end, in order of blocks[]. */
static void write_segments(const struct allocator *a, struct text *out)
{
    bool more = false;
    for (size_t i = 1; i < a->block_count; i++) {
        const struct allocator_block *block = &a->blocks[i];
        bool gone = false;
        int64_t size = 0;
        for (size_t k = 0; k < a->unused_count; k++)
            gone |= a->unused[k] == i;
        if (gone || block->previous)
            continue;
        for (const struct allocator_block *b = block;; b = &a->blocks[b->next]) {
            size += b->size;
            if (!b->next)
                break;
        }
        text_format(out,
                    "%s{\"device\": 0, \"address\": %" PRIu64 ", \"total_size\": %" PRId64
                    ", \"stream\": 0, \"segment_type\": \"%s\", \"is_expandable\": %s, \"blocks\": [",
                    more ? ",\n" : "", block->address, size, a->pools[block->pool].small ? "small" : "large",
                    block->grows ? "true" : "false");
        more = true;
        for (const struct allocator_block *b = block;; b = &a->blocks[b->next]) {
            text_format(out,
                        "%s{\"address\": %" PRIu64 ", \"size\": %" PRId64 ", \"requested_size\": %" PRId64
                        ", \"state\": \"%s\"}",
                        b == block ? "" : ", ", b->address, b->size, b->requested,
                        b->requested > 0 ? "active_allocated" : "inactive");
            if (!b->next)
                break;
        }
        text_add(out, "]}");
    }
}

/* Wherever the record begins, the model reserves what the whole run did, or nearly so. */
static void a_record_begins_anywhere(void **state)
{
    (void)state;
    int exact = 0;
    srand(11);
    for (int round = 0; round < 40; round++) {
        struct recorder r = {.allocator.settings.expandable = round % 2};
        struct text text = {0};
        uint64_t live[100];
        int count = 0, begin = rand() % 400;
        int64_t start = 0;
        for (int i = 0; i < 500; i++) {
            if (i == begin) {
                r.records = true;
                start = r.most = r.allocator.reserved;
            }
            if (count == 100 || (count > 0 && rand() % 100 < 45)) {
                int at = rand() % count;
                give(&r, live[at]);
                live[at] = live[--count];
            } else {
                take(&r, (uint64_t)i + 1, 1 + rand() % (rand() % 3 ? 3 * MIB : 30 * MIB));
                live[count++] = (uint64_t)i + 1;
            }
        }
        text_add(&text, "{\"segments\": [");
        write_segments(&r.allocator, &text);
        text_format(&text,
                    "], \"device_traces\": [[%s]], \"allocator_settings\": {\"expandable_segments\": %s}}",
                    r.events.data, round % 2 ? "true" : "false");
        struct snapshot snapshot;
        struct error err;
        if (!snapshot_parse(&snapshot, "x.json", text.data, text.length, NULL, 0, &err))
            fail_msg("%s", err.text);
        assert_int_equal(snapshot.count, 1);
        const struct snapshot_device *device = &snapshot.devices[0];
        assert_int_equal(device->recorded.start, start);
        assert_int_equal(device->recorded.most, r.most);
        assert_int_equal(device->recorded.end, r.allocator.reserved);
        assert_int_equal(device->played.start, start);
        /* what a block had beyond its request is not recorded, if it was freed since */
        double error = (double)device->played.most / (double)r.most - 1.0;
        assert_true(error < 0.05 && error > -0.05);
        exact += device->played.most == r.most && device->played.end == r.allocator.reserved;
        snapshot_release(&snapshot);
        text_release(&text);
        text_release(&r.events);
        allocator_release(&r.allocator);
    }
    assert_true(exact >= 36); /* of 40 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_record_begins_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
