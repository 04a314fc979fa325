/* One flat object of JSON, as traces hold them by the million: its members, and those of `args` in it. */
#ifndef REHEARSE_TRACE_IMPORT_JSON_H
#define REHEARSE_TRACE_IMPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORT_MEMBERS 64 /* further ones are passed over */

struct import_member {
    const char *key,
        *value; /* a string without its quotes, its escapes decoded; else as written; both end in NUL */
    bool string, inner; /* a string; a member of `args` */
};

struct import_object {
    int count;
    struct import_member members[IMPORT_MEMBERS];
};

/* Takes the text of an object apart, in its own place. False when it is no object of JSON. */
bool import_object_parse(struct import_object *object, char *text);

/* NULL: no such member. */
const struct import_member *import_object_find(const struct import_object *object, bool inner,
                                               const char *key);

/* A number, or digits in quotes. */
bool import_object_integer(const struct import_object *object, bool inner, const char *key, int64_t *value);

/* Microseconds as nanoseconds, exactly. */
bool import_object_micros(const struct import_object *object, const char *key, int64_t *ns);

#endif
