/* One object of JSON, as traces hold them by the million: its members, and those of objects in it. */
#ifndef REHEARSE_TRACE_IMPORT_JSON_H
#define REHEARSE_TRACE_IMPORT_JSON_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

#define IMPORT_MEMBERS 64 /* further ones are left out */

struct import_member {
    const char
        *within; /* key of the object in the object that it belongs to, such as "args"; NULL: neither */
    const char *key;
    const char *value; /* a string without quotes and escapes, else as written; ends in NUL */
    bool string;
};

struct import_object {
    int count;
    struct import_member members[IMPORT_MEMBERS];
};

/* Splits the text of an object into members, which lie in the changed text. Lists, and objects in objects in
 * it, are left out. Returns false if the text does not begin with an object of JSON, or if memory is out
 * (error_is_memory). */
bool import_object_parse(struct import_object *object, char *text, struct error *err);

/* Returns a member, NULL if there is none. */
const struct import_member *import_object_find(const struct import_object *object, const char *within,
                                               const char *key);

/* Gets a whole number, which may be in quotes. */
bool import_object_integer(const struct import_object *object, const char *within, const char *key,
                           int64_t *value);

/* Converts microseconds to nanoseconds (text_microseconds). */
bool import_object_micros(const struct import_object *object, const char *key, int64_t *ns);

#endif
