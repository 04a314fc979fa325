#include "api/value.h"

#include "core/fields.h"

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
    values[handle->count++] = (struct api_value){name, array};
}

/* A copy of one value. */
static void add_single(rh_handle *handle, const char *name, char type, const void *value, size_t size)
{
    void *kept = arena_alloc(&handle->arena, 1, size);
    if (kept)
        memcpy(kept, value, size);
    else
        handle->failed = true;
    api_add(handle, name, (struct rh_array){.data = kept, .type = type});
}

void api_add_number(rh_handle *handle, const char *name, double value)
{
    add_single(handle, name, 'd', &value, sizeof value);
}

void api_add_count(rh_handle *handle, const char *name, int64_t value)
{
    add_single(handle, name, 'q', &value, sizeof value);
}

void api_add_flag(rh_handle *handle, const char *name, bool value)
{
    add_single(handle, name, '?', &value, sizeof value);
}

void api_add_string(rh_handle *handle, const char *name, const char *value)
{
    const char *copy = value ? arena_string(&handle->arena, value) : NULL;
    handle->failed = handle->failed || (value && !copy);
    add_single(handle, name, 's', &copy, sizeof copy);
}

void api_add_column(rh_handle *handle, const char *name, char type, const void *data, int64_t count,
                    size_t stride)
{
    api_add(handle, name,
            (struct rh_array){
                .data = data, .type = type, .dimensions = 1, .shape = {count}, .stride = {(int64_t)stride}});
}

void api_add_fields(rh_handle *handle, const char *list, const void *items, int64_t count, size_t stride,
                    const struct field *fields, size_t field_count)
{
    static const char types[FIELD_END + 1] = {
        [FIELD_INT] = 'i',  [FIELD_INT64] = 'q', [FIELD_SIZE] = 'q',
        [FIELD_FLAG] = '?', [FIELD_TEXT] = 's',  [FIELD_SOME_TEXT] = 's'};
    for (const struct field *field = fields; field < fields + field_count; field++) {
        assert(field->type < FIELD_OTHER);
        char type = types[field->type] ? types[field->type] : 'd';
        const char *name = arena_format(&handle->arena, "%s.%s", list, field->key);
        handle->failed = handle->failed || !name;
        if (name)
            api_add_column(handle, name, type, count > 0 ? (const char *)items + field->offset : NULL, count,
                           stride);
    }
}

static int64_t size_of(char type)
{
    return type == 'i' ? (int64_t)sizeof(int) : type == '?' ? (int64_t)sizeof(bool) : 8;
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
    for (int i = 0; handle && name && i < handle->count; i++)
        if (strcmp(handle->values[i].name, name) == 0)
            return &handle->values[i];
    return NULL;
}
