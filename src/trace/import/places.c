#include "trace/import/places.h"

#include "core/fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void import_places_add(struct import_places *places, const char *path, int64_t line, const char *what)
{
    const char *slash = strrchr(path, '/');
    if (places->count == IMPORT_MAX_PLACES)
        return;
    struct import_place *place = &places->list[places->count++];
    place->line = line;
    snprintf(place->file, sizeof place->file, "%s", slash && slash[1] ? slash + 1 : path);
    snprintf(place->what, sizeof place->what, "%s", what);
    for (char *c = place->what; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '\x7f')
            *c = '?';
}

void import_places_print(const struct import_places *places, const char *indent, struct text *out)
{
    for (int i = 0; i < places->count; i++)
        text_format(out, "%s%s:%" PRId64 ": %s\n", indent, places->list[i].file, places->list[i].line,
                    places->list[i].what);
}

static const struct field place_fields[] = {
    FIELD(struct import_place, file, FIELD_CHARS, 0, 0),
    FIELD(struct import_place, line, FIELD_INT64, 0, 0),
    FIELD(struct import_place, what, FIELD_CHARS, 0, 0),
};

void import_places_write_json(const struct import_places *places, const char *key, struct json *json)
{
    FIELDS_LIST(places->list, places->count, place_fields, json, key);
}
