/* A hash table from pieces of text to things, for the readers.
 *
 * Keys are not copied: they must stay where they are. A cleared table is small again, so that one table can
 * serve one computation after the other. */
#ifndef REHEARSE_HLO_TABLE_H
#define REHEARSE_HLO_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct hlo_slot {
    const char *key; /* NULL: empty */
    void *value;
    uint32_t length, hash;
};

struct hlo_table {
    struct hlo_slot *slots;
    size_t capacity, count;
};

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
