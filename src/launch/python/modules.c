/* Modules of Python: where they lie, and what their names mean. */
#include "launch/python/python.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FOLDERS = 12, MAX_IMPORTS = 8 /* through which a name is followed */ };

/* Returns the path of a module, from the folder of a file on, and for absolute names in those above it; NULL: not there. */
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

/* Finds what a name is bound to in a module, or in those of which it imports all, each of which is visited once in a search. */
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
