/* The functions that a storage method implements. Private to src/storage. */
#ifndef REHEARSE_STORAGE_METHOD_H
#define REHEARSE_STORAGE_METHOD_H

#include "core/features.h"
#include "storage/storage.h"

struct storage_method {
    bool direct; /* can bypass the page cache */

    /* Sets storage->state. NULL: nothing to do. */
    bool (*start)(struct storage *storage, struct error *err);
    void (*stop)(struct storage *storage);

    /* Sets reader->state, a connection or a ring. NULL: nothing to do. */
    bool (*reader_start)(struct storage_reader *reader, struct error *err);
    void (*reader_stop)(struct storage_reader *reader);

    /* Called after a buffer is made, and (with memory NULL) before it is freed. NULL: nothing to do. */
    void (*buffer_changed)(struct storage_reader *reader, int index);

    /* file->path is set, file->fd is -1. A failed open must clean up after itself. */
    bool (*open)(struct storage_reader *reader, struct storage_file *file, struct error *err);
    /* NULL: file->size is set by open. */
    bool (*size)(struct storage_reader *reader, struct storage_file *file, int64_t *size, struct error *err);
    bool (*read)(struct storage_reader *reader, struct storage_file *file, struct storage_extent *extents,
                 int count, struct error *err); /* extents have been checked */
    void (*close)(struct storage_file *file);

    /* writer->path and options are set; writer->state belongs to the method. discard frees the memory of
     * create, also after a failed write; commit always does. */
    bool (*create)(struct storage_writer *writer, struct error *err);
    bool (*write)(struct storage_writer *writer, const void *from, size_t length, struct error *err);
    bool (*commit)(struct storage_writer *writer, struct error *err);
    void (*discard)(struct storage_writer *writer);

    bool (*list)(struct storage *storage, const char *path, storage_visit *visit, void *context,
                 struct error *err);
    bool (*remove)(struct storage *storage, const char *path, struct error *err);
};

extern const struct storage_method storage_posix;
extern const struct storage_method storage_mmap;
#ifdef REHEARSE_HAVE_URING
extern const struct storage_method storage_uring;
#endif
#ifdef REHEARSE_HAVE_CURL
extern const struct storage_method storage_s3;
#endif

struct storage {
    struct storage_options options; /* root is a copy */
    struct storage_calls calls;     /* none is NULL */
    const struct storage_method *method;
    void *state;
};

struct storage_buffer {
    char *memory; /* NULL: none yet */
    int64_t size;
    bool registered;
};

/* Readers have one buffer more than they hand out, for block-sized intermediate copies. */
#define STORAGE_PASSING STORAGE_MAX_BUFFERS

struct storage_reader {
    struct storage *storage;
    struct storage_buffer buffers[STORAGE_MAX_BUFFERS + 1];
    struct storage_counts counts;
    void *state;
};

struct storage_file {
    struct storage *storage;
    char *path;
    int fd;
    int64_t size;
    int64_t alignment; /* of offsets, lengths and memory; 1: none */
    char *map;         /* of mmap */
    void *state;       /* of S3 */
};

struct storage_writer {
    struct storage *storage;
    char *path;
    struct storage_write_options options;
    struct storage_written written;
    void *state;
};

/* Returns the reader's buffer for intermediate blocks, at least `size` bytes. */
char *storage_passing(struct storage_reader *reader, int64_t size, struct error *err);

/* ---- Requests: the pieces of extents (request.c) ---- */

/* One system read: `length` bytes at `offset` into `target`; the first `need` are required. */
struct storage_request {
    int64_t offset;
    int64_t length;
    int64_t need;
    int64_t done; /* bytes already read */
    char *target;
    char *copy_to; /* NULL: no copy; else the target of `copy_length` bytes from target + copy_from */
    int64_t copy_from, copy_length;
    bool passing; /* target is an intermediate buffer, free again after the request */
};

struct storage_cut {
    struct storage_extent *extents;
    int count;
    int64_t alignment;
    int64_t in_place; /* maximum bytes of a request into the caller's memory */
    int64_t passing;  /* maximum bytes of one into an intermediate buffer: a multiple of alignment */
    int index;        /* of the current extent; `next` is its next byte */
    int64_t next;
};

/* Starts with a list of extents. */
struct storage_cut storage_cut_start(struct storage_extent *extents, int count, int64_t alignment,
                                     int64_t in_place, int64_t passing);

/* Return whether bytes are left, and whether the next request needs an intermediate buffer. */
bool storage_cut_more(struct storage_cut *cut);
bool storage_cut_passes(const struct storage_cut *cut);

/* Returns the next request. `memory` holds `passing` bytes; NULL if storage_cut_passes is false. */
struct storage_request storage_cut_next(struct storage_cut *cut, char *memory);

/* Handles a read that returned `got` bytes or -errno. True: continue until done == need. False: an error,
 * which says `truncated` at the end of the file. */
bool storage_request_got(struct storage_request *request, struct storage_reader *reader,
                         const struct storage_file *file, int64_t got, struct error *err);

/* ---- Local files, for posix, uring and mmap (local.c, write.c) ---- */

bool storage_local_open(struct storage_reader *reader, struct storage_file *file, struct error *err);
void storage_local_close(struct storage_file *file);
bool storage_local_create(struct storage_writer *writer, struct error *err);
bool storage_local_write(struct storage_writer *writer, const void *from, size_t length, struct error *err);
bool storage_local_commit(struct storage_writer *writer, struct error *err);
void storage_local_discard(struct storage_writer *writer);
bool storage_local_list(struct storage *storage, const char *path, storage_visit *visit, void *context,
                        struct error *err);
bool storage_local_remove(struct storage *storage, const char *path, struct error *err);

/* The functions shared by all local methods. */
#define STORAGE_LOCAL                                                                                        \
    .create = storage_local_create, .write = storage_local_write, .commit = storage_local_commit,            \
    .discard = storage_local_discard, .list = storage_local_list, .remove = storage_local_remove

#endif
