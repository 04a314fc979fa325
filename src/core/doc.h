/* Documents: YAML and JSON read into one tree that knows line and column of every value.
 *
 * Reading is strict: a duplicate key, an unknown escape, an anchor or alias, a second document, a depth over
 * DOC_MAX_DEPTH, a file over DOC_MAX_BYTES is an error that says where. The typed getters do the rest: each
 * says file, line, column, the path of the value (`groups[1].memory`), what it expected and what it found:
 *
 *     cluster.yaml:3:41: groups[0].speed: expected a positive number, found '-1'
 *
 * so that the code which reads a format is a list of getters and no messages. */
#ifndef REHEARSE_CORE_DOC_H
#define REHEARSE_CORE_DOC_H

#include "core/arena.h"
#include "core/error.h"
#include "core/unit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOC_MAX_DEPTH 64
#define DOC_MAX_BYTES ((size_t)64 << 20)

enum doc_type { DOC_NULL, DOC_BOOL, DOC_NUMBER, DOC_STRING, DOC_LIST, DOC_MAP };

/* One value. Plain data: may be walked directly (children through first_child / next). */
struct doc_node {
    enum doc_type type;
    bool boolean;          /* DOC_BOOL */
    uint32_t line, column; /* from 1; columns in characters */
    uint32_t index;        /* place among its siblings */
    uint32_t count;        /* children of a list or map */
    const char *key;       /* in a map: its key; else NULL */
    const char *text;      /* scalar: as written, unquoted and unescaped */
    size_t length;         /* of text */
    double number;         /* DOC_NUMBER */
    struct doc_node *parent;
    struct doc_node *first_child;
    struct doc_node *next;
};

struct doc {
    struct arena arena;
    const char *path; /* as the user wrote it; for messages */
    struct doc_node *root;
};

enum doc_syntax { DOC_JSON, DOC_YAML };

/* YAML for a path that ends in .yaml or .yml, JSON otherwise. */
enum doc_syntax doc_syntax_of(const char *path);

/* Does the path end in .yaml, .yml or .json? */
bool doc_is_name(const char *path);

/* Reads a file; its path says the syntax. On failure *doc holds nothing.
 * On success the caller ends it with doc_release. */
bool doc_load(struct doc *doc, const char *path, struct error *err);

/* Reads text; `path` is only for messages. */
bool doc_parse(struct doc *doc, enum doc_syntax syntax, const char *path, const char *text, size_t length,
               struct error *err);

void doc_release(struct doc *doc);

/* ERROR_INPUT at this value: "FILE:LINE:COLUMN: PATH: message". Returns false. */
bool doc_error(const struct doc *doc, const struct doc_node *at, struct error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The value of `key` in a map, or NULL when there is none. Not an error; `map` may be NULL. */
const struct doc_node *doc_find(const struct doc_node *map, const char *key);

/* The same, but a missing key (or a `map` that is no map) is an error. */
const struct doc_node *doc_need(const struct doc *doc, const struct doc_node *map, const char *key,
                                struct error *err);

/* Each fails when `node` is not of the type; a NULL `node` is never passed. */
bool doc_is_map(const struct doc *doc, const struct doc_node *node, struct error *err);
bool doc_is_list(const struct doc *doc, const struct doc_node *node, struct error *err);

/* A string (numbers and booleans as written count: a device may be called 4090). Not empty, no NUL inside.
 * The text lives as long as the document. */
bool doc_string(const struct doc *doc, const struct doc_node *node, const char **value, struct error *err);

/* A finite number in [least, most]. The message names the nearest description of the range: "a positive
 * number" (least == DOC_POSITIVE), "a number of at least 0", "a number from 1 to 8". */
#define DOC_POSITIVE 4.9406564584124654e-324
bool doc_number(const struct doc *doc, const struct doc_node *node, double least, double most, double *value,
                struct error *err);

/* A whole number in [least, most]; 3.0 counts as whole, "3" in quotes does not. */
bool doc_integer(const struct doc *doc, const struct doc_node *node, int64_t least, int64_t most,
                 int64_t *value, struct error *err);

/* A number with a unit (see core/unit.h): text such as `25 Gb/s`, or a plain number in the base unit. The
 * value must be positive (`zero_allowed`: at least 0). */
bool doc_quantity(const struct doc *doc, const struct doc_node *node, enum unit_kind kind, bool zero_allowed,
                  double *value, struct error *err);

/* The map's key `format`, where there is one, must be this text: what kind of file it is, and in which version. */
bool doc_is_format(const struct doc *doc, const struct doc_node *map, const char *format, struct error *err);

/* Every key of `map` must be one of `keys` (count given); else an error with the nearest known key. */
bool doc_only_keys(const struct doc *doc, const struct doc_node *map, const char *const *keys, size_t count,
                   struct error *err);

#endif
