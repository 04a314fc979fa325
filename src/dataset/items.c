#include "core/file_output.h"
#include "core/text.h"
#include "core/vector.h"
#include "dataset/scale.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 32 /* folders in folders */

struct listing {
    const char *root;
    struct arena *arena;
    struct error *err;
    const char **paths;
    size_t count, capacity;
};

static bool add_path(struct listing *listing, const char *path)
{
    if (!VECTOR_ROOM(listing->paths, listing->capacity, listing->count + 1))
        return error_memory(listing->err);
    listing->paths[listing->count] = arena_string(listing->arena, path);
    return listing->paths[listing->count++] ? true : error_memory(listing->err);
}

static bool is_data(const char *name)
{
    return name[0] != '.' && !text_ends_with(name, FILE_PART) && strcmp(name, DATASET_MANIFEST) != 0;
}

static bool walk(struct listing *listing, const char *folder, int depth);

/* An entry of a folder; `path` is relative to the root. */
static bool visit(struct listing *listing, const char *path, int depth)
{
    struct text full = {0};
    struct stat state;
    text_format(&full, "%s/%s", listing->root, path);
    if (full.failed)
        return error_memory(listing->err);
    bool known = stat(full.data, &state) == 0;
    if (!known)
        error_set(listing->err, ERROR_FAILED, "cannot look at '%s': %s", full.data, strerror(errno));
    text_release(&full);
    if (!known)
        return false;
    if (S_ISDIR(state.st_mode))
        return walk(listing, path, depth + 1);
    return S_ISREG(state.st_mode) ? add_path(listing, path) : true;
}

static bool walk_entries(struct listing *listing, DIR *open, const char *folder, int depth)
{
    struct text path = {0};
    bool walked = true;
    const struct dirent *entry;
    while (walked && (errno = 0, entry = readdir(open))) {
        if (!is_data(entry->d_name))
            continue;
        path.length = 0;
        text_format(&path, "%s%s%s", folder, folder[0] ? "/" : "", entry->d_name);
        walked = path.failed ? error_memory(listing->err) : visit(listing, path.data, depth);
    }
    if (walked && errno)
        walked = error_set(listing->err, ERROR_FAILED, "cannot read '%s/%s': %s", listing->root, folder,
                           strerror(errno));
    text_release(&path);
    return walked;
}

static bool walk(struct listing *listing, const char *folder, int depth)
{
    struct text full = {0};
    if (depth > MAX_DEPTH)
        return error_set(listing->err, ERROR_INPUT, "'%s/%s': folders lie more than %d deep", listing->root,
                         folder, MAX_DEPTH);
    text_format(&full, "%s/%s", listing->root, folder);
    if (full.failed)
        return error_memory(listing->err);
    DIR *open = opendir(full.data);
    bool walked = open != NULL;
    if (!open)
        error_set(listing->err, error_of_input(errno), "cannot open '%s': %s", full.data, strerror(errno));
    text_release(&full);
    if (!open)
        return false;
    walked = walk_entries(listing, open, folder, depth);
    closedir(open);
    return walked;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Bytes of a path up to the end of the first number in its name; all where there is none. */
static size_t key_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t at = slash ? (size_t)(slash + 1 - path) : 0;
    while (path[at] && !isdigit((unsigned char)path[at]))
        at++;
    while (isdigit((unsigned char)path[at]))
        at++;
    return at;
}

static bool belongs(const char *a, const char *b)
{
    size_t length = key_length(a);
    return key_length(b) == length && memcmp(a, b, length) == 0;
}

bool dataset_items_list(const char *root, struct arena *arena, struct dataset_item **items, int64_t *count,
                        struct error *err)
{
    struct listing listing = {.root = root, .arena = arena, .err = err};
    *count = 0;
    bool listed = walk(&listing, "", 0);
    if (listed && listing.count > 0) {
        qsort(listing.paths, listing.count, sizeof *listing.paths, by_text);
        *items = ARENA_ARRAY(arena, listing.count, struct dataset_item);
        listed = *items || error_memory(err);
    }
    for (size_t i = 0; listed && i < listing.count; i++) {
        struct dataset_item *last = *count > 0 ? &(*items)[*count - 1] : NULL;
        if (!last || last->count == DATASET_MAX_PARTS || !belongs(last->paths[0], listing.paths[i]))
            last = &(*items)[(*count)++];
        last->paths[last->count++] = listing.paths[i];
    }
    free(listing.paths);
    return listed;
}
