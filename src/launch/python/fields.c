/* Values of Python and their fields. */
#include "core/hash.h"
#include "launch/python/python.h"

#include <string.h>

struct python_value *python_make(struct python *p, const struct python_frame *f, enum python_kind kind,
                                 const char *text, double number)
{
    struct python_value *value = python_spend(p, 1) ? ARENA_NEW(&p->arena, struct python_value) : NULL;
    p->failed |= !value;
    if (value)
        *value = (struct python_value){kind, text, number, NULL, f->module->path, python_peek(f)->line, NULL};
    return value;
}

/* ---- fields ---- */

enum { MANY_FIELDS = 8 }; /* from which on they have an index */

static const char *const **place_of(const struct python_index *index, const char *name)
{
    size_t mask = index->capacity - 1, at = hash_bytes(0, name, strlen(name)) & mask;
    while (index->places[at] && strcmp(*index->places[at], name) != 0)
        at = (at + 1) & mask;
    return &index->places[at];
}

bool python_index_add(struct python *p, struct python_index *index, const void *entry)
{
    if (2 * index->count >= index->capacity) {
        const struct python_index old = *index;
        index->capacity = old.capacity > 0 ? 2 * old.capacity : (size_t)4 * MANY_FIELDS;
        index->places = ARENA_ARRAY(&p->arena, index->capacity, const char *const *);
        if (!index->places) {
            *index = old;
            p->failed = true;
            return false;
        }
        for (size_t i = 0; i < old.capacity; i++)
            if (old.places[i])
                *place_of(index, *old.places[i]) = old.places[i];
    }
    const char *const **place = place_of(index, *(const char *const *)entry);
    index->count += !*place;
    *place = entry;
    return true;
}

void *python_index_find(const struct python_index *index, const char *name)
{
    return index->capacity > 0 ? (void *)(uintptr_t)*place_of(index, name) : NULL;
}

const struct python_field *python_field(const struct python_value *object, const char *name)
{
    if (object && object->index)
        return python_index_find(object->index, name);
    const struct python_field *field = object ? object->fields : NULL;
    while (field && strcmp(field->name, name) != 0)
        field = field->next;
    return field;
}

bool python_set(struct python *p, struct python_value *object, const char *name, struct python_value *value,
                const char *path, int line)
{
    struct python_field **link = object->index ? object->index->last : &object->fields;
    struct python_field *field = object->index ? python_index_find(object->index, name) : NULL;
    int count = 0;
    for (; !object->index && *link && !field; count++)
        if (strcmp((*link)->name, name) == 0)
            field = *link;
        else
            link = &(*link)->next;
    if (field) {
        *field = (struct python_field){name, value, path, line, field->next};
        return true;
    }
    field = python_spend(p, 1) ? ARENA_NEW(&p->arena, struct python_field) : NULL;
    p->failed |= !field;
    if (!field)
        return false;
    *field = (struct python_field){name, value, path, line, NULL};
    *link = field;
    if (!object->index && count < MANY_FIELDS)
        return true;
    struct python_index *index = object->index ? object->index : ARENA_NEW(&p->arena, struct python_index);
    p->failed |= !index;
    if (!index)
        return false;
    for (struct python_field *one = object->index ? field : object->fields; one; one = one->next)
        if (!python_index_add(p, index, one))
            return false;
    index->last = &field->next;
    object->index = index;
    return true;
}
