/* Modules of Python: where they lie, and what their names mean. */
#include "core/hash.h"
#include "launch/python/python.h"

#include <stdlib.h>
#include <string.h>

/* Values of Python and their fields. */

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

static void *python_index_find(const struct python_index *index, const char *name)
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

enum { MAX_FOLDERS = 12, MAX_IMPORTS = 8 /* through which a name is followed */ };

/* Returns the path of a module, from the folder of a file on, and for absolute names in those above it; NULL: not
 * there. */
static const char *find_module(struct python *p, const char *from, const char *name)
{
    char relative[256];
    size_t dots = strspn(name, "."), length = 0;
    for (const char *at = name + dots; *at && length + 1 < sizeof relative; at++)
        relative[length++] = *at == '.' ? '/' : *at;
    relative[length] = '\0';
    const char *end = from + strlen(from), *above = "";
    for (int up = 0; up < MAX_FOLDERS; up++) {
        while (end > from && end[-1] != '/')
            end--;
        if (end == from && up > 0 && from[0] != '/' && !(above = arena_format(&p->arena, "%s../", above))) {
            p->failed = true;
            return NULL;
        }
        if (dots == 0 || up + 1 == (int)dots)
            for (int package = 0; package < 2; package++) {
                const char *path =
                    arena_format(&p->arena, "%s%.*s%s%s", above, (int)(end - from), from, relative,
                                 package ? length > 0 ? "/__init__.py" : "__init__.py" : ".py");
                p->failed |= !path;
                if (!path || launch_budget_has(p->budget, path))
                    return path;
            }
        if ((end == from && from[0] == '/') || (dots > 0 && up + 1 >= (int)dots))
            return NULL;
        end -= end > from;
    }
    return NULL;
}

static struct python_module *open_module(struct python *p, const struct python_module *from, const char *name)
{
    const char *path = p->module_count >= PYTHON_MAX_MODULES ? NULL : find_module(p, from->path, name);
    for (struct python_module *module = p->modules; path && module; module = module->next)
        if (strcmp(module->path, path) == 0)
            return module;
    char *data = NULL;
    size_t length;
    struct error why;
    if (!path || !launch_budget_read(p->budget, path, &data, &length, &why)) {
        p->failed |= p->budget->spent || (path && error_is_memory(&why));
        return NULL;
    }
    struct python_module *module = python_add_module(p, path, data, length, &why);
    p->failed |= !module && error_is_memory(&why);
    free(data);
    return module;
}

/* Returns the module of an import, which is sought once; NULL: it is not there. */
static struct python_module *imported(struct python *p, struct python_module *module,
                                      struct python_name *name)
{
    if (!name->sought)
        name->module = open_module(p, module, name->from);
    name->sought = true;
    return name->module;
}

/* Finds what a name is bound to in a module, or in those of which it imports all, each of which is visited once in a
 * search. */
static struct python_name *find_bound(struct python *p, struct python_module *module, const char *name,
                                      struct python_module **home, int depth)
{
    struct python_name *found = python_index_find(&module->index, name);
    *home = module;
    module->visit = p->visits;
    if (found || depth >= MAX_IMPORTS)
        return found;
    for (struct python_name *at = module->stars; !found && at && python_spend(p, 1); at = at->next_star) {
        struct python_module *other = imported(p, module, at);
        found = other && other->visit != p->visits ? find_bound(p, other, name, home, depth + 1) : NULL;
    }
    return found;
}

/* Returns what a name means in a module, through what it imports, and sets *home to its module. */
struct python_name *python_look_up(struct python *p, struct python_module *module, const char *name,
                                   struct python_module **home)
{
    for (int i = 0; i < MAX_IMPORTS; i++) {
        p->visits++;
        struct python_name *found = find_bound(p, module, name, home, 0);
        if (!found || !found->from)
            return found;
        module = imported(p, *home, found);
        name = found->own;
        if (!module || !name)
            return NULL;
    }
    return NULL;
}
