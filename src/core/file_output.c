#include "core/file_output.h"

#include "core/file.h"
#include "core/file_keep.h"
#include "core/stop.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40
#define MAX_TRIES 100
#define MAX_OPEN  1024 /* whose temporary files are removed when a signal ends the program */
#define MAX_STEM  240  /* bytes of a name that are kept in that of its temporary file: of 255 */
#define BUFFER    ((size_t)64 << 10)
#define PIECE     ((size_t)1 << 20) /* bytes of a text between two looks for a stop */

struct file_writing {
    char *path;      /* as it was given, for messages */
    char *target;    /* what will be replaced: the path with its links followed; NULL: written in place */
    char *temporary; /* beside the target */
    char *buffer;
    int fd;
    int failure;  /* errno of the first write that failed */
    bool foreign; /* the file is standard output's: not ours to close */
};

/* ---- what a signal must remove ---- */

static _Atomic(char *) temporaries[MAX_OPEN];
static _Atomic pid_t owner; /* a child that was forked removes nothing */
static atomic_bool abandoned;

static void remember(char *temporary)
{
    atomic_store(&owner, getpid());
    for (int i = 0; i < MAX_OPEN; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&temporaries[i], &none, temporary))
            return;
    }
}

static void forget(char *temporary)
{
    for (int i = 0; i < MAX_OPEN; i++) {
        char *this = temporary;
        if (atomic_compare_exchange_strong(&temporaries[i], &this, NULL))
            return;
    }
}

void file_output_abandon(void)
{
    if (atomic_load(&owner) != getpid())
        return;
    atomic_store(&abandoned, true);
    for (int i = 0; i < MAX_OPEN; i++) {
        const char *temporary = atomic_load(&temporaries[i]);
        if (temporary)
            unlink(temporary);
    }
}

/* ---- where ---- */

static bool cannot_write(const struct file_writing *writing, int code, struct error *err)
{
    return error_set(err, ERROR_FAILED, "%s: cannot write: %s", writing->path, strerror(code));
}

/* The number of an open file that is called by its number, else -1: opened anew, a file would lose what is in
 * it, or keep what comes after. */
static int open_number(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *digits = path + strlen(folders[i]);
        if (text_starts_with(path, folders[i]) && *digits && strspn(digits, "0123456789") == strlen(digits) &&
            strlen(digits) < 8) {
            int64_t number = -1;
            (void)text_whole(digits, "", &number);
            return (int)number;
        }
    }
    return -1;
}

/* `link` as it is read in the folder of `path`. */
static char *beside(const char *path, const char *link)
{
    const char *slash = *link == '/' ? NULL : strrchr(path, '/');
    char *joined = NULL;
    if (asprintf(&joined, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, link) < 0)
        return NULL;
    return joined;
}

/* The path of the file that a link leads to, there or not. */
static bool follow(struct file_writing *writing, struct error *err)
{
    char link[4097];
    writing->target = strdup(writing->path);
    for (int i = 0; writing->target; i++) {
        ssize_t length = readlink(writing->target, link, sizeof link - 1);
        if (length < 0)
            return errno == EINVAL || errno == ENOENT || cannot_write(writing, errno, err);
        if (i == MAX_LINKS || length == (ssize_t)sizeof link - 1)
            return cannot_write(writing, i == MAX_LINKS ? ELOOP : ENAMETOOLONG, err);
        link[length] = '\0';
        char *next = beside(writing->target, link);
        free(writing->target);
        writing->target = next;
    }
    return error_memory(err);
}

/* ---- the temporary file ---- */

static bool random_letters(char letters[static 7])
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    unsigned char bytes[6];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (int i = 0; i < 6; i++)
        letters[i] = alphabet[bytes[i] % (sizeof alphabet - 1)];
    letters[6] = '\0';
    return true;
}

static bool name_temporary(struct file_writing *writing, const char letters[static 7])
{
    const char *slash = strrchr(writing->target, '/');
    int folder = slash ? (int)(slash + 1 - writing->target) : 0;
    free(writing->temporary);
    writing->temporary = NULL;
    return asprintf(&writing->temporary, "%.*s%.*s.%s", folder, writing->target, MAX_STEM,
                    writing->target + folder, letters) >= 0;
}

