#include "trace/import/paths.h"

#include "core/file.h"
#include "core/statistics.h"
#include "core/vector.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct listing {
    struct import_paths *paths;
    const struct import_paths_rules *rules;
    int depth;
};

static bool list(struct listing *listing, const char *folder, struct error *err);

static bool list_folder(struct listing *listing, const char *folder, struct error *err)
{
    int max = listing->rules->max_depth;
    if (max > 0 && listing->depth == max)
        return error_set(err, ERROR_INPUT, "'%s': more than %d folders deep", folder, max);
    listing->depth++;
    bool done = max == 0 || list(listing, folder, err);
    listing->depth--;
    return done;
}

/* Adds a path if it leads to a regular file; *kept then tells that the list owns it. */
static bool add_file(struct listing *listing, char *path, bool *kept, struct error *err)
{
    struct import_paths *paths = listing->paths;
    enum file_kind kind;
    if (!file_look(path, &kind, err))
        return false;
    if (kind != FILE_REGULAR)
        return true;
    if (paths->count == listing->rules->max_count)
        return error_set(err, ERROR_INPUT, "'%s': more than %zu files in one folder", path,
                         listing->rules->max_count);
    *kept = VECTOR_ADD(paths->items, paths->count, paths->capacity, path);
    return *kept || error_memory(err);
}

static bool list_one(struct listing *listing, const char *folder, const char *name, struct error *err)
{
    struct stat state;
    char *path;
    bool done = true, kept = false;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return error_memory(err);
    if (lstat(path, &state) != 0)
        done =
            errno == ENOENT || error_set(err, ERROR_FAILED, "cannot look at '%s': %s", path, strerror(errno));
    else if (S_ISDIR(state.st_mode))
        done = list_folder(listing, path, err);
    else if (!listing->rules->wanted || listing->rules->wanted(name))
        done = add_file(listing, path, &kept, err);
    if (!kept)
        free(path);
    return done;
}

static bool list(struct listing *listing, const char *folder, struct error *err)
{
    DIR *directory = opendir(folder);
    bool done = true;
    const struct dirent *entry;
    if (!directory)
        return error_set(err, error_of_input(errno), "cannot read '%s': %s", folder, strerror(errno));
    while (done && (errno = 0, entry = readdir(directory)))
        done = entry->d_name[0] == '.' || list_one(listing, folder, entry->d_name, err);
    if (done && errno)
        done = error_set(err, ERROR_FAILED, "cannot read '%s': %s", folder, strerror(errno));
    closedir(directory);
    return done;
}

bool import_paths_list(struct import_paths *paths, const char *folder, const struct import_paths_rules *rules,
                       struct error *err)
{
    bool done = list(&(struct listing){.paths = paths, .rules = rules}, folder, err);
    if (paths->count > 1)
        qsort(paths->items, paths->count, sizeof *paths->items, order_texts);
    return done;
}

void import_paths_release(struct import_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->items[i]);
    free(paths->items);
    *paths = (struct import_paths){0};
}
