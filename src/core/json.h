/* JSON out: the one way results are written for programs.
 *
 *     struct json json = {.out = &text};
 *     json_open_document(&json, "rehearse-plan/2");
 *     json_number(&json, "iteration_time", 1.5);
 *     json_open(&json, "stages", '[');
 *     …
 *     json_close(&json);
 *     json_close(&json);
 *
 * Two spaces of indent; a map or list opened with json_open_flat stays on one line. `key` is NULL inside
 * lists. Doubles are written with the fewest digits that read back the same; NaN and infinities as null. */
#ifndef REHEARSE_CORE_JSON_H
#define REHEARSE_CORE_JSON_H

#include "core/text.h"

#include <stdbool.h>
#include <stdint.h>

#define JSON_MAX_DEPTH 32

enum json_type {
    JSON_MAP,
    JSON_LIST,
    JSON_END,
    JSON_STRING,
    JSON_NUMBER,
    JSON_INTEGER,
    JSON_BOOL,
    JSON_NULL,
    JSON_SAMPLE /* true: what follows, until it is false, is not written: an item as the open list would have it */
};

/* What was written: the key lives as long as the call. */
struct json_item {
    enum json_type type;
    const char *key;
    union {
        const char *string; /* may be NULL */
        double number;      /* may be NaN */
        int64_t integer;
        bool boolean;
    };
};

/* Is told all that is written, in order: a map and a list when they are opened, and their end. */
struct json_listener {
    void (*hear)(void *context, const struct json_item *item);
    void *context;
};

struct json {
    struct text *out;
    const struct json_listener *listener; /* NULL: nobody */
    const char *const *without;           /* keys whose items are left out, ended by NULL; NULL: none */
    int left_out;                         /* maps and lists open in such an item */
    int depth;
    char closing[JSON_MAX_DEPTH];
    bool flat[JSON_MAX_DEPTH];
    bool has_items[JSON_MAX_DEPTH];
};

void json_open(struct json *json, const char *key, char bracket);
void json_open_flat(struct json *json, const char *key, char bracket);

/* Opens a map whose first keys are `format` and `$schema`: a whole file, or an item of a list. The second writes them into
 * a map that is open. A schema's address is its name, which editors look up; no host has it (see docs/schema/). */
#define JSON_SCHEMAS "https://rehearse.invalid/schema/"
void json_open_document(struct json *json, const char *format);
void json_document(struct json *json, const char *format);

void json_close(struct json *json);                                      /* the outermost adds a newline */
void json_string(struct json *json, const char *key, const char *value); /* NULL is null */
void json_number(struct json *json, const char *key, double value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* Writes lines as a list of texts without their ends. */
void json_lines(struct json *json, const char *key, const char *lines);

#endif
