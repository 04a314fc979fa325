/* Storage: reads and writes files on a device as a training job does, regardless of their formats.
 *
 * A `storage` holds the place and the access method of files. A `storage_reader` reads them, one per thread.
 * A `storage_writer` makes one file, which gets its final name only when it is complete.
 *
 *     struct storage_options options = {.method = STORAGE_URING, .root = "data"};
 *     struct storage *storage = storage_new(&options, err);
 *     struct storage_reader *reader = storage_reader_new(storage, err);
 *     char *to = storage_reader_buffer(reader, 0, size + STORAGE_SLACK, err);
 *     struct storage_file *file = storage_open(reader, "train/img_0.npz", err);
 *     struct storage_extent all = {.length = size, .to = to, .room = size + STORAGE_SLACK};
 *     storage_read(reader, file, &all, 1, err); // the bytes are at all.at
 *
 * Offsets and lengths are bytes, times are seconds. Every function blocks. Names are relative to `root`
 * unless they begin with '/'. An error names the file, the place in it and the system's message.
 *
 * Threads: a storage is constant after storage_new and serves all threads. A reader or a writer serves one
 * thread at a time. Several readers may read one file at once. Free readers, files and writers before their
 * storage. */
#ifndef REHEARSE_STORAGE_STORAGE_H
#define REHEARSE_STORAGE_STORAGE_H

#include "core/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum storage_kind {
    STORAGE_POSIX, /* pread: one request at a time */
    STORAGE_URING, /* io_uring: `queue_depth` requests in flight, registered buffers */
    STORAGE_MMAP,  /* copies from a mapping of the file */
    STORAGE_S3,    /* objects over HTTP */
};

#define STORAGE_MIN_REQUEST     ((int64_t)512)
#define STORAGE_MAX_REQUEST     ((int64_t)1 << 30) /* one system call transfers less than 2 GiB */
#define STORAGE_MAX_QUEUE_DEPTH 4096
#define STORAGE_MAX_BUFFER      ((int64_t)1 << 40)
#define STORAGE_MAX_BUFFERS     64 /* per reader */

/* An aligned buffer should be this much longer than an extent, so that direct reads need no copy. It suffices
 * for blocks up to 4096 bytes; with larger blocks or less room, bytes are copied. */
#define STORAGE_SLACK ((int64_t)8192)

struct storage_calls;

/* Members that are NULL fall back to the environment variables named here. */
struct storage_s3_options {
    const char *access_key, *secret_key; /* AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY */
    const char *session_token;           /* AWS_SESSION_TOKEN, unless access_key is given */
    const char *region;                  /* AWS_REGION, AWS_DEFAULT_REGION; else us-east-1 */
    const char *endpoint;    /* "http://host:9000"; AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; else Amazon's */
    const char *authorities; /* certificates in PEM; AWS_CA_BUNDLE, SSL_CERT_FILE; else the system's */
    bool path_style;         /* http://host/bucket/key; always used if the host is an IP address */
    int attempts;            /* per request; 0: AWS_MAX_ATTEMPTS, else 5 */
    double patience;         /* seconds without progress until a request fails, at least 1; 0: 30 */
};

struct storage_options {
    enum storage_kind method;
    bool direct;     /* O_DIRECT for reads and writes; not for mmap */
    int64_t request; /* bytes per request; 0: posix a whole extent, uring 1 MiB, S3 8 MiB */
    int queue_depth; /* requests in flight of uring and S3; 0: 16 */
    const char
        *root; /* names are relative to it: a folder, NULL: the working directory; for S3 s3://bucket/… */
    const struct storage_s3_options *s3; /* NULL: all from the environment */
    const struct storage_calls *calls;   /* NULL: the system's; see below */
    const atomic_bool *stop;             /* true: waiting S3 requests fail; may be NULL */
};

/* Replaceable system calls, for tests of faults. NULL: the system's. */
struct storage_calls {
    void *context;
    ssize_t (*pread)(void *context, int fd, void *to, size_t length, off_t offset);
    ssize_t (*pwrite)(void *context, int fd, const void *from, size_t length, off_t offset);
    int (*fsync)(void *context, int fd);
    int (*uring_result)(void *context, int result); /* replaces the result of a completion */
};

struct storage;

/* Returns a storage that the caller frees; it keeps a copy of the options, except `calls` and `s3`, which
 * storage_options returns as NULL. NULL on failure, also if the build or the kernel lacks the method. */
struct storage *storage_new(const struct storage_options *options, struct error *err);
void storage_free(struct storage *storage);
const struct storage_options *storage_options(const struct storage *storage);

/* "posix", "uring", "mmap", "s3" */
extern const char *const storage_kind_words[]; /* ended by NULL */

/* Returns true if the path has S3's scheme; false for NULL. */
#define STORAGE_S3_SCHEME "s3://"
bool storage_is_s3(const char *path);

/* Returns root/name, which the caller frees; NULL without memory. */
char *storage_path(const struct storage *storage, const char *name, struct error *err);

/* ---- Reading ---- */

struct storage_reader;
struct storage_file;

