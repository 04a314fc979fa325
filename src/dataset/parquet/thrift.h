/* Thrift's compact protocol, as far as Parquet uses it (thrift-compact-protocol.md of apache/thrift). */
#ifndef REHEARSE_DATASET_PARQUET_THRIFT_H
#define REHEARSE_DATASET_PARQUET_THRIFT_H

#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum thrift_type {
    THRIFT_STOP,
    THRIFT_TRUE,
    THRIFT_FALSE,
    THRIFT_I8,
    THRIFT_I16,
    THRIFT_I32,
    THRIFT_I64,
    THRIFT_DOUBLE,
    THRIFT_BINARY,
    THRIFT_LIST,
    THRIFT_SET,
    THRIFT_MAP,
    THRIFT_STRUCT,
};

/* ---- writing ---- */

/* `last` is the number of the struct's field before, 0 at its beginning; it becomes this one's. */
void thrift_put_varint(struct text *to, uint64_t value);
void thrift_put_field(struct text *to, int *last, int field, enum thrift_type type);
void thrift_put_number(struct text *to, int *last, int field, enum thrift_type type, int64_t value);
void thrift_put_text(struct text *to, int *last, int field, const char *value);
void thrift_put_list(struct text *to, int *last, int field, enum thrift_type type, size_t count);
void thrift_put_item(struct text *to, int64_t value);         /* a number in a list */
void thrift_put_item_text(struct text *to, const char *text); /* a text in a list */
void thrift_put_stop(struct text *to);                        /* ends a struct */

/* ---- reading ---- */

/* What is left to read. Once broken it stays so, and all that is read is 0. */
struct thrift {
    const unsigned char *at, *end;
    bool broken;
};

struct thrift_field {
    int id; /* 0 before the first */
    enum thrift_type type;
};

/* Reads the head of a struct's next field; false at its end or if it is broken. */
bool thrift_next(struct thrift *in, struct thrift_field *field);

/* Read the value of the field, or of a list's item; one of another type breaks it. */
int64_t thrift_number(struct thrift *in, enum thrift_type type);
const unsigned char *thrift_bytes(struct thrift *in, enum thrift_type type, size_t *length);

/* Reads the field's number into places[id]; passes over a field that has no place among `count`. */
void thrift_take(struct thrift *in, const struct thrift_field *field, int64_t *const *places, int count);

/* Reads the head of a list and returns its items, no more than there are bytes left. */
size_t thrift_list(struct thrift *in, enum thrift_type type, enum thrift_type *item);

/* Passes over a value, which may be nested THRIFT_DEPTH deep. */
#define THRIFT_DEPTH 32
void thrift_skip(struct thrift *in, enum thrift_type type);

#endif
