#include "api/value.h"

#include "core/fields.h"
#include "core/hash.h"

#include <assert.h>
#include <string.h>

void api_add(rh_handle *handle, const char *name, struct rh_array array)
{
    struct api_value *values =
        arena_grow(&handle->arena, handle->values, handle->count, &handle->room, sizeof *handle->values);
    if (!values) {
        handle->failed = true;
        return;
    }
    handle->values = values;
    values[handle->count++] = (struct api_value){name, array, hash_bytes(0, name, strlen(name))};
}

void api_add_column(rh_handle *handle, const char *name, char type, const void *data, int64_t count,
                    size_t stride)
{
    api_add(handle, name,
            (struct rh_array){
                .data = data, .type = type, .dimensions = 1, .shape = {count}, .stride = {(int64_t)stride}});
}

static char type_of(const struct field *field)
{
    static const char types[FIELD_END + 1] = {
        [FIELD_INT] = 'i',  [FIELD_INT64] = 'q',     [FIELD_SIZE] = 'q',       [FIELD_FLAG] = '?',
        [FIELD_TEXT] = 's', [FIELD_SOME_TEXT] = 's', [FIELD_KNOWN_CHARS] = 's'};
    assert(field->type < FIELD_OTHER || types[field->type]);
    return types[field->type] ? types[field->type] : 'd';
}

static int64_t size_of(char type)
{
    return type == 'i' ? (int64_t)sizeof(int) : type == '?' ? (int64_t)sizeof(bool) : 8;
}

void api_add_values(rh_handle *handle, const void *record, const struct field *fields, size_t count)
{
    for (const struct field *field = fields; field < fields + count; field++) {
        const char type = type_of(field), *at = (const char *)record + field->offset, *text = NULL;
        if (field->type == FIELD_KNOWN_CHARS)
            text = *at ? at : NULL;
        else if (type == 's')
            memcpy(&text, at, sizeof text);
        if (field->type == FIELD_SOME_TEXT && !text)
            continue;
        void *kept = arena_alloc(&handle->arena, 1, sizeof(int64_t));
        const char *copy = text ? arena_string(&handle->arena, text) : NULL;
        handle->failed = handle->failed || !kept || (text && !copy);
        if (kept && type == 'i')
            *(int64_t *)kept = (int64_t)field_get(record, field);
        else if (kept)
            memcpy(kept, type == 's' ? (const void *)&copy : at, (size_t)size_of(type));
        api_add(handle, field->key, (struct rh_array){.data = kept, .type = type == 'i' ? 'q' : type});
    }
}

void api_add_fields(rh_handle *handle, const char *list, const void *items, int64_t count, size_t stride,
                    const struct field *fields, size_t field_count)
{
    for (const struct field *field = fields; field < fields + field_count; field++) {
        const char *name = *list ? arena_format(&handle->arena, "%s.%s", list, field->key) : field->key;
        handle->failed = handle->failed || !name;
        if (name)
            api_add_column(handle, name, type_of(field),
                           count > 0 ? (const char *)items + field->offset : NULL, count, stride);
    }
}

struct verdict {
    bool passed;
    struct error why;
};

static const struct field verdict_fields[] = {
    FIELD_OUT(struct verdict, "passed", passed, FIELD_FLAG),
    FIELD_OUT(struct verdict, "reason", why.text, FIELD_KNOWN_CHARS),
    FIELD_OUT(struct verdict, "code", why.kind, FIELD_INT),
};

void api_judge(rh_handle *handle, bool passed, const struct error *why)
{
    API_VALUES(handle, &((const struct verdict){passed, passed ? (struct error){.text = ""} : *why}),
               verdict_fields);
}

void api_add_table(rh_handle *handle, const char *name, char type, const void *data, int64_t rows,
                   int64_t columns)
{
    int64_t size = size_of(type);
    api_add(handle, name,
            (struct rh_array){.data = data,
                              .type = type,
                              .dimensions = 2,
                              .shape = {rows, columns},
                              .stride = {columns * size, size}});
}

const struct api_value *api_find(const rh_handle *handle, const char *name)
{
    if (!handle || !name)
        return NULL;
    uint64_t hash = hash_bytes(0, name, strlen(name));
    for (int i = 0; i < handle->count; i++)
        if (handle->values[i].hash == hash && strcmp(handle->values[i].name, name) == 0)
            return &handle->values[i];
    return NULL;
}
