/* Storage: files on a device, read and written the way a training job would, and nothing about their formats.
 *
 * A `storage` says where files are and how they are reached. A `storage_reader` reads them, one per thread. A
 * `storage_writer` makes one file, which has its final name only when it is whole.
 *
 *     struct storage *storage = storage_new(&(struct storage_options){.method = STORAGE_URING, .root = "data"}, err);
 *     struct storage_reader *reader = storage_reader_new(storage, err);
 *     char *to = storage_reader_buffer(reader, 0, size + STORAGE_SLACK, err);
 *     struct storage_file *file = storage_open(reader, "train/img_0.npz", err);
 *     struct storage_extent all = {.length = size, .to = to, .room = size + STORAGE_SLACK};
 *     storage_read(reader, file, &all, 1, err); // the bytes are at all.at
 *
 * Offsets and lengths are bytes, times are seconds. Every function blocks. Names are below `root` unless they begin
 * with '/'. A failure names the file, the place in it and what the system said.
 *
 * Threads: a storage is not changed after storage_new and serves all threads. A reader and a writer serve one thread
 * at a time. A file may be read through several readers at once. A reader is freed before its storage; files and
 * writers too. */
#ifndef REHEARSE_STORAGE_STORAGE_H
#define REHEARSE_STORAGE_STORAGE_H

#include "core/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum storage_kind {
    STORAGE_POSIX, /* pread: one request after the other */
    STORAGE_URING, /* io_uring: `queue_depth` requests in flight, registered buffers */
    STORAGE_MMAP,  /* copies out of a mapping of the file */
    STORAGE_S3,    /* objects over HTTP */
};

#define STORAGE_MIN_REQUEST     ((int64_t)512)
#define STORAGE_MAX_REQUEST     ((int64_t)1 << 30) /* one system call transfers less than 2 GiB */
#define STORAGE_MAX_QUEUE_DEPTH 4096
#define STORAGE_MAX_BUFFER      ((int64_t)1 << 40)
#define STORAGE_MAX_BUFFERS     64 /* of one reader */

/* What an aligned buffer should be longer than an extent, so that direct reads need no copy. It is enough where
 * blocks have at most 4096 bytes; where they are larger, or there is less room, bytes are copied. */
#define STORAGE_SLACK ((int64_t)8192)

struct storage_calls;

/* Where the environment is named, its variables count where the option is NULL. */
struct storage_s3_options {
    const char *access_key, *secret_key; /* AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY */
    const char *session_token;           /* AWS_SESSION_TOKEN, unless access_key is given */
    const char *region;                  /* AWS_REGION, AWS_DEFAULT_REGION; else us-east-1 */
    const char *endpoint;    /* "http://host:9000"; AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; else Amazon's */
    const char *authorities; /* certificates in PEM; AWS_CA_BUNDLE, SSL_CERT_FILE; else the system's */
    bool path_style;         /* http://host/bucket/key, as always where the host is an address */
    int attempts;            /* of a request; 0: AWS_MAX_ATTEMPTS, else 5 */
    double patience;         /* seconds that a request may stand still, at least 1; 0: 30 */
};

struct storage_options {
    enum storage_kind method;
    bool direct;     /* O_DIRECT, reads and writes; not for mmap */
    int64_t request; /* bytes asked for at a time; 0: posix a whole extent, uring 1 MiB, S3 8 MiB */
    int queue_depth; /* of uring and S3, requests in flight; 0: 16 */
    const char
        *root; /* that names are relative to: a folder, NULL: the working directory; of S3 s3://bucket/… */
    const struct storage_s3_options *s3; /* NULL: all from the environment */
    const struct storage_calls *calls;   /* NULL: the system's; see below */
    const atomic_bool *stop;             /* set: S3 ends what it waits for, as failed; NULL: never */
};

/* System calls that can be replaced, so that faults can be tested. A call that is NULL is the system's. */
struct storage_calls {
    void *context;
    ssize_t (*pread)(void *context, int fd, void *to, size_t length, off_t offset);
    ssize_t (*pwrite)(void *context, int fd, const void *from, size_t length, off_t offset);
    int (*fsync)(void *context, int fd);
    int (*uring_result)(void *context, int result); /* of a completion: what is to be believed instead */
};

struct storage;

/* Keeps a copy of the options, except `calls` and `s3`, which storage_options gives as NULL. Fails where the build or
 * the kernel lacks the method. */
struct storage *storage_new(const struct storage_options *options, struct error *err);
void storage_free(struct storage *storage);
const struct storage_options *storage_options(const struct storage *storage);

/* "posix", "uring", "mmap", "s3"; the other way round false where there is none of this name. */
const char *storage_kind_name(enum storage_kind kind);
bool storage_kind_of(const char *name, enum storage_kind *kind);

