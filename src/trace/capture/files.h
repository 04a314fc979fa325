/* Which file an event is about: a table of open files, kept from what the kernel told of opens. */
#ifndef REHEARSE_TRACE_CAPTURE_FILES_H
#define REHEARSE_TRACE_CAPTURE_FILES_H

#include "core/hash.h"
#include "trace/store/store.h"

#include <stddef.h>
#include <stdint.h>

#define CAPTURE_MAX_PATH 8192

struct capture_files {
    struct trace_writer *writer;
    struct hash_map opened; /* address of the kernel's struct file: number in `known` */
    struct hash_map inodes; /* device and inode: the same, of the latest open */
    struct capture_file {
        uint64_t inode;
        uint32_t device;
        int64_t id; /* of the store */
    } * known;
    size_t count, capacity;
};

/* device: as the kernel keeps it, 12 and 20 bits. fd -1: a page fault. */
struct capture_open {
    uint64_t file, inode;
    uint32_t device, mode;
    int pid, fd;
};

void capture_files_init(struct capture_files *files, struct trace_writer *writer);
void capture_files_release(struct capture_files *files);

/* The file of this path was opened; gives its id. */
int64_t capture_files_open(struct capture_files *files, const struct capture_open *open, const char *path);

/* The id of the file of a descriptor. One that is not known is looked up in /proc. */
int64_t capture_files_find(struct capture_files *files, const struct capture_open *open);

/* What a process that runs already has open and mapped. */
void capture_files_scan(struct capture_files *files, int pid);

/* A file by its path, as far as stat knows it. */
void capture_files_know(struct capture_files *files, const char *path);

/* st_dev of the kernel's dev_t. */
int64_t capture_device(uint32_t device);

/* Path as given and the names of the folder that it is relative to, nearest first, each ended by NUL. Out has
 * CAPTURE_MAX_PATH bytes. An absolute path without "//" and "/./"; ".." stays, for it may follow a link. */
void capture_path(const char *given, size_t given_bytes, const char *names, size_t names_bytes, char *out);

#endif
