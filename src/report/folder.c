#include "report/folder.h"

#include "core/vector.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Files of one folder, as they come. */
struct names {
    char **items;
    size_t count, capacity;
};

static void names_release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    memset(names, 0, sizeof *names);
}

static bool add_name(struct names *names, const char *name, struct error *err)
{
    if (!VECTOR_ROOM(names->items, names->capacity, names->count + 1))
        return error_memory(err);
    names->items[names->count] = strdup(name);
    return names->items[names->count++] || error_memory(err);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool read_all(DIR *stream, const char *path, struct names *names, struct error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (!entry && errno)
            return error_set(err, error_of_input(errno), "%s: cannot read the folder: %s", path,
                             strerror(errno));
        if (!entry)
            return true;
        if (entry->d_name[0] == '.')
            continue;
        if (names->count == REPORT_MAX_FILES)
            return error_set(err, ERROR_INPUT,
                             "%s: more than %d files: a report is of a folder of results, not of data", path,
                             REPORT_MAX_FILES);
        if (!add_name(names, entry->d_name, err))
            return false;
    }
}

/* In order. On failure *names holds nothing. */
static bool read_names(const char *path, struct names *names, struct error *err)
{
    DIR *stream = opendir(path);
    if (!stream)
        return error_set(err, error_of_input(errno), "%s: cannot open the folder: %s", path, strerror(errno));
    bool ok = read_all(stream, path, names, err);
    closedir(stream);
    if (!ok)
        names_release(names);
    else if (names->count > 0)
        qsort(names->items, names->count, sizeof *names->items, compare_names);
    return ok;
}

/* ---- one level, then the next ---- */

struct reading {
    struct folder *folder;
    size_t capacity;
    const char *root;
    struct stat except; /* st_ino 0: none */
};

static bool add_file(struct reading *reading, const char *path, int64_t size, const char *reason,
                     struct error *err)
{
    struct folder *folder = reading->folder;
    if (folder->count == reading->capacity) {
        size_t capacity = reading->capacity ? 2 * reading->capacity : 64;
        struct folder_file *files = ARENA_ARRAY(&folder->arena, capacity, struct folder_file);
        if (!files)
            return error_memory(err);
        if (folder->count > 0)
            memcpy(files, folder->files, folder->count * sizeof *files);
        folder->files = files;
        reading->capacity = capacity;
    }
    folder->files[folder->count++] = (struct folder_file){path, size, reason};
    return true;
}

static bool read_level(struct reading *reading, const char *below, struct error *err);

/* A folder in the folder: what is wrong with it is told of it. */
static bool enter(struct reading *reading, const char *path, bool deep, struct error *err)
{
    struct error why;
    size_t before = reading->folder->count;
    char *name = arena_format(&reading->folder->arena, "%s/", path);
    if (!name)
        return error_memory(err);
    if (deep)
        return add_file(reading, name, 0, NULL, err);
    if (read_level(reading, path, &why))
        return true;
    if (why.kind != ERROR_INPUT) {
        *err = why;
        return false;
    }
    reading->folder->count = before;
    const char *reason = arena_string(&reading->folder->arena, why.text);
    return reason ? add_file(reading, name, 0, reason, err) : error_memory(err);
}

static bool read_one(struct reading *reading, const char *below, const char *name, struct error *err)
{
    struct arena *arena = &reading->folder->arena;
    const char *path = below ? arena_format(arena, "%s/%s", below, name) : arena_string(arena, name);
    const char *full = path ? arena_format(arena, "%s/%s", reading->root, path) : NULL;
    struct stat facts, link;
    if (!full)
        return error_memory(err);
    if (stat(full, &facts) != 0 || lstat(full, &link) != 0) {
        const char *reason = arena_format(arena, "cannot be read: %s", strerror(errno));
        return reason ? add_file(reading, path, 0, reason, err) : error_memory(err);
    }
    if (facts.st_ino == reading->except.st_ino && facts.st_dev == reading->except.st_dev)
        return true;
    if (S_ISDIR(facts.st_mode) && S_ISLNK(link.st_mode))
        return add_file(reading, path, 0, "a link to a folder: not looked into", err);
    if (S_ISDIR(facts.st_mode))
        return enter(reading, path, below != NULL, err);
    return add_file(reading, path, facts.st_size, S_ISREG(facts.st_mode) ? NULL : "not a regular file", err);
}

static bool read_level(struct reading *reading, const char *below, struct error *err)
{
    struct names names = {0};
    const char *full =
        below ? arena_format(&reading->folder->arena, "%s/%s", reading->root, below) : reading->root;
    if (!full)
        return error_memory(err);
    if (!read_names(full, &names, err))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < names.count; i++)
        ok = read_one(reading, below, names.items[i], err);
    names_release(&names);
    return ok;
}

bool folder_read(struct folder *folder, const char *path, const char *except, struct error *err)
{
    struct reading reading = {.folder = folder, .root = path};
    memset(folder, 0, sizeof *folder);
    if (!except || stat(except, &reading.except) != 0)
        memset(&reading.except, 0, sizeof reading.except);
    if (read_level(&reading, NULL, err))
        return true;
    folder_release(folder);
    return false;
}

void folder_release(struct folder *folder)
{
    arena_release(&folder->arena);
    memset(folder, 0, sizeof *folder);
}
