/* The first malformed lines of some files, kept for display. */
#ifndef REHEARSE_TRACE_IMPORT_PLACES_H
#define REHEARSE_TRACE_IMPORT_PLACES_H

#include "core/json.h"

#include <stdint.h>

#define IMPORT_MAX_PLACES 8

struct import_places {
    int count;
    struct import_place {
        char file[64]; /* its name without the folder */
        int64_t line;
        char what[120]; /* the problem, or the beginning of the line */
    } list[IMPORT_MAX_PLACES];
};

/* Adds a place if there is room. */
void import_places_add(struct import_places *places, const char *path, int64_t line, const char *what);

/* Adds a line for each place, "file:line: problem". */
void import_places_print(const struct import_places *places, const char *indent, struct text *out);
void import_places_write_json(const struct import_places *places, const char *key, struct json *json);

#endif
