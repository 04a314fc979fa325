/* A hash table from pieces of text to things, for the readers.
 *
 * Keys are not copied: they must stay where they are. A cleared table is small again, so that one table can
 * serve one computation after the other. */
#ifndef REHEARSE_HLO_TABLE_H
#define REHEARSE_HLO_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct hlo_slot {
    const char *key;
    void *value;
    uint32_t length, hash;
};

/* Slots in the order they were made, and where to look for each by its hash: names used together lie together. */
struct hlo_cell {
    uint32_t hash, slot; /* number of the slot, from 1; 0: empty */
};

struct hlo_table {
    struct hlo_slot *slots;
    struct hlo_cell *cells;
    size_t capacity, count; /* of cells: a power of two, or 0; of slots */
};

/* Names that differ in their last character alone, as x.41 and x.42 do, are neighbours. */
uint32_t hlo_hash(const char *key, size_t length);

/* From a cell that is taken to the next: odd, and another one for other names, as neighbours would else pile up. */
static inline size_t hlo_step(uint32_t hash)
{
    return hash >> 16 | 1;
}

/* A table set to zero ({0}) is ready for use. */
void hlo_table_release(struct hlo_table *table);
void hlo_table_clear(struct hlo_table *table);

/* The value, or NULL. */
void *hlo_table_get(const struct hlo_table *table, const char *key, size_t length);

/* Says that this key's place is wanted soon: a large table lies far from the processor. */
void hlo_table_prefetch(const struct hlo_table *table, const char *key, size_t length);

/* The slot of the key, made when there is none: its value is NULL then, and for the caller to set before the
 * next call. NULL when there is no memory. */
struct hlo_slot *hlo_table_place(struct hlo_table *table, const char *key, size_t length);

#endif
