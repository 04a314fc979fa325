/* A hash table with text keys, for the readers.
 *
 * Keys are not copied: they must stay in place. Clearing shrinks the table, so that one table can serve one
 * computation after the other. */
#ifndef REHEARSE_HLO_TABLE_H
#define REHEARSE_HLO_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct hlo_slot {
    const char *key;
    void *value;
    uint32_t length, hash;
};

/* Slots in order of creation, and cells to find them by hash: names used together are adjacent. */
struct hlo_cell {
    uint32_t hash, slot; /* number of the slot, from 1; 0: empty */
};

struct hlo_table {
    struct hlo_slot *slots;
    struct hlo_cell *cells;
    size_t capacity, count; /* of cells: a power of two, or 0; of slots */
};

/* Names that differ only in their last character, as x.41 and x.42, hash to neighbours. */
uint32_t hlo_hash(const char *key, size_t length);

/* A zeroed table ({0}) is ready for use. */
void hlo_table_release(struct hlo_table *table);
void hlo_table_clear(struct hlo_table *table);

/* Returns the key's slot, or NULL. */
struct hlo_slot *hlo_table_find(const struct hlo_table *table, const char *key, size_t length);

/* Returns the value, or NULL. */
void *hlo_table_get(const struct hlo_table *table, const char *key, size_t length);

/* Prefetches the key's cell: a large table is not in the cache. */
void hlo_table_prefetch(const struct hlo_table *table, const char *key, size_t length);

/* Returns the key's slot, new with value NULL: the caller sets it before the next call. NULL: no memory. */
struct hlo_slot *hlo_table_place(struct hlo_table *table, const char *key, size_t length);

#endif
