/* Handles: what a command has made. One is made whole by its maker and is only read afterwards.
 *
 * A maker embeds struct rh_handle at the start of a struct of its own, adds a value for everything that callers may ask
 * by name, and returns it. Values point into the maker's struct or into the handle's arena. */
#ifndef REHEARSE_API_HANDLE_H
#define REHEARSE_API_HANDLE_H

#include "core/arena.h"
#include "core/error.h"
#include "core/text.h"
#include "rehearse.h"

/* A way to write a handle. */
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
};

struct api_value {
    const char *name;
    struct rh_array array;
};

struct rh_handle {
    const struct api_kind *kind;
    struct arena arena;
    struct api_value *values;
    int count, room;
    bool failed; /* memory ran out while values were added */
    bool stands; /* a stop has ended the work early, and this is what it had found */
};

/* Returns a handle of `size` bytes, all else zero. NULL: out of memory. */
void *api_new(const struct api_kind *kind, size_t size, struct error *err);

/* Ends a maker: the handle, or NULL and an error where `made` is false or values are missing. */
rh_handle *api_made(rh_handle *handle, bool made, struct error *err);

/* Adds a value under a name that lives as long as the handle. */
void api_add_number(rh_handle *handle, const char *name, double value);
void api_add_count(rh_handle *handle, const char *name, int64_t value);
void api_add_flag(rh_handle *handle, const char *name, bool value);
void api_add_string(rh_handle *handle, const char *name, const char *value); /* copied; NULL: none */

/* Adds one member of all structs of an array. */
#define API_COLUMN(handle, name, type, items, count, member)                                                 \
    api_add_column((handle), (name), (type), (count) > 0 ? &(items)->member : NULL, (count), sizeof *(items))
void api_add_column(rh_handle *handle, const char *name, char type, const void *data, int64_t count,
                    size_t stride);

/* Adds a list, or `rows` of them, one behind the other. */
void api_add_table(rh_handle *handle, const char *name, char type, const void *data, int64_t rows,
                   int64_t columns);

/* Copies a request's list, which ends with the call, for as long as the handle lives. It ends with NULL. NULL: out of memory. */
const char *const *api_keep_list(rh_handle *handle, const struct rh_list *list, struct error *err);

/* Checks that a handle is of a kind. The message names the field that holds it. */
bool api_is(const rh_handle *handle, const struct api_kind *kind, const char *field, struct error *err);

/* Moves an error to the caller, who may not want it. */
void api_report(const struct error *err, struct rh_error *error);

/* ---- answers that are texts and values alone ---- */

struct api_report {
    rh_handle base;
    struct text text, json;
    /* What values point into, and the function that ends it with the handle. NULL: nothing. */
    void *kept;
    void (*drop)(void *kept);
};

/* Returns an empty one, for its maker to write both texts. */
struct api_report *api_report_new(struct error *err);

/* Returns `size` zeroed bytes for what its values point into, which `drop` ends. NULL: out of memory. */
void *api_report_keep(struct api_report *report, size_t size, void (*drop)(void *kept), struct error *err);

#endif
