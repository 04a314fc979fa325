/* A handle, and the values that callers ask for by name: see handle.h. */
#ifndef REHEARSE_API_VALUE_H
#define REHEARSE_API_VALUE_H

#include "core/arena.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "rehearse.h"

/* A way to write a handle. "json" has no function where the kind has one. */
struct api_form {
    const char *name;                                                            /* "json" */
    bool (*write)(const rh_handle *handle, struct text *out, struct error *err); /* NULL: it is a folder */
    bool (*save)(const rh_handle *handle, const char *path,
                 struct error *err); /* NULL: a file of that text */
};

struct api_kind {
    const char *name;             /* "profile" */
    const struct api_form *forms; /* ended by one without a name */
    void (*release)(rh_handle *handle);
    /* The form "json"; what it writes are values, too. NULL: none, or that of a report. */
    void (*write)(const rh_handle *handle, struct json *json);
};

struct api_value {
    const char *name;
    struct rh_array array;
    uint64_t hash; /* of the name */
};

struct rh_handle {
    const struct api_kind *kind;
    struct arena arena;
    struct api_value *values;
    int count, room;
    bool failed; /* memory ran out while values were added */
    bool stands; /* a stop has ended the work early, and this is what it had found */
    /* What was asked, as a line of a shell, and the file that the answer was written to. NULL: not known. */
    const char *line, *file;
};

/* Adds a value under a name that lives as long as the handle. */
void api_add(rh_handle *handle, const char *name, struct rh_array array);
void api_add_column(rh_handle *handle, const char *name, char type, const void *data, int64_t count,
                    size_t stride);

/* Adds a copy of each field of a struct, under its key. */
#define API_VALUES(handle, record, fields)                                                                   \
    api_add_values((handle), (record), (fields), sizeof(fields) / sizeof *(fields))
struct field;
void api_add_values(rh_handle *handle, const void *record, const struct field *fields, size_t count);

/* Adds `passed`, and the `reason` and `code` why not. */
void api_judge(rh_handle *handle, bool passed, const struct error *why);

/* Adds a column for each field of a table of all structs of an array: "tasks.begin" of the list "tasks" and the key
 * "begin"; of a list without a name, "begin". */
#define API_FIELDS(handle, list, items, count, fields)                                                       \
    api_add_fields((handle), (list), (items), (count), sizeof *(items), (fields),                            \
                   sizeof(fields) / sizeof *(fields))
void api_add_fields(rh_handle *handle, const char *list, const void *items, int64_t count, size_t stride,
                    const struct field *fields, size_t field_count);

/* Adds a list, or `rows` of them, one behind the other. */
void api_add_table(rh_handle *handle, const char *name, char type, const void *data, int64_t rows,
                   int64_t columns);

/* NULL: there is none of this name. */
const struct api_value *api_find(const rh_handle *handle, const char *name);

#endif
