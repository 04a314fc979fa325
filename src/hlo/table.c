#include "hlo/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MIN_CELLS  64   /* a power of two */
#define KEPT_CELLS 1024 /* of a cleared table */

/* At most five of eight cells are taken. */
static size_t slots_of(size_t cells)
{
    return cells / 8 * 5;
}

/* Returns the probe step from an occupied cell: odd, and dependent on the name, so that neighbours spread. */
static size_t step_of(uint32_t hash)
{
    return hash >> 16 | 1;
}

void hlo_table_release(struct hlo_table *table)
{
    free(table->slots);
    free(table->cells);
    memset(table, 0, sizeof *table);
}

void hlo_table_clear(struct hlo_table *table)
{
    if (table->capacity > KEPT_CELLS)
        hlo_table_release(table);
    else if (table->count)
        memset(table->cells, 0, table->capacity * sizeof *table->cells);
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

#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15) /* of splitmix64 */

static uint64_t mix(uint64_t h, uint64_t eight)
{
    h = (h ^ eight) * MULTIPLIER;
    return h ^ h >> 29;
}

/* Four times or twice eight bytes at once: none waits for the other. */
uint32_t hlo_hash(const char *key, size_t length)
{
    if (length == 0)
        return 0;
    uint64_t h = length--, g = 1, f = 2, e = 3;
    unsigned char last = (unsigned char)key[length];
    for (; length >= 32; key += 32, length -= 32) {
        h = mix(h, load_eight(key));
        g = mix(g, load_eight(key + 8));
        f = mix(f, load_eight(key + 16));
        e = mix(e, load_eight(key + 24));
    }
    for (; length >= 16; key += 16, length -= 16) {
        h = mix(h, load_eight(key));
        g = mix(g, load_eight(key + 8));
    }
    if (length >= 8) {
        h = mix(h, load_eight(key));
        key += 8;
        length -= 8;
    }
    h = mix(h + g + f + e, load_few(key, length));
    return (uint32_t)(h * MULTIPLIER >> 32) + last;
}

static bool is_same(const char *a, const char *b, size_t length)
{
    if (length < 8)
        return load_few(a, length) == load_few(b, length);
    if (length <= 16)
        return load_eight(a) == load_eight(b) && load_eight(a + length - 8) == load_eight(b + length - 8);
    return memcmp(a, b, length) == 0;
}

/* The key's cell, or the empty one where it belongs. */
static struct hlo_cell *find(const struct hlo_table *table, const char *key, size_t length, uint32_t hash)
{
    for (size_t i = hash;; i += step_of(hash)) {
        struct hlo_cell *cell = &table->cells[i & (table->capacity - 1)];
        if (!cell->slot)
            return cell;
        const struct hlo_slot *slot = &table->slots[cell->slot - 1];
        if (cell->hash == hash && slot->length == length && is_same(slot->key, key, length))
            return cell;
    }
}

static bool grow(struct hlo_table *table)
{
    size_t capacity = table->capacity ? 2 * table->capacity : MIN_CELLS;
    struct hlo_cell *cells = capacity < UINT32_MAX ? calloc(capacity, sizeof *cells) : NULL;
    struct hlo_slot *slots = cells ? realloc(table->slots, slots_of(capacity) * sizeof *slots) : NULL;
    if (!slots) {
        free(cells);
        return false;
    }
    for (size_t s = 0; s < table->count; s++) {
        size_t i = slots[s].hash & (capacity - 1);
        while (cells[i].slot)
            i = (i + step_of(slots[s].hash)) & (capacity - 1);
        cells[i] = (struct hlo_cell){slots[s].hash, (uint32_t)s + 1};
    }
    free(table->cells);
    table->slots = slots;
    table->cells = cells;
    table->capacity = capacity;
    return true;
}

void hlo_table_prefetch(const struct hlo_table *table, const char *key, size_t length)
{
    if (table->capacity)
        __builtin_prefetch(&table->cells[hlo_hash(key, length) & (table->capacity - 1)], 1);
}

struct hlo_slot *hlo_table_find(const struct hlo_table *table, const char *key, size_t length)
{
    if (table->count == 0)
        return NULL;
    const struct hlo_cell *cell = find(table, key, length, hlo_hash(key, length));
    return cell->slot ? &table->slots[cell->slot - 1] : NULL;
}

void *hlo_table_get(const struct hlo_table *table, const char *key, size_t length)
{
    const struct hlo_slot *slot = hlo_table_find(table, key, length);
    return slot ? slot->value : NULL;
}

struct hlo_slot *hlo_table_place(struct hlo_table *table, const char *key, size_t length)
{
    if (table->count == slots_of(table->capacity) && !grow(table))
        return NULL;
    uint32_t hash = hlo_hash(key, length);
    struct hlo_cell *cell = find(table, key, length, hash);
    if (!cell->slot) {
        table->slots[table->count++] =
            (struct hlo_slot){.key = key, .length = (uint32_t)length, .hash = hash};
        *cell = (struct hlo_cell){hash, (uint32_t)table->count};
    }
    return &table->slots[cell->slot - 1];
}