/* Does this path say that it is of S3, whatever else is configured? NULL does not. */
#define STORAGE_S3_SCHEME "s3://"
bool storage_is_s3(const char *path);

/* The path of a name: root/name. The caller frees it; NULL when there is no memory. */
char *storage_path(const struct storage *storage, const char *name, struct error *err);

/* ---- Reading ---- */

struct storage_reader;
struct storage_file;

struct storage_extent {
    int64_t offset;
    int64_t length;
    char *to; /* where the bytes go; NULL: they are read and let go, which costs the least memory */
    /* Bytes at `to`; 0: length. With more, an aligned `to` takes whole blocks and no copy is made. */
    int64_t room;
    char *at; /* set by storage_read: where the first byte is; `to`, or later in its room; NULL if let go */
};

/* What a reader has done since it was made. */
struct storage_counts {
    int64_t bytes;      /* delivered */
    int64_t read;       /* asked of the system, with what aligned blocks had too much */
    int64_t copied;     /* of these by us, from block buffers or a mapping */
    int64_t requests;   /* reads of the system, or pieces of a mapping */
    int64_t registered; /* bytes of buffers that io_uring has registered; 0: it may not (RLIMIT_MEMLOCK) */
};

struct storage_reader *storage_reader_new(struct storage *storage, struct error *err);
void storage_reader_free(struct storage_reader *reader);
struct storage_counts storage_reader_counts(const struct storage_reader *reader);

/* Buffer number `index` (below STORAGE_MAX_BUFFERS) of the reader: at least `size` bytes, aligned for direct reads,
 * registered with io_uring. It belongs to the reader and stays where it is until a larger one is asked for under
 * the same number, which loses what is in it. */
char *storage_reader_buffer(struct storage_reader *reader, int index, int64_t size, struct error *err);

/* Memory aligned for direct reads that belongs to the caller; huge pages where there are any. */
char *storage_buffer_new(int64_t size, struct error *err);
void storage_buffer_free(char *buffer, int64_t size);

/* Opens a regular file. Any thread may close it. */
struct storage_file *storage_open(struct storage_reader *reader, const char *name, struct error *err);
void storage_close(struct storage_file *file);

/* Its size when it was opened. */
bool storage_file_size(struct storage_reader *reader, struct storage_file *file, int64_t *size,
                       struct error *err);

/* What offsets and lengths of its direct reads are multiples of; 1 where any will do. */
int64_t storage_file_alignment(const struct storage_file *file);

/* Reads all extents, in any order, and returns when all bytes are there. A file that ends before an extent does is
 * an error that says "truncated". After a failure the contents of the buffers are undefined. */
bool storage_read(struct storage_reader *reader, struct storage_file *file, struct storage_extent *extents,
                  int count, struct error *err);

/* ---- Writing ---- */

struct storage_writer;

struct storage_write_options {
    bool sync;               /* fsync the file before it gets its name */
    bool sync_folder;        /* and the folder after that, so that the name lasts too */
    const atomic_bool *stop; /* set: the sync of a large file ends early, with an error; may be NULL */
};

/* What a file took, in seconds of a monotonic clock. */
struct storage_written {
    int64_t bytes;
    double write;       /* in writes */
    double sync;        /* in the fsync of the file */
    double rename;      /* in close and rename */
    double sync_folder; /* in the fsync of the folder */
};

/* Starts a file under NAME.part, making the folders it lies in. A NAME.part that a killed program has left is
 * written over; one that another program is writing is an error. */
struct storage_writer *storage_create(struct storage *storage, const char *name,
                                      const struct storage_write_options *options, struct error *err);

/* Appends. After a failure only storage_discard makes sense. */
bool storage_write(struct storage_writer *writer, const void *from, size_t length, struct error *err);

/* Gives the file its name, replacing one that has it, or removes it where that fails. The writer is gone either
 * way. `written` may be NULL. */
bool storage_commit(struct storage_writer *writer, struct storage_written *written, struct error *err);

/* Removes what has been written. NULL is allowed. */
void storage_discard(struct storage_writer *writer);

/* ---- Folders ---- */

/* Calls visit for each file and folder in a folder, in no particular order, without files being written (*.part).
 * `size` is -1 for a folder. visit returns false to end the walk, which then succeeds. */
typedef bool storage_visit(void *context, const char *name, int64_t size);
bool storage_list(struct storage *storage, const char *folder, storage_visit *visit, void *context,
                  struct error *err);

/* Removes a file, or a folder that is empty; that there is none is no error. */
bool storage_remove(struct storage *storage, const char *name, struct error *err);

#endif
