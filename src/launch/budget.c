#include "launch/budget.h"

#include "core/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool spend(struct launch_budget *budget, const char *what, long long limit)
{
    if (!budget->spent)
        error_set(&budget->why, ERROR_INPUT, "more than %lld %s", limit, what);
    budget->spent = true;
    return false;
}

bool launch_budget_take(struct launch_budget *budget, int64_t steps)
{
    int64_t before = budget->steps / STOP_STEPS;
    budget->steps += steps;
    if (!budget->spent && budget->steps / STOP_STEPS != before)
        budget->spent = stop_obeyed(&budget->why);
    return !budget->spent && (budget->steps <= BUDGET_MAX_STEPS ||
                              spend(budget, "steps of reading a launch description", BUDGET_MAX_STEPS));
}

/* ---- folders ---- */

/* Returns the folder with a slash at its end; NULL: out of memory. */
static const char *with_slash(struct arena *arena, const char *folder)
{
    return arena_format(arena, "%s%s", folder, strcmp(folder, "/") == 0 ? "" : "/");
}

/* Returns the nearest folder at or above this one that is a checkout; NULL: there is none. */
static char *find_checkout(char *folder)
{
    char name[PATH_MAX + 8];
    struct stat info;
    for (size_t length = strlen(folder); length > 0 && length < PATH_MAX; folder[length] = '\0') {
        memcpy(name, folder, length);
        memcpy(name + length, "/.git", 6);
        if (stat(name, &info) == 0)
            return folder;
        while (length > 0 && folder[--length] != '/')
            ;
    }
    return NULL;
}

bool launch_budget_begin(struct launch_budget *budget, struct arena *arena, const char *path,
                         const char *root, bool is_alone, struct error *err)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX], asked[PATH_MAX];
    struct stat info;
    budget->folder = budget->root = NULL;
    budget->arena = arena;
    if (root && (!realpath(root, asked) || stat(asked, &info) != 0 || !S_ISDIR(info.st_mode)))
        return error_set(err, ERROR_USAGE, "--root: '%.200s' is not a folder", root);
    if (is_alone || (slash && slash - path >= PATH_MAX))
        return true;
    char *named = slash ? arena_copy(arena, path, (size_t)(slash - path + 1)) : arena_string(arena, ".");
    if (!named)
        return error_memory(err);
    if (!realpath(named, folder))
        return true; /* the description itself is not there */
    budget->folder = with_slash(arena, folder);
    const char *checkout = root ? asked : find_checkout(folder);
    budget->root = checkout ? with_slash(arena, checkout) : budget->folder;
    return (budget->folder && budget->root) || error_memory(err);
}

/* ---- files ---- */

static bool lies_in(const char *folder, const char *file)
{
    return strncmp(file, folder, strlen(folder)) == 0;
}

static bool refuse(struct launch_budget *budget, const char *path, const char *why, struct error *err)
{
    const char *said = arena_format(budget->arena, "%s not read: %s", path, why);
    int at = 0;
    while (at < budget->refused_count && said && strcmp(budget->refused[at], said) != 0)
        at++;
    if (said && at == budget->refused_count && at < BUDGET_MAX_REFUSED)
        budget->refused[budget->refused_count++] = said;
    return said ? error_set(err, ERROR_INPUT, "%s", said) : error_memory(err);
}

/* Sets the real name of a regular file that may be read. */
static bool find(struct launch_budget *budget, const char *path, char real[PATH_MAX], struct stat *info,
                 struct error *err)
{
    error_set(err, ERROR_INPUT, "%s: no such file", path);
    if (!budget->folder || budget->spent)
        return false;
    if (++budget->lookups > BUDGET_MAX_LOOKUPS)
        return spend(budget, "files looked up", BUDGET_MAX_LOOKUPS);
    if (strlen(path) >= PATH_MAX || !realpath(path, real) || stat(real, info) != 0 || S_ISDIR(info->st_mode))
        return false;
    if (!S_ISREG(info->st_mode))
        return refuse(budget, path, "not a regular file", err);
    return lies_in(budget->folder, real) || lies_in(budget->root, real) ||
           refuse(budget, path, "it lies outside of the description's folder (--root FOLDER)", err);
}

bool launch_budget_has(struct launch_budget *budget, const char *path)
{
    char real[PATH_MAX];
    struct stat info;
    struct error ignored;
    return find(budget, path, real, &info, &ignored);
}

/* Reads all that was seen of a file when it was looked up. */
static bool read_whole(int fd, char *data, size_t length)
{
    size_t have = 0;
    while (have < length) {
        ssize_t got = read(fd, data + have, length - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

bool launch_budget_read(struct launch_budget *budget, const char *path, char **data, size_t *length,
                        struct error *err)
{
    char real[PATH_MAX];
    struct stat seen, info;
    if (!find(budget, path, real, &seen, err))
        return false;
    *length = (size_t)seen.st_size;
    if (++budget->files > BUDGET_MAX_FILES)
        return spend(budget, "further files", BUDGET_MAX_FILES);
    if ((budget->bytes += *length) > BUDGET_MAX_BYTES)
        return spend(budget, "bytes of further files", (long long)BUDGET_MAX_BYTES);
    if (stop_obeyed(err))
        return false;
    int fd = open(real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_set(err, error_of_input(errno), "%s: cannot open: %s", path, strerror(errno));
    bool same = fstat(fd, &info) == 0 && info.st_dev == seen.st_dev && info.st_ino == seen.st_ino;
    *data = same ? malloc(*length + 1) : NULL;
    bool ok = *data && read_whole(fd, *data, *length);
    close(fd);
    if (ok)
        (*data)[*length] = '\0';
    else if (same && !*data)
        error_memory(err);
    else {
        free(*data);
        error_set(err, ERROR_FAILED, "%s: it changed while it was read", path);
    }
    return ok;
}

bool launch_budget_load(struct launch_budget *budget, const char *path, struct doc *doc, struct error *err)
{
    char *data;
    size_t length;
    if (!launch_budget_read(budget, path, &data, &length, err))
        return false;
    enum doc_syntax syntax = doc_syntax_of(path);
    bool ok = syntax == DOC_YAML ? doc_parse_lax(doc, syntax, path, data, length, err)
                                 : doc_parse(doc, syntax, path, data, length, err);
    free(data);
    return ok;
}
