#include "report/folder.h"

#include "core/system/folder.h"
#include "core/vector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A walk over one folder and the folders in it. */
struct walk {
    struct folder *folder;
    size_t capacity;
    const char *root;
    struct stat except; /* st_ino 0: none */
};

/* ---- one level, then the next ---- */

/* `path` and `reason` live in the arena; without memory for them they are NULL and false is returned. */
static bool add_file(struct walk *walk, const char *path, int64_t size, const char *reason, struct error *err)
{
    struct folder *folder = walk->folder;
    if (!path || !VECTOR_ROOM(folder->files, walk->capacity, folder->count + 1))
        return error_memory(err);
    folder->files[folder->count++] = (struct folder_file){path, size, reason};
    return true;
}

static bool read_level(struct walk *walk, const char *below, struct error *err);

/* Reads a folder in the folder. A fault in it becomes the reason why it is not read. */
static bool enter(struct walk *walk, const char *path, bool deep, struct error *err)
{
    struct arena *arena = &walk->folder->arena;
    struct error why;
    size_t before = walk->folder->count;
    const char *name = arena_format(arena, "%s/", path), *reason = NULL;
    if (!deep) {
        if (read_level(walk, path, &why))
            return true;
        if (why.kind != ERROR_INPUT) {
            *err = why;
            return false;
        }
        walk->folder->count = before;
        reason = arena_string(arena, why.text);
        if (!reason)
            return error_memory(err);
    }
    return add_file(walk, name, 0, reason, err);
}

static bool read_one(struct walk *walk, const char *below, const char *name, struct error *err)
{
    struct arena *arena = &walk->folder->arena;
    const char *path = below ? arena_format(arena, "%s/%s", below, name) : arena_string(arena, name);
    const char *full = path ? arena_format(arena, "%s/%s", walk->root, path) : NULL;
    struct stat facts, link;
    if (!full)
        return error_memory(err);
    if (stat(full, &facts) != 0 || lstat(full, &link) != 0) {
        const char *reason = arena_format(arena, "cannot be read: %s", strerror(errno));
        return reason ? add_file(walk, path, 0, reason, err) : error_memory(err);
    }
    if (facts.st_ino == walk->except.st_ino && facts.st_dev == walk->except.st_dev)
        return true;
    if (S_ISDIR(facts.st_mode) && S_ISLNK(link.st_mode))
        return add_file(walk, path, 0, "a link to a folder: not read", err);
    if (S_ISDIR(facts.st_mode))
        return enter(walk, path, below != NULL, err);
    return add_file(walk, path, facts.st_size, S_ISREG(facts.st_mode) ? NULL : "not a regular file", err);
}

static bool read_level(struct walk *walk, const char *below, struct error *err)
{
    const char **names;
    int count;
    struct arena *arena = &walk->folder->arena;
    const char *full = below ? arena_format(arena, "%s/%s", walk->root, below) : walk->root;
    if (!full)
        return error_memory(err);
    bool ok = folder_names(full, REPORT_MAX_FILES, arena, &names, &count, err);
    if (ok && count > REPORT_MAX_FILES)
        ok = error_set(err, ERROR_INPUT, "%s: more than %d files: expected a folder of results, not of data",
                       full, REPORT_MAX_FILES);
    for (int i = 0; ok && i < count; i++)
        ok = read_one(walk, below, names[i], err);
    return ok;
}

bool folder_read(struct folder *folder, const char *path, const char *except, struct error *err)
{
    struct walk walk = {.folder = folder, .root = path};
    memset(folder, 0, sizeof *folder);
    if (!except || stat(except, &walk.except) != 0)
        memset(&walk.except, 0, sizeof walk.except);
    if (read_level(&walk, NULL, err))
        return true;
    folder_release(folder);
    return false;
}

void folder_release(struct folder *folder)
{
    free(folder->files);
    arena_release(&folder->arena);
    memset(folder, 0, sizeof *folder);
}
