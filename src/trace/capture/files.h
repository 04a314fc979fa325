/* Maps events to files: a table of open files, maintained from the kernel's reports of opens. */
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

/* device: the kernel's dev_t, 12 and 20 bits. fd -1: a page fault. */
struct capture_open {
    uint64_t file, inode;
    uint32_t device, mode;
    int pid, fd;
};

void capture_files_init(struct capture_files *files, struct trace_writer *writer);
void capture_files_release(struct capture_files *files);

/* Registers the open of a path; returns the file's id. */
int64_t capture_files_open(struct capture_files *files, const struct capture_open *open, const char *path);

/* Returns the id of a descriptor's file; looks up unknown ones in /proc. */
int64_t capture_files_find(struct capture_files *files, const struct capture_open *open);

/* Registers a file by its path, using stat. */
void capture_files_know(struct capture_files *files, const char *path);

/* Converts the kernel's dev_t to st_dev. */
int64_t capture_device(uint32_t device);

/* Path as given and the names of the folder that it is relative to, nearest first, each ended by NUL. Out has
 * CAPTURE_MAX_PATH bytes. An absolute path without "//" and "/./"; ".." stays, for it may follow a link. */
void capture_path(const char *given, size_t given_bytes, const char *names, size_t names_bytes, char *out);

#endif
