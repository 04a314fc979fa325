#include "trace/capture/files.h"
#include "core/random.h"
#include "core/vector.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void capture_files_init(struct capture_files *files, struct trace_writer *writer)
{
    *files = (struct capture_files){.writer = writer};
}

void capture_files_release(struct capture_files *files)
{
    hash_map_release(&files->opened);
    hash_map_release(&files->inodes);
    free(files->known);
    *files = (struct capture_files){0};
}

int64_t capture_device(uint32_t device)
{
    return (int64_t)makedev(device >> 20, device & 0xfffff);
}

/* Combines two numbers into one key; known[] tells whether it is the right one. */
static uint64_t inode_key(const struct capture_open *open)
{
    uint64_t key = open->inode * RANDOM_GOLDEN ^ open->device;
    return key ? key : 1;
}

static bool is_same(const struct capture_file *file, const struct capture_open *open)
{
    return file->inode == open->inode && file->device == open->device;
}

static const struct capture_file *find(const struct capture_files *files, const struct hash_map *map,
                                       uint64_t key, const struct capture_open *open)
{
    const int64_t *at = key ? hash_map_find(map, key) : NULL;
    return at && is_same(&files->known[*at], open) ? &files->known[*at] : NULL;
}

static bool remember(struct capture_files *files, const struct capture_open *open, int64_t id)
{
    const int64_t *old = hash_map_find(&files->inodes, inode_key(open));
    int64_t at = old ? *old : -1;
    if (at < 0 || files->known[at].id != id || !is_same(&files->known[at], open)) {
        if (!VECTOR_ROOM(files->known, files->capacity, files->count + 1))
            return false;
        at = (int64_t)files->count++;
        files->known[at] = (struct capture_file){open->inode, open->device, id};
    }
    return hash_map_set(&files->inodes, inode_key(open), at) &&
           (!open->file || hash_map_set(&files->opened, open->file, at));
}

/* Returns the kind by the type of file. The path tells terminals from other devices; without a type it is
 * an eventfd or the like. */
static enum trace_kind kind_of(const struct capture_open *open, const char *path)
{
    switch (open->mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFLNK:
        return TRACE_KIND_FILE;
    case S_IFIFO:
        return TRACE_KIND_PIPE;
    case S_IFSOCK:
        return TRACE_KIND_SOCKET;
    case S_IFBLK:
        return TRACE_KIND_DEVICE;
    case S_IFCHR:
        return trace_kind_of_path(path, strlen(path)) == TRACE_KIND_OTHER ? TRACE_KIND_OTHER
                                                                          : TRACE_KIND_DEVICE;
    default:
        return TRACE_KIND_OTHER;
    }
}

int64_t capture_files_open(struct capture_files *files, const struct capture_open *open, const char *path)
{
    int64_t id = trace_file_of_kind(files->writer, capture_device(open->device), (int64_t)open->inode,
                                    kind_of(open, path), path, strlen(path));
    remember(files, open, id); /* without memory it is looked up again */
    return id;
}

/* Gets the path of a descriptor if it still belongs to the same file. */
static bool path_of_descriptor(const struct capture_open *open, char *path)
{
    char link[64];
    struct stat info;
    snprintf(link, sizeof link, "/proc/%d/fd/%d", open->pid, open->fd);
    ssize_t length = readlink(link, path, CAPTURE_MAX_PATH - 1);
    if (length <= 0 || stat(link, &info) != 0 || (uint64_t)info.st_ino != open->inode)
        return false;
    path[length] = '\0';
    return true;
}

/* Gets the path of a mapped file from lines "from-to mode offset major:minor inode path". */
static bool path_of_mapping(const struct capture_open *open, char *path)
{
    char name[64], line[CAPTURE_MAX_PATH];
    bool found = false;
    snprintf(name, sizeof name, "/proc/%d/maps", open->pid);
    FILE *maps = fopen(name, "re");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        unsigned major, minor;
        uint64_t inode;
        int at = 0;
        if (sscanf(line, "%*s %*s %*s %x:%x %" SCNu64 " %n", &major, &minor, &inode, &at) < 3 || at == 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        found = inode == open->inode && line[at] == '/';
        if (found)
            memcpy(path, line + at, strlen(line + at) + 1);
    }
    if (maps)
        fclose(maps);
    return found;
}

static void name_of_special(const struct capture_open *open, char *path)
{
    const char *kind = S_ISFIFO(open->mode)   ? "pipe:"
                       : S_ISSOCK(open->mode) ? "socket:"
                       : open->mode           ? ""
                                              : "anon_inode:";
    if (*kind)
        snprintf(path, CAPTURE_MAX_PATH, "%s[%" PRIu64 "]", kind, open->inode);
    else
        *path = '\0'; /* not known: its process has closed it meanwhile */
}

void capture_files_know(struct capture_files *files, const char *path)
{
    struct stat info;
    if (*path != '/' || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return;
    const struct capture_open open = {
        .inode = info.st_ino,
        .device = major(info.st_dev) << 20 | (minor(info.st_dev) & 0xfffff), /* MKDEV of the kernel */
        .mode = info.st_mode,
    };
    capture_files_open(files, &open, path);
}

int64_t capture_files_find(struct capture_files *files, const struct capture_open *open)
{
    char path[CAPTURE_MAX_PATH];
    if (open->inode == 0)
        return 0;
    const struct capture_file *known = find(files, &files->opened, open->file, open);
    if (!known)
        known = find(files, &files->inodes, inode_key(open), open);
    if (known)
        return known->id;
    if (open->fd < 0 ? !path_of_mapping(open, path) : !path_of_descriptor(open, path))
        name_of_special(open, path);
    return capture_files_open(files, open, path);
}

/* Adds "/name" at `end` if there is room, and returns the new end. */
static char *add_name(char *end, const char *limit, const char *name, size_t length)
{
    if (length == 0 || (length == 1 && *name == '.') || end + length + 2 > limit)
        return end;
    *end++ = '/';
    memcpy(end, name, length);
    return end + length;
}

void capture_path(const char *given, size_t given_bytes, const char *names, size_t names_bytes, char *out)
{
    const char *limit = out + CAPTURE_MAX_PATH;
    char *end = out;
    size_t last = names_bytes; /* the farthest name comes first in a path */
    while (last > 0) {
        size_t first = last - 1;
        while (first > 0 && names[first - 1] != '\0')
            first--;
        end = add_name(end, limit, names + first, strnlen(names + first, last - first));
        last = first;
    }
    size_t length = strnlen(given, given_bytes);
    for (size_t at = 0; at < length;) {
        size_t bytes = strcspn(given + at, "/"); /* `given` ends in NUL when it has any bytes */
        end = add_name(end, limit, given + at, bytes);
        at += bytes + 1;
    }
    if (end == out)
        *end++ = '/';
    *end = '\0';
}
