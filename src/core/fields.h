/* Fields of a struct, each described once in a table: its key in documents, its place, type and range. */
#ifndef REHEARSE_CORE_FIELDS_H
#define REHEARSE_CORE_FIELDS_H

#include "core/doc.h"

#include <stddef.h>

enum field_type { FIELD_INT, FIELD_INT64, FIELD_FLAG, FIELD_DOUBLE };

struct field {
    const char *key;
    size_t offset;
    enum field_type type;
    double least, most; /* both included; whole numbers are of at most 53 bits */
};

#define FIELD(record, member, its_type, its_least, its_most)                                                 \
    {                                                                                                        \
#member, offsetof(record, member), its_type, its_least, its_most                                     \
    }

/* Returns the value in a record; of a flag 0 or 1. */
double field_get(const void *record, const struct field *field);
void field_set(void *record, const struct field *field, double value);

/* Reads the field's key; without it the record stays unchanged. */
bool field_read(void *record, const struct field *field, const struct doc *doc, const struct doc_node *map,
                struct error *err);

/* The same, but a missing key is an error if the record holds 0. */
bool field_need(void *record, const struct field *field, const struct doc *doc, const struct doc_node *map,
                struct error *err);

#endif
