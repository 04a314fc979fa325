#include "comm/load.h"

#include "comm/program.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *open_at(const char *folder, const char *name, int flags)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s%s", folder, name);
    return access(path, F_OK) == 0 ? dlopen(path, flags) : NULL;
}

void *module_load(const struct module_place *place, char *why, size_t size)
{
    char folder[PATH_MAX];
    const char *given = getenv(place->variable);
    char name[PATH_MAX];
    void *module = NULL;
    dlerror();
    if (given && *given)
        module = dlopen(given, place->flags);
    else if (program_folder(folder) && !(module = open_at(folder, place->file, place->flags)))
        module = open_at(folder, place->from_bin, place->flags);
    if (!module && !(given && *given) && program_library_folder(folder)) {
        snprintf(name, sizeof name, "rehearse/%s", place->file);
        module = open_at(folder, name, place->flags);
    }
    if (module)
        return module;
    const char *said = dlerror(); /* NULL: there was no file to open */
    if (said)
        snprintf(why, size, "%s", said);
    else
        snprintf(why, size, "%s is neither beside the program nor in %s", place->file, place->from_bin);
    return NULL;
}
