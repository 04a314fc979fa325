#include "comm/load.h"
#include "core/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "rehearse"

static bool cut_to_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        slash[1] = 0;
    return slash != NULL;
}

static bool read_own(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length > 0)
        path[length] = 0;
    return length > 0;
}

/* Gets the folder of the running program, or of the library that this is a part of, with the final slash. */
static bool program_folder(char folder[PATH_MAX])
{
    return read_own(folder) && cut_to_folder(folder);
}

static bool program_library_folder(char folder[PATH_MAX])
{
    static const char mark;
    Dl_info info;
    return dladdr(&mark, &info) && info.dli_fname && realpath(info.dli_fname, folder) &&
           cut_to_folder(folder);
}

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

static bool is_at(char path[PATH_MAX], const char *folder, int length, const char *rest)
{
    int all = snprintf(path, PATH_MAX, "%.*s%s" NAME, length, folder, rest);
    return all > 0 && all < PATH_MAX && is_program(path);
}

static bool find_in_path(char path[PATH_MAX])
{
    const char *list = getenv("PATH");
    for (const char *at = list ? list : "/usr/bin:/bin", *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, ":");
        if (end > at && is_at(path, at, (int)(end - at), "/"))
            return true;
    }
    return false;
}

bool program_find(char path[PATH_MAX], struct error *err)
{
    const char *given = getenv("REHEARSE_PROGRAM");
    char folder[PATH_MAX];
    if (child_start_is_noted())
        return read_own(path) ||
               error_set(err, ERROR_FAILED, "cannot find this program: %s", strerror(errno));
    if (given && *given) {
        snprintf(path, PATH_MAX, "%s", given);
        return is_program(path) ||
               error_set(err, ERROR_FAILED, "REHEARSE_PROGRAM: no program '%.300s'", given);
    }
    if (program_library_folder(folder) &&
        (is_at(path, folder, PATH_MAX, "") || is_at(path, folder, PATH_MAX, REHEARSE_BIN_FROM_LIB)))
        return true;
    return find_in_path(path) || error_set(err, ERROR_FAILED,
                                           "several ranks need the program rehearse, which is neither beside "
                                           "the library nor in PATH: set REHEARSE_PROGRAM to it");
}

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