/* Under a name that nobody can know before; nobody but the owner may read it before it is what it
 * replaces. */
static bool make_temporary(struct file_writing *writing, const struct stat *old, struct error *err)
{
    char letters[7];
    for (int i = 0; i < MAX_TRIES; i++) {
        if (!random_letters(letters))
            return cannot_write(writing, errno, err);
        if (!name_temporary(writing, letters))
            return error_memory(err);
        remember(writing->temporary); /* first: a signal may come as soon as the file is there */
        writing->fd = open(writing->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           old ? S_IRUSR | S_IWUSR : 0666);
        while (writing->fd >= 0 &&
               atomic_load(&abandoned)) { /* the program ends, by another thread's signal */
            unlink(writing->temporary);
            pause();
        }
        if (writing->fd >= 0) {
            if (old)
                file_keep(writing->fd, writing->target, old);
            return true;
        }
        forget(writing->temporary);
        if (errno != EEXIST && errno != EINTR)
            break;
    }
    return cannot_write(writing, errno, err);
}

static bool open_in_place(struct file_writing *writing, struct error *err)
{
    do
        writing->fd = open(writing->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    while (writing->fd < 0 && errno == EINTR);
    return writing->fd >= 0 || cannot_write(writing, errno, err);
}

/* Chooses by the file that is there. `what` says why only a regular file will do; NULL: any will. */
static bool open_path(struct file_writing *writing, const char *what, struct error *err)
{
    struct stat old;
    bool exists = stat(writing->path, &old) == 0;
    if (!exists && errno != ENOENT)
        return cannot_write(writing, errno, err);
    if (exists && S_ISDIR(old.st_mode))
        return error_set(err, ERROR_FAILED, "%s: cannot write: it is a directory", writing->path);
    if (exists && !S_ISREG(old.st_mode) && what)
        return error_set(err, ERROR_FAILED, "%s: cannot write: %s and needs a regular file", writing->path,
                         what);
    if (exists && !S_ISREG(old.st_mode))
        return open_in_place(writing, err);
    if (exists && faccessat(AT_FDCWD, writing->path, W_OK, AT_EACCESS) != 0)
        return cannot_write(writing, errno, err);
    return follow(writing, err) && make_temporary(writing, exists ? &old : NULL, err);
}

static bool open_number_again(struct file_writing *writing, int number, struct error *err)
{
    writing->fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
    return writing->fd >= 0 || cannot_write(writing, errno, err);
}

static bool open_file(struct file_writing *writing, const char *what, struct error *err)
{
    int number = open_number(writing->path);
    bool dash = strcmp(writing->path, "-") == 0;
    if (what && (dash || number >= 0))
        return error_set(err, ERROR_FAILED, "%s: cannot write: %s and needs a regular file", writing->path,
                         what);
    if (number >= 0)
        return open_number_again(writing, number, err);
    if (!dash)
        return open_path(writing, what, err);
    char *name = strdup("standard output");
    if (!name)
        return error_memory(err);
    free(writing->path);
    writing->path = name;
    writing->foreign = true;
    writing->fd = STDOUT_FILENO;
    return fflush(stdout) == 0 || cannot_write(writing, errno, err);
}

/* ---- the stream ---- */

static ssize_t write_stream(void *cookie, const char *data, size_t length)
{
    struct file_writing *writing = cookie;
    size_t left = length;
    while (left > 0 && !writing->failure) {
        ssize_t written = write(writing->fd, data, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            writing->failure = errno;
            break;
        }
        data += written;
        left -= (size_t)written;
    }
    return writing->failure ? 0 : (ssize_t)length;
}

static bool open_stream(struct file_output *output, struct error *err)
{
    struct file_writing *writing = output->writing;
    writing->buffer = malloc(BUFFER);
    output->out =
        writing->buffer ? fopencookie(writing, "w", (cookie_io_functions_t){.write = write_stream}) : NULL;
    if (!output->out || setvbuf(output->out, writing->buffer, _IOFBF, BUFFER) != 0)
        return error_memory(err);
    return true;
}

/* ---- beginning and end ---- */

static void release(struct file_output *output)
{
    struct file_writing *writing = output->writing;
    if (output->out)
        fclose(output->out);
    if (writing->fd >= 0 && !writing->foreign)
        close(writing->fd);
    if (writing->temporary) {
        unlink(writing->temporary);
        forget(writing->temporary);
    }
    free(writing->buffer);
    free(writing->temporary);
    free(writing->target);
    free(writing->path);
    free(writing);
    *output = (struct file_output){0};
}

static bool begin(struct file_output *output, const char *path, const char *what, struct error *err)
{
    *output = (struct file_output){.writing = calloc(1, sizeof *output->writing)};
    if (!output->writing)
        return error_memory(err);
    output->writing->fd = -1;
    output->writing->path = strdup(path);
    bool ok = output->writing->path ? open_file(output->writing, what, err) : error_memory(err);
    if (ok && (what || open_stream(output, err))) {
        output->temporary = output->writing->temporary;
        output->target = output->writing->target;
        return true;
    }
    if (output->writing->fd < 0) { /* not made, though it has a name */
        free(output->writing->temporary);
        output->writing->temporary = NULL;
    }
    release(output);
    return false;
}

bool file_output_open(struct file_output *output, const char *path, struct error *err)
{
    return begin(output, path, NULL, err);
}

bool file_output_beside(struct file_output *output, const char *path, const char *what, struct error *err)
{
    return begin(output, path, what, err);
}

static bool end_stream(struct file_output *output)
{
    if (!output->out)
        return true;
    bool written = !ferror(output->out);
    written = fclose(output->out) == 0 && written;
    output->out = NULL;
    return written && output->writing->failure == 0;
}

/* A file system that cannot sync is no fault. */
static bool synced(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
}

static bool closed(struct file_writing *writing)
{
    int fd = writing->fd;
    writing->fd = -1;
    return writing->foreign || close(fd) == 0;
}

static bool renamed(const struct file_writing *writing, bool replace)
{
    if (!replace && renameat2(AT_FDCWD, writing->temporary, AT_FDCWD, writing->target, RENAME_NOREPLACE) == 0)
        return true;
    if (!replace && errno != EINVAL && errno != ENOSYS)
        return false;
    return rename(writing->temporary, writing->target) == 0;
}

static bool finish(struct file_output *output, struct error *err)
{
    struct file_writing *writing = output->writing;
    if (!end_stream(output))
        return cannot_write(writing, writing->failure ? writing->failure : ENOMEM, err);
    if ((writing->temporary && !output->unsynced && !synced(writing->fd)) || !closed(writing))
        return cannot_write(writing, errno, err);
    if (!writing->temporary)
        return true;
    if (!renamed(writing, !output->fresh))
        return cannot_write(writing, errno, err);
    forget(writing->temporary);
    free(writing->temporary); /* no longer there, so not to be taken away */
    writing->temporary = NULL;
    int folder = output->unsynced ? -1 : file_open_folder_of(writing->target);
    if (folder >= 0) { /* makes the rename itself last; a file system that cannot do it has no say */
        (void)fsync(folder);
        close(folder);
    }
    return true;
}

bool file_output_close(struct file_output *output, bool done, struct error *err)
{
    if (!output->writing)
        return done;
    done = done && !stop_obeyed(err) && finish(output, err); /* what was written may be a part */
    release(output);
    return done;
}

bool file_write(const char *path, const char *data, size_t length, struct error *err)
{
    struct file_output output;
    if (stop_obeyed(err) || !file_output_open(&output, path, err))
        return false;
    bool done = true;
    for (size_t at = 0; done && at < length; at += PIECE) {
        fwrite(data + at, 1, length - at < PIECE ? length - at : PIECE,
               output.out); /* what fails is said by the end */
        done = !stop_obeyed(err);
    }
    return file_output_close(&output, done, err);
}

bool file_write_exact(const char *path, const struct text *text, struct error *err)
{
    return text->failed ? error_memory(err)
                        : file_write(path, text->data ? text->data : "", text->length, err);
}

bool file_write_text(const char *path, const struct text *text, struct error *err)
{
    struct text room = {0};
    bool done = file_write_exact(path, text_shown(text, &room), err);
    text_release(&room);
    return done;
}
