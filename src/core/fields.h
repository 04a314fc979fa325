/* Fields of a struct, each described once in a table: its key in documents, its place, type and range. The table reads
 * the struct from a map and writes it as JSON. */
#ifndef REHEARSE_CORE_FIELDS_H
#define REHEARSE_CORE_FIELDS_H

#include "core/doc.h"
#include "core/json.h"

#include <stddef.h>

enum field_type {
    FIELD_INT,
    FIELD_INT64, /* INT64_MIN: unknown, written as null */
    FIELD_FLAG,  /* bool */
    FIELD_DOUBLE,
    FIELD_TEXT,      /* const char *, which lives as long as the document */
    FIELD_SOME_TEXT, /* the same, and not written where there is none */
    /* double, read with a unit: "16 GiB", "25 Gb/s", "5 us", "312 TFLOP/s" */
    FIELD_BYTES,
    FIELD_RATE,
    FIELD_TIME,
    FIELD_COMPUTE,
    FIELD_SIZE,  /* int64_t of bytes, read with a unit */
    FIELD_OTHER, /* not a member of the struct: the caller reads the key */
    /* these are only written */
    FIELD_WORD,        /* an enum, written as its word */
    FIELD_CHARS,       /* char [] */
    FIELD_SOME_CHARS,  /* the same, and not written where it is empty */
    FIELD_KNOWN_CHARS, /* the same, and null where it is empty */
    FIELD_KNOWN,       /* double; below 0: unknown, written as null */
    FIELD_KNOWN_INT64, /* int64_t, the same */
    FIELD_SOME_INT64,  /* the same, and not written below 0 */
    FIELD_NANOSECONDS, /* int64_t, written as seconds */
    FIELD_MAP,         /* begins a map of the fields until FIELD_END */
    FIELD_FLAT_MAP,    /* the same, on one line */
    FIELD_END
};

struct field {
    const char *key;
    size_t offset;
    enum field_type type;
    double min, max;          /* both included; whole numbers are of at most 53 bits; see field_read */
    const char *const *words; /* of FIELD_WORD */
};

/* clang-format off */
#define FIELD_AT(record, key, member, type, min, max) {key, offsetof(record, member), type, min, max, NULL}
/* clang-format on */
#define FIELD(record, member, type, min, max) FIELD_AT(record, #member, member, type, min, max)

/* Fields that are only written: a member, and the begin and the end of a map of them. */
/* clang-format off */
#define FIELD_OUT(record, key, member, type) FIELD_AT(record, key, member, type, 0, 0)
#define FIELD_WORDS(record, key, member, words) {key, offsetof(record, member), FIELD_WORD, 0, 0, words}
#define FIELD_OPEN(key, type) {key, 0, type, 0, 0, NULL}
#define FIELD_CLOSE {NULL, 0, FIELD_END, 0, 0, NULL}
/* clang-format on */

/* Returns the value in a record; of a flag, and of a text that is there, 1, else 0. */
double field_get(const void *record, const struct field *field);

/* Sets a number or a flag. */
void field_set(void *record, const struct field *field, double value);

/* Reads the field's key. Without it the record keeps its value; that is an error if the minimum is above 0 (of a text or
 * another key, too) and the record holds 0. */
bool field_read(void *record, const struct field *field, const struct doc *doc, const struct doc_node *map,
                struct error *err);

/* Reads all fields of a map that has no other keys. */
bool fields_read(void *record, const struct field *fields, size_t count, const struct doc *doc,
                 const struct doc_node *map, struct error *err);

/* Reads fields of a map, each of which must be there. */
bool fields_need(void *record, const struct field *fields, size_t count, const struct doc *doc,
                 const struct doc_node *map, struct error *err);

/* Writes the fields into a map that is open. */
void fields_write(const void *record, const struct field *fields, size_t count, struct json *json);

/* Writes a map on one line. */
void fields_write_map(const void *record, const struct field *fields, size_t count, struct json *json,
                      const char *key);

/* Tells the writer's listener, if any, what an item of the open list has, as there may be none, or none that has all. */
void fields_tell(const struct field *fields, size_t count, const struct json *json);

/* Writes a list of maps, each on one line, from `items` structs of this size. */
void fields_write_list(const void *records, size_t items, size_t size, const struct field *fields,
                       size_t count, struct json *json, const char *key);

/* The same of tables that are arrays. */
#define FIELDS_WRITE(record, fields, json)                                                                   \
    fields_write((record), (fields), sizeof(fields) / sizeof *(fields), (json))
#define FIELDS_MAP(record, fields, json, key)                                                                \
    fields_write_map((record), (fields), sizeof(fields) / sizeof *(fields), (json), (key))
#define FIELDS_TELL(fields, json) fields_tell((fields), sizeof(fields) / sizeof *(fields), (json))
#define FIELDS_LIST(records, items, fields, json, key)                                                       \
    fields_write_list((records), (size_t)(items), sizeof *(records), (fields),                               \
                      sizeof(fields) / sizeof *(fields), (json), (key))

#endif