struct storage_extent {
    int64_t offset;
    int64_t length;
    char *to; /* destination; NULL: the bytes are read and dropped, which costs the least memory */
    /* Bytes at `to`; 0: length. With more, an aligned `to` takes whole blocks and no copy is made. */
    int64_t room;
    char *at; /* set by storage_read: the first byte, in the room of `to`; NULL if dropped */
};

/* A reader's counts since its creation. */
struct storage_counts {
    int64_t bytes;      /* delivered */
    int64_t read;       /* requested from the system, including the excess of aligned blocks */
    int64_t copied;     /* copied by this program, from block buffers or a mapping */
    int64_t requests;   /* reads of the system, or pieces of a mapping */
    int64_t registered; /* bytes of buffers registered with io_uring; 0: not allowed (RLIMIT_MEMLOCK) */
};

struct storage_reader *storage_reader_new(struct storage *storage, struct error *err);
void storage_reader_free(struct storage_reader *reader);
struct storage_counts storage_reader_counts(const struct storage_reader *reader);

/* Returns buffer `index` (below STORAGE_MAX_BUFFERS), at least `size` bytes, aligned for direct reads and
 * registered with io_uring. The reader owns it. It stays in place until a larger size is requested under the
 * same index, which discards its content. NULL on failure. */
char *storage_reader_buffer(struct storage_reader *reader, int index, int64_t size, struct error *err);

/* Returns memory aligned for direct reads, in huge pages if available; the caller frees it. */
char *storage_buffer_new(int64_t size, struct error *err);
void storage_buffer_free(char *buffer, int64_t size);

/* Opens a regular file. The caller closes it, from any thread. NULL on failure. */
struct storage_file *storage_open(struct storage_reader *reader, const char *name, struct error *err);
void storage_close(struct storage_file *file);

/* Gets the size at the time of opening. */
bool storage_file_size(struct storage_reader *reader, struct storage_file *file, int64_t *size,
                       struct error *err);

/* Returns the unit of offsets and lengths of direct reads; 1: any. */
int64_t storage_file_alignment(const struct storage_file *file);

/* Returns the descriptor of a local file, which stays the file's; -1: an object. */
int storage_file_descriptor(const struct storage_file *file);

/* Reads all extents, in any order, and returns when all bytes are there. A file that ends before an extent
 * gives an error that says "truncated". After a failure the buffers' contents are undefined. */
bool storage_read(struct storage_reader *reader, struct storage_file *file, struct storage_extent *extents,
                  int count, struct error *err);

/* Reads a whole file of at most `most` bytes; the caller frees *data, which has one byte more than *length. */
bool storage_get(struct storage *storage, const char *name, int64_t most, char **data, size_t *length,
                 struct error *err);

/* ---- Writing ---- */

struct storage_writer;

struct storage_write_options {
    bool sync;               /* fsync the file before it gets its name */
    bool sync_folder;        /* fsync the folder after that, so that the name lasts too */
    const atomic_bool *stop; /* true: the sync of a large file ends early, with an error; may be NULL */
};

/* The times of writing a file, in seconds of a monotonic clock. */
struct storage_written {
    int64_t bytes;
    double write;       /* in writes */
    double sync;        /* in the fsync of the file */
    double rename;      /* in close and rename */
    double sync_folder; /* in the fsync of the folder */
};

/* Creates NAME.part and its folders. Overwrites a NAME.part left by a killed program; one that another
 * program is writing is an error. End the writer with storage_commit or storage_discard. NULL on failure. */
struct storage_writer *storage_create(struct storage *storage, const char *name,
                                      const struct storage_write_options *options, struct error *err);

/* Appends. After a failure only storage_discard may be called. */
bool storage_write(struct storage_writer *writer, const void *from, size_t length, struct error *err);

/* Returns whether storage_write_at can be called: the methods of local files, but not direct writes. */
bool storage_writes_at(const struct storage *storage);

/* Writes at an offset (below 0: behind the last byte), from several threads at once. Every 8 MiB it asks the disk to
 * begin, so that it is not idle until too much is dirty or all must be synced. A writer is written to by this or by
 * storage_write, not by both. */
bool storage_write_at(struct storage_writer *writer, int64_t offset, const void *from, size_t length,
                      struct error *err);

/* Creates, writes and commits a file. */
bool storage_put(struct storage *storage, const char *name, const void *data, size_t length,
                 const struct storage_write_options *options, struct error *err);

/* Gives the file its name, replacing an existing file, or removes it on failure. Frees the writer either way.
 * `written` may be NULL. */
bool storage_commit(struct storage_writer *writer, struct storage_written *written, struct error *err);

/* Removes the unfinished file and frees the writer. NULL is allowed. */
void storage_discard(struct storage_writer *writer);

/* ---- Folders ---- */

/* Calls visit for each file and folder in a folder, in no particular order, except files being written
 * (*.part). `size` is -1 for a folder. visit returns false to end the walk, which then succeeds. */
typedef bool storage_visit(void *context, const char *name, int64_t size);
bool storage_list(struct storage *storage, const char *folder, storage_visit *visit, void *context,
                  struct error *err);

/* Removes a file or an empty folder; succeeds if there is none. */
bool storage_remove(struct storage *storage, const char *name, struct error *err);

#endif
