#include "hlo/table.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_SLOTS 64 /* a power of two */

void hlo_table_release(struct hlo_table *table)
{
    free(table->slots);
    memset(table, 0, sizeof *table);
}

void hlo_table_clear(struct hlo_table *table)
{
    table->count = 0;
    if (++table->round == 0 && table->slots) {
        memset(table->slots, 0, table->capacity * sizeof *table->slots);
        table->round = 1;
    }
}

/* Eight bytes at a time, mixed by the multiplier of splitmix64. */
static uint32_t hash(const char *key, size_t length)
{
    uint64_t h = length, eight;
    for (; length >= sizeof eight; key += sizeof eight, length -= sizeof eight) {
        memcpy(&eight, key, sizeof eight);
        h = (h ^ eight) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    eight = 0;
    memcpy(&eight, key, length);
    h = (h ^ eight) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32);
}

static struct hlo_slot *find(const struct hlo_table *table, const char *key, size_t length, uint32_t hashed)
{
    for (size_t i = hashed;; i++) {
        struct hlo_slot *slot = &table->slots[i & (table->capacity - 1)];
        if (slot->round != table->round ||
            (slot->hash == hashed && slot->length == length && memcmp(slot->key, key, length) == 0))
            return slot;
    }
}

static int grow(struct hlo_table *table)
{
    struct hlo_table larger = {
        .capacity = table->capacity ? 2 * table->capacity : LEAST_SLOTS, .count = table->count, .round = 1};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return 0;
    for (size_t i = 0; i < table->capacity; i++) {
        const struct hlo_slot *slot = &table->slots[i];
        if (slot->round != table->round)
            continue;
        struct hlo_slot *place = find(&larger, slot->key, slot->length, slot->hash);
        *place = *slot;
        place->round = larger.round;
    }
    free(table->slots);
    *table = larger;
    return 1;
}

void *hlo_table_get(const struct hlo_table *table, const char *key, size_t length)
{
    if (table->count == 0)
        return NULL;
    const struct hlo_slot *slot = find(table, key, length, hash(key, length));
    return slot->round == table->round ? slot->value : NULL;
}

struct hlo_slot *hlo_table_place(struct hlo_table *table, const char *key, size_t length)
{
    if (4 * (table->count + 1) > 3 * table->capacity && !grow(table))
        return NULL;
    uint32_t hashed = hash(key, length);
    struct hlo_slot *slot = find(table, key, length, hashed);
    if (slot->round != table->round) {
        *slot =
            (struct hlo_slot){.key = key, .length = (uint32_t)length, .hash = hashed, .round = table->round};
        table->count++;
    }
    return slot;
}
