#include "comm/load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Gets the folder of the program, with the final slash. */
static bool program_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0)
        return false;
    folder[length] = 0;
    char *slash = strrchr(folder, '/');
    if (!slash)
        return false;
    slash[1] = 0;
    return true;
}

/* Gets the folder of the library that this is a part of, likewise; a program's own may be far from it. */
static bool library_folder(char folder[PATH_MAX + 16])
{
    static const char mark;
    Dl_info info;
    if (!dladdr(&mark, &info) || !info.dli_fname || !realpath(info.dli_fname, folder))
        return false;
    char *slash = strrchr(folder, '/');
    if (!slash)
        return false;
    slash[1] = 0;
    return true;
}

static void *open_at(const char *folder, const char *name, int flags)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s%s", folder, name);
    return access(path, F_OK) == 0 ? dlopen(path, flags) : NULL;
}

void *module_load(const struct module_place *place, char *why, size_t size)
{
    char folder[PATH_MAX + 16];
    const char *given = getenv(place->variable);
    void *module = NULL;
    dlerror();
    if (given && *given)
        module = dlopen(given, place->flags);
    else if (program_folder(folder) && !(module = open_at(folder, place->file, place->flags)))
        module = open_at(folder, place->from_bin, place->flags);
    if (!module && !(given && *given) && library_folder(folder)) {
        strcat(folder, "rehearse/"); /* there is room */
        module = open_at(folder, place->file, place->flags);
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
