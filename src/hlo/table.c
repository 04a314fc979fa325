#include "hlo/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SLOTS 64   /* a power of two */
#define KEPT_SLOTS  1024 /* of a cleared table */

void hlo_table_release(struct hlo_table *table)
{
    free(table->slots);
    memset(table, 0, sizeof *table);
}

void hlo_table_clear(struct hlo_table *table)
{
    if (table->capacity > KEPT_SLOTS)
        hlo_table_release(table);
    else if (table->count)
        memset(table->slots, 0, table->capacity * sizeof *table->slots);
    table->count = 0;
}

/* Fewer than eight bytes, without a call: the pieces may overlap. */
static uint64_t load_few(const char *key, size_t length)
{
    uint32_t first, last;
    if (length >= sizeof first) {
        memcpy(&first, key, sizeof first);
        memcpy(&last, key + length - sizeof last, sizeof last);
        return (uint64_t)last << 32 | first;
    }
    if (length == 0)
        return 0;
    return (uint64_t)(unsigned char)key[0] | (uint64_t)(unsigned char)key[length / 2] << 8 |
           (uint64_t)(unsigned char)key[length - 1] << 16;
}

static uint64_t load_eight(const char *key)
{
    uint64_t eight;
    memcpy(&eight, key, sizeof eight);
    return eight;
}

/* Eight bytes at a time, mixed by the multiplier of splitmix64. */
static uint32_t hash(const char *key, size_t length)
{
    uint64_t h = length;
    for (; length >= 8; key += 8, length -= 8) {
        h = (h ^ load_eight(key)) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    h = (h ^ load_few(key, length)) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32);
}

static bool is_same(const char *a, const char *b, size_t length)
{
    if (length < 8)
        return load_few(a, length) == load_few(b, length);
    if (length <= 16)
        return load_eight(a) == load_eight(b) && load_eight(a + length - 8) == load_eight(b + length - 8);
    return memcmp(a, b, length) == 0;
}

static struct hlo_slot *find(const struct hlo_table *table, const char *key, size_t length, uint32_t hashed)
{
    for (size_t i = hashed;; i++) {
        struct hlo_slot *slot = &table->slots[i & (table->capacity - 1)];
        if (!slot->key || (slot->hash == hashed && slot->length == length && is_same(slot->key, key, length)))
            return slot;
    }
}

static bool grow(struct hlo_table *table)
{
    struct hlo_table larger = {.capacity = table->capacity ? 2 * table->capacity : LEAST_SLOTS,
                               .count = table->count};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < table->capacity; i++) {
        const struct hlo_slot *slot = &table->slots[i];
        if (slot->key)
            *find(&larger, slot->key, slot->length, slot->hash) = *slot;
    }
    free(table->slots);
    *table = larger;
    return true;
}

void hlo_table_prefetch(const struct hlo_table *table, const char *key, size_t length)
{
    if (table->capacity)
        __builtin_prefetch(&table->slots[hash(key, length) & (table->capacity - 1)], 1);
}

void *hlo_table_get(const struct hlo_table *table, const char *key, size_t length)
{
    if (table->count == 0)
        return NULL;
    const struct hlo_slot *slot = find(table, key, length, hash(key, length));
    return slot->value;
}

struct hlo_slot *hlo_table_place(struct hlo_table *table, const char *key, size_t length)
{
    if (8 * (table->count + 1) > 5 * table->capacity && !grow(table))
        return NULL;
    uint32_t hashed = hash(key, length);
    struct hlo_slot *slot = find(table, key, length, hashed);
    if (!slot->key) {
        *slot = (struct hlo_slot){.key = key, .length = (uint32_t)length, .hash = hashed};
        table->count++;
    }
    return slot;
}
