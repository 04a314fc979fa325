/* Documents: YAML, JSON and TOML read into one tree with line and column of every value.
 *
 * Reading is strict: a duplicate key, an unknown escape, an anchor or alias, a second document, a depth over
 * DOC_MAX_DEPTH, a file over DOC_MAX_BYTES is an error with its place. The errors of the typed getters give
 * file, line, column, the path of the value (`groups[1].memory`), the expected and the found value:
 *
 *     cluster.yaml:3:41: groups[0].speed: expected a positive number, found '-1'
 *
 * so that the code for a format is a list of getters without messages. */
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
    const char *path; /* as given by the user; for messages */
    struct doc_node *root;
};

enum doc_syntax { DOC_JSON, DOC_YAML, DOC_TOML };

/* Returns YAML for a path that ends in .yaml or .yml, TOML for .toml, JSON otherwise. */
enum doc_syntax doc_syntax_of(const char *path);

/* Returns whether the path ends in .yaml, .yml or .json. */
bool doc_is_name(const char *path);

/* Reads a file, with the syntax of its path. On failure *doc holds nothing; on success the caller releases it
 * with doc_release. */
bool doc_load(struct doc *doc, const char *path, struct error *err);

/* Reads text; `path` is only for messages. */
bool doc_parse(struct doc *doc, enum doc_syntax syntax, const char *path, const char *text, size_t length,
               struct error *err);

/* The same, but a key that a map has twice is no error: doc_find finds the first; NaN and Infinity, which Python writes
 * into JSON, are null; an alias of YAML is a copy of what its anchor names, and "<<" merges maps. For files of other
 * software, whose reader looks for all faults itself. */
bool doc_load_lax(struct doc *doc, const char *path, struct error *err);
bool doc_parse_lax(struct doc *doc, enum doc_syntax syntax, const char *path, const char *text, size_t length,
                   struct error *err);

void doc_release(struct doc *doc);

/* Sets ERROR_INPUT at this value: "FILE:LINE:COLUMN: PATH: message". Returns false. */
bool doc_error(const struct doc *doc, const struct doc_node *at, struct error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns the value of `key` in a map, or NULL without an error; `map` may be NULL. */
const struct doc_node *doc_find(const struct doc_node *map, const char *key);

/* The same, but a missing key or a `map` of another type is an error. */
const struct doc_node *doc_need(const struct doc *doc, const struct doc_node *map, const char *key,
                                struct error *err);

/* Each fails if `node` has another type; `node` must not be NULL. */
bool doc_is_map(const struct doc *doc, const struct doc_node *node, struct error *err);
bool doc_is_list(const struct doc *doc, const struct doc_node *node, struct error *err);

/* Reads a string, not empty and without NUL; also numbers and booleans as written (a device may be called
 * 4090). The text lives as long as the document. */
bool doc_string(const struct doc *doc, const struct doc_node *node, const char **value, struct error *err);

/* Reads a finite number in [min, max]. The message describes the range: "a positive number" (min ==
 * DOC_POSITIVE), "a number of at least 0", "a number from 1 to 8". */
#define DOC_POSITIVE 4.9406564584124654e-324
bool doc_number(const struct doc *doc, const struct doc_node *node, double min, double max, double *value,
                struct error *err);

/* Reads a whole number in [min, max]; 3.0 is whole, "3" in quotes is not. */
bool doc_integer(const struct doc *doc, const struct doc_node *node, int64_t min, int64_t max, int64_t *value,
                 struct error *err);

/* Reads a number with a unit (core/unit.h), such as `25 Gb/s`, or a plain number in the base unit. It must be
 * positive (`zero_allowed`: >= 0). */
bool doc_quantity(const struct doc *doc, const struct doc_node *node, enum unit_kind kind, bool zero_allowed,
                  double *value, struct error *err);

/* Checks that the map's key `format`, if present, is this text: type of file and version. */
bool doc_is_format(const struct doc *doc, const struct doc_node *map, const char *format, struct error *err);

/* Checks that every key of `map` is one of `keys`; the error names the nearest known key. */
bool doc_only_keys(const struct doc *doc, const struct doc_node *map, const char *const *keys, size_t count,
                   struct error *err);

#endif
