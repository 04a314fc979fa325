#include "core/file_output.h"
#include "core/statistics.h"
#include "core/text.h"
#include "core/vector.h"
#include "dataset/scale.h"

#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

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

/* An entry of the folder or of one below it: a file is listed, and a link is what it leads to. */
static bool visit(struct listing *listing, FTS *folders, FTSENT *entry)
{
    const char *below = entry->fts_path + strlen(listing->root);
    int code;
    if (entry->fts_level > 0 && !is_data(entry->fts_name)) {
        fts_set(folders, entry, FTS_SKIP);
        return true;
    }
    switch (entry->fts_info) {
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
    case FTS_SLNONE: /* a link to nowhere, of which fts has no errno */
        code = entry->fts_errno ? entry->fts_errno : ENOENT;
        return error_set(listing->err, entry->fts_level > 0 ? ERROR_FAILED : error_of_input(code),
                         "cannot open '%s': %s", entry->fts_path, strerror(code));
    case FTS_DC:
        return error_set(listing->err, ERROR_INPUT, "'%s': a link leads back to a folder above it",
                         entry->fts_path);
    case FTS_D:
        return entry->fts_level <= MAX_DEPTH ||
               error_set(listing->err, ERROR_INPUT, "'%s': folders are nested more than %d deep",
                         entry->fts_path, MAX_DEPTH);
    case FTS_F:
        return add_path(listing, below + strspn(below, "/"));
    default:
        return true;
    }
}

static bool walk(struct listing *listing)
{
    char *root = strdup(listing->root);
    FTS *folders = root ? fts_open((char *[]){root, NULL}, FTS_LOGICAL | FTS_NOCHDIR, NULL) : NULL;
    bool walked = folders || error_memory(listing->err);
    for (FTSENT *entry; walked && (errno = 0, entry = fts_read(folders));)
        walked = visit(listing, folders, entry);
    if (walked && errno)
        walked =
            error_set(listing->err, ERROR_FAILED, "cannot read '%s': %s", listing->root, strerror(errno));
    if (folders)
        fts_close(folders);
    free(root);
    return walked;
}

/* Returns the bytes of a path up to the end of the first number in its name; all of them if it has none. */
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
    bool listed = walk(&listing);
    if (listed && listing.count > 0) {
        qsort(listing.paths, listing.count, sizeof *listing.paths, order_texts);
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
