/* Tables of devices, links, calibrations and models: entries found by name. Built-in and users' files have
 * one form: a list under the kind's key, or, for some kinds, a single entry. */
#ifndef REHEARSE_DEVICES_TABLE_H
#define REHEARSE_DEVICES_TABLE_H

#include "core/arena.h"
#include "core/doc.h"
#include "core/error.h"
#include "core/fields.h"
#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The common members of every entry. `fitted` says which measurements the fitted numbers come from, and their error;
 * NULL: they are those of another entry. */
#define TABLE_ENTRY                                                                                          \
    const char *name;   /* "a100-80gb" */                                                                    \
    const char *title;  /* "NVIDIA A100-SXM4-80GB" */                                                        \
    const char *source; /* of the published numbers */                                                       \
    const char *fitted;                                                                                      \
    const char *like; /* the entry whose fitted numbers it has; NULL: its own */                             \
    const char **aliases;                                                                                    \
    int alias_count

struct table_entry {
    TABLE_ENTRY;
};

#define TABLE_NAMED                                                                                          \
    union {                                                                                                  \
        struct table_entry entry;                                                                            \
        struct {                                                                                             \
            TABLE_ENTRY;                                                                                     \
        };                                                                                                   \
    }

/* C types, by the ends of FIELD_…: for lists of members that make a struct and its fields. */
#define MEMBER_INT    int
#define MEMBER_INT64  int64_t
#define MEMBER_SIZE   int64_t
#define MEMBER_FLAG   bool
#define MEMBER_TEXT   const char *
#define MEMBER_DOUBLE double
#define MEMBER_RATE   double
#define MEMBER_TIME   double
#define MEMBER_BYTES  double

struct table {
    const struct table_kind *kind;
    struct arena arena;
    int count;
    union { /* in file order */
        void *entries;
        struct cost_device *devices;
        struct cost_link *links;
        struct calibration *generations;
        struct architecture *models;
        struct software *software;
    };
};

/* The state of reading one file. */
struct table_reader {
    struct table *table;
    const struct table *known; /* for `like:` and names; NULL: none */
    const struct doc *doc;
    struct error *err;
};

enum table_parts {
    TABLE_TITLED = 1,
    TABLE_ALIASED = 2,
    TABLE_SOURCED = 4,
    TABLE_FITTED = 8,
    TABLE_LIKE = 16,   /* `like:` names the entry that provides omitted numbers */
    TABLE_SINGLE = 32, /* a file may be one entry */
    TABLE_MARKED = 64, /* a file gives its format */
};

#define TABLE_MAX_NAME    64 /* characters */
#define TABLE_MAX_ALIASES 16
#define TABLE_MAX_ENTRIES 1000

struct table_kind {
    const char *format; /* "rehearse-devices/1" */
    const char *noun;   /* "device" */
    const char *list;   /* "devices" */
    unsigned parts;     /* TABLE_… */
    int max_entries;    /* 0: TABLE_MAX_ENTRIES */
    size_t size;        /* of an entry */
    const void
        *initial; /* an entry begins as a copy of this one; NULL: with zeros, or as the one after `like` */

    /* The keys of an entry besides those of its parts. Its texts are copied into the table. */
    const struct field *fields;
    size_t field_count;

    /* Returns whether two names are equal. NULL: ignoring case. */
    bool (*same)(const char *a, const char *b);

    /* Returns whether an unknown name may be a misspelling of a known one. NULL: any that is near. */
    bool (*may_mean)(const char *name, const char *known);

    /* Returns whether an entry may have this name. NULL: any. */
    bool (*check_name)(struct table_reader *r, const struct doc_node *node, const char *name);

    /* Reads the rest of an entry, and checks it. NULL: its fields are all. */
    bool (*read)(struct table_reader *r, const struct doc_node *map, void *entry);
};

/* Reads a file, or text (`path` is for messages and decides the syntax). On failure *table holds nothing; on
 * success the caller releases it with table_release. */
bool table_load(struct table *table, const struct table_kind *kind, const struct table *known,
                const char *path, struct error *err);
bool table_parse(struct table *table, const struct table_kind *kind, const struct table *known,
                 const char *path, const char *data, size_t length, struct error *err);
void table_release(struct table *table);

/* Returns the entry of this name or alias, or NULL. `table` may be NULL, or zero. */
void *table_find(const struct table *table, const char *name);

/* Returns the nearest name in either table, or an alias that is nearer; NULL: none is near. The second may be NULL. */
const char *table_nearest(const struct table *first, const struct table *second, const char *name);

/* ---- writing entries ---- */

/* Appends "key: value", quoted; nothing for NULL. */
void table_write_text(struct text *out, const char *key, const char *value);

/* Appends the beginning of a file that is one entry: its format, name, title and fields. Numbers that may be left out
 * are, when they are 0. */
void table_write_entry(struct text *out, const struct table_kind *kind, const void *entry);

#endif
