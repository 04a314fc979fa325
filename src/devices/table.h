/* Tables of devices, links, calibrations and models: entries that are found by name. The built-in ones and users' files have
 * one form: a list under the kind's key, or, of some kinds, one entry that is the whole file. */
#ifndef REHEARSE_DEVICES_TABLE_H
#define REHEARSE_DEVICES_TABLE_H

#include "core/arena.h"
#include "core/doc.h"
#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Every entry begins with these. */
#define TABLE_ENTRY                                                                                          \
    const char *name;   /* "a100-80gb" */                                                                    \
    const char *title;  /* "NVIDIA A100-SXM4-80GB" */                                                        \
    const char *source; /* of the published numbers */                                                       \
    const char                                                                                               \
        *fitted; /* what the fitted ones were fitted to, and their error; NULL: they are taken from   \
                           another entry */      \
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

struct table {
    const struct table_kind *kind;
    struct arena arena;
    int count;
    union { /* in the order of the file */
        void *entries;
        struct cost_device *devices;
        struct cost_link *links;
        struct calibration *generations;
        struct architecture *models;
    };
};

/* One file at work. */
struct table_reader {
    struct table *table;
    const struct table *known; /* that `like:` and names may refer to; NULL: none */
    const struct doc *doc;
    struct error *err;
};

enum table_parts {
    TABLE_TITLED = 1,
    TABLE_ALIASED = 2,
    TABLE_SOURCED = 4,
    TABLE_FITTED = 8,
    TABLE_LIKE = 16,   /* `like:` names the entry whose numbers are taken where the file gives none */
    TABLE_SINGLE = 32, /* a file may be one entry */
    TABLE_MARKED = 64, /* a file says its format */
};

#define TABLE_MAX_KEYS    64
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

    /* Are these names of one thing? NULL: if they differ in capitals only. */
    bool (*same)(const char *a, const char *b);

    /* The keys of an entry besides those of its parts. Returns how many. */
    size_t (*keys)(const char *keys[TABLE_MAX_KEYS]);

    /* Is it a name that an entry may have? NULL: any. */
    bool (*check_name)(struct table_reader *r, const struct doc_node *node, const char *name);

    /* Reads the rest of an entry, into one that is zero or, with `like`, another one's copy. */
    bool (*read)(struct table_reader *r, const struct doc_node *map, void *entry, bool like);
};

/* Reads a file, or text (`path` is for messages, and says the syntax). On failure *table holds nothing; on success the
 * caller ends it with table_release. */
bool table_load(struct table *table, const struct table_kind *kind, const struct table *known,
                const char *path, struct error *err);
bool table_parse(struct table *table, const struct table_kind *kind, const struct table *known,
                 const char *path, const char *data, size_t length, struct error *err);
void table_release(struct table *table);

/* The entry of this name or alias; NULL when there is none. `table` may be NULL, or zero. */
void *table_find(const struct table *table, const char *name);

/* The name in either table that was most likely meant; NULL when none is near. The second may be NULL. */
const char *table_nearest(const struct table *first, const struct table *second, const char *name);

/* ---- for the readers and writers of entries ---- */

/* A text where there is one. */
bool table_read_text(struct table_reader *r, const struct doc_node *map, const char *key, const char **value);

/* A line of an entry; nothing without a value. */
void table_write_text(struct text *out, const char *key, const char *value);

#endif
