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
    FIELD_NANOSECONDS, /* int64_t, written as seconds */
    FIELD_SOME_INT,    /* these are not written below the minimum, nor NaN */
    FIELD_SOME_INT64,
    FIELD_SOME_DOUBLE,
    FIELD_MAP,      /* begins a map of the fields until FIELD_END */
    FIELD_FLAT_MAP, /* the same, on one line */
    FIELD_END,
    /* these are made by FIELD_PART, FIELD_ROWS and FIELD_VALUES */
    FIELD_STRUCT,   /* a map on one line */
    FIELD_POINTER,  /* to one struct, a map over lines; NULL: null */
    FIELD_LIST,     /* structs, each on a line */
    FIELD_FLAT_LIST /* all on one line */
};

struct field {
    const char *key;
    size_t offset;
    enum field_type type;
    double min, max;          /* both included; whole numbers are of at most 53 bits; see field_read */
    const char *const *words; /* of FIELD_WORD */
    const struct field_rows *rows;
};

/* What a member is or points to. */
struct field_rows {
    const struct field *fields; /* a single one without a key is a list's value itself */
    size_t count, size;         /* of fields; of an item */
    size_t number, width; /* the place and the size of the int or size_t that says how many items there are */
};

/* clang-format off */
#define FIELD_AT(record, key, member, type, min, max) {key, offsetof(record, member), type, min, max, NULL, NULL}
/* clang-format on */
#define FIELD(record, member, type, min, max) FIELD_AT(record, #member, member, type, min, max)

/* Fields that are only written: a member, and the begin and the end of a map of them. */
/* clang-format off */
#define FIELD_OUT(record, key, member, type) FIELD_AT(record, key, member, type, 0, 0)
#define FIELD_WORDS(record, key, member, words) {key, offsetof(record, member), FIELD_WORD, 0, 0, words, NULL}
#define FIELD_OPEN(key, type) {key, 0, type, 0, 0, NULL, NULL}
#define FIELD_CLOSE {NULL, 0, FIELD_END, 0, 0, NULL, NULL}
/* A member that is a struct (FIELD_STRUCT), or points to one (FIELD_POINTER). */
#define FIELD_PART(record, key, member, fields, type) \
    {key, offsetof(record, member), type, 0, 0, NULL, \
     &(const struct field_rows){fields, sizeof(fields) / sizeof *(fields), 0, 0, 0}}
/* A member that points to as many structs, or to values of a type, as another member says. */
#define FIELD_ITEMS(record, key, member, number, fields, count, type) \
    {key, offsetof(record, member), type, 0, 0, NULL, \
     &(const struct field_rows){fields, count, sizeof *((record *)0)->member, offsetof(record, number), \
                                sizeof((record *)0)->number}}
#define FIELD_ROWS(record, key, member, number, fields, type) \
    FIELD_ITEMS(record, key, member, number, fields, sizeof(fields) / sizeof *(fields), type)
#define FIELD_VALUES(record, key, member, number, type) \
    FIELD_ITEMS(record, key, member, number, (&(const struct field){NULL, 0, type, 0, 0, NULL, NULL}), 1, \
                FIELD_FLAT_LIST)

/* Declares a struct and the table of its fields, which have their keys as names, from a list
 *     #define SPEED_FIELDS(X, of) X(of, TEXT, name) X(of, DOUBLE, bandwidth)
 *     FIELDS_RECORD(speed, SPEED_FIELDS);
 * that is struct speed and speed_fields[]. */
#define FIELDS_RECORD(name, list) \
    struct name { \
        list(FIELD_MEMBER, name) \
    }; \
    static const struct field name##_fields[] = {list(FIELD_ROW, name)}
#define FIELD_MEMBER(of, type, name) FIELD_C_##type name;
#define FIELD_ROW(of, type, name) FIELD(struct of, name, FIELD_##type, 0, 0),
#define FIELD_C_INT int
#define FIELD_C_SOME_INT int
#define FIELD_C_INT64 int64_t
#define FIELD_C_SOME_INT64 int64_t
#define FIELD_C_FLAG bool
#define FIELD_C_DOUBLE double
#define FIELD_C_SOME_DOUBLE double
#define FIELD_C_TEXT const char *
#define FIELD_C_SOME_TEXT const char *
/* clang-format on */

/* Returns the value in a record; of a flag, and of a text that is there, 1, else 0. */
double field_get(const void *record, const struct field *field);

/* Sets a number or a flag. */
void field_set(void *record, const struct field *field, double value);

/* Reads the field's key. Without it the record keeps its value; that is an error if the minimum is above 0 (of a text
 * or another key, too) and the record holds 0. */
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

/* Writes a map on one line, and one over lines, which is null without a record. */
void fields_write_map(const void *record, const struct field *fields, size_t count, struct json *json,
                      const char *key);
void fields_write_long_map(const void *record, const struct field *fields, size_t count, struct json *json,
                           const char *key);

/* Tells the writer's listener, if any, what items of the open list have: there may be none, or none that has all. */
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
#define FIELDS_LONG_MAP(record, fields, json, key)                                                           \
    fields_write_long_map((record), (fields), sizeof(fields) / sizeof *(fields), (json), (key))
#define FIELDS_LIST(records, items, fields, json, key)                                                       \
    fields_write_list((records), (size_t)(items), sizeof *(records), (fields),                               \
                      sizeof(fields) / sizeof *(fields), (json), (key))

#endif
