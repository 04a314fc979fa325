/* To be preloaded: lets a call of a program fail, or something happen just before it, and counts the calls.
 *
 *     FAULT='pwrite img_3 1 error 28' LD_PRELOAD=./faults.so rehearse dataset generate …
 *
 * The call's name (pread, fsync, …) or its kind (below), a part of the file's path (- for any), the how manieth such
 * call (0: all), and what is to happen:
 *
 *     error N     it fails with this errno
 *     half        it moves half of the bytes
 *     signal N    the process gets this signal, then the call goes on
 *     run COMMAND a shell runs it, then the call goes on
 *
 * With FAULT_LOG=FILE the file tells afterwards how many calls of each kind there were ('count reads 17'), and at once
 * which call failed ('failed reads pread PATH') and where it was called from ('at MODULE OFFSET'). With FAULT_PLACES=1 too
 * it has a line for each call ('call reads PLACE', the first of a kind first), where PLACE is the same number for calls
 * from the same place of the program, whatever library is between. All of it is about the process itself, its libraries included, from just before
 * main() on: what it forks and starts is left alone. */
#undef _FILE_OFFSET_BITS /* each function has its own name here, whichever the program calls */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind {
    ALLOCATIONS,
    READS,
    WRITES,
    SYNCS,
    RENAMES,
    TRUNCATES,
    OPENS,
    CLOSES,
    LOOKS,
    MAPS,
    THREADS,
    KINDS
};
static const char *const kinds[KINDS] = {"allocations", "reads",  "writes", "syncs", "renames", "truncates",
                                         "opens",       "closes", "looks",  "maps",  "threads"};

enum outcome { GO_ON, FAIL, HALF };

static struct fault {
    char call[16], path[256], action[16], argument[1024];
    int at;
    enum kind kind; /* KINDS: `call` is a call's name */
} fault;
static char log_path[4096];
static bool ready;
static atomic_int seen;
static atomic_long counts[KINDS];

#define MAX_PLACES (1 << 20)
static unsigned long *places[KINDS]; /* NULL: not asked for */
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- before and after ---- */

static void leave_alone(void)
{
    ready = false;
}

static void write_log(const char *text, size_t length)
{
    int fd =
        log_path[0] ? (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;
    if (fd >= 0) {
        syscall(SYS_write, fd, text, length);
        syscall(SYS_close, fd);
    }
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("FAULT"), *path = getenv("FAULT_LOG");
    if (!text || sscanf(text, "%15s %255s %d %15s %1023[^\n]", fault.call, fault.path, &fault.at,
                        fault.action, fault.argument) < 4)
        fault.call[0] = 0;
    for (fault.kind = 0; fault.kind < KINDS && strcmp(fault.call, kinds[fault.kind]) != 0;)
        fault.kind++;
    if (strcmp(fault.path, "-") == 0)
        fault.path[0] = 0;
    if (path)
        snprintf(log_path, sizeof log_path, "%s", path);
    unsetenv("FAULT"); /* for what a fault runs */
    unsetenv("FAULT_LOG");
    unsetenv("LD_PRELOAD");
    pthread_atfork(NULL, NULL, leave_alone);
    void *frame[1];
    if (log_path[0])
        (void)backtrace(frame, 1); /* which loads a library at first */
    for (int kind = 0; log_path[0] && getenv("FAULT_PLACES") && kind < KINDS; kind++)
        places[kind] = calloc(MAX_PLACES, sizeof *places[kind]);
    unsetenv("FAULT_PLACES");
    ready = true;
}

static void log_places(enum kind kind, long count)
{
    char lines[4096];
    int used = 0;
    for (long i = 0; places[kind] && i < count && i < MAX_PLACES; i++) {
        used += snprintf(lines + used, sizeof lines - (size_t)used, "call %s %lx\n", kinds[kind],
                         places[kind][i]);
        if (used > (int)sizeof lines - 64 || i + 1 == count) {
            write_log(lines, (size_t)used);
            used = 0;
        }
    }
}

__attribute__((destructor)) static void end(void)
{
    char line[64];
    bool tell = ready;
    ready = false;
    for (int kind = 0; tell && kind < KINDS; kind++) {
        long count = atomic_load(&counts[kind]);
        write_log(line, (size_t)snprintf(line, sizeof line, "count %s %ld\n", kinds[kind], count));
        log_places(kind, count);
    }
}

#define MAX_FRAMES 24

/* Where the failing call came from. */
static void log_failure(enum kind kind, const char *call, const char *path)
{
    char line[8192];
    void *frames[MAX_FRAMES];
    Dl_info info;
    if (!log_path[0])
        return;
    ready = false;
    write_log(line, (size_t)snprintf(line, sizeof line, "failed %s %s %s\n", kinds[kind], call, path));
    int count = backtrace(frames, MAX_FRAMES);
    for (int i = 0; i < count; i++)
        if (dladdr(frames[i], &info) && info.dli_fname)
            write_log(line, (size_t)snprintf(line, sizeof line, "at %s %#tx\n", info.dli_fname,
                                             (char *)frames[i] - (char *)info.dli_fbase - 1));
    ready = true;
}

/* The innermost callers that are the program's own, as a number. */
static unsigned long place(void)
{
    enum { INNERMOST = 8 };
    void *frames[48];
    Dl_info info, program;
    unsigned long sum = 0;
    int own = 0, count = backtrace(frames, (int)(sizeof frames / sizeof *frames));
    (void)dladdr((void *)getauxval(AT_ENTRY), &program);
    for (int i = 0; i < count && own < INNERMOST; i++)
        if (dladdr(frames[i], &info) && info.dli_fbase == program.dli_fbase) {
            sum = (sum ^ (unsigned long)((char *)frames[i] - (char *)info.dli_fbase)) * 0x9e3779b97f4a7c15;
            own++;
        }
    return sum;
}

static void count_call(enum kind kind)
{
    static _Thread_local bool counting;
    if (!ready || counting)
        return;
    long number = atomic_fetch_add(&counts[kind], 1);
    if (places[kind] && number < MAX_PLACES) {
        counting = true;
        pthread_mutex_lock(&places_lock);
        places[kind][number] = place();
        pthread_mutex_unlock(&places_lock);
        counting = false;
    }
}

/* ---- at a call ---- */

static bool is_meant(enum kind kind, const char *call)
{
    return ready && fault.call[0] &&
           (fault.kind < KINDS ? fault.kind == kind : strcmp(call, fault.call) == 0);
}

static enum outcome happen(enum kind kind, const char *call, const char *path)
{
    if (!strstr(path, fault.path))
        return GO_ON;
    int number = atomic_fetch_add(&seen, 1) + 1;
    if (fault.at != 0 && number != fault.at)
        return GO_ON;
    if (strcmp(fault.action, "error") == 0) {
        log_failure(kind, call, path);
        errno = atoi(fault.argument);
        return FAIL;
    }
    if (strcmp(fault.action, "signal") == 0)
        raise(atoi(fault.argument));
    if (strcmp(fault.action, "run") == 0 && system(fault.argument) != 0)
        abort();
    return strcmp(fault.action, "half") == 0 ? HALF : GO_ON;
}

static enum outcome on_path(enum kind kind, const char *call, const char *path)
{
    count_call(kind);
    return is_meant(kind, call) ? happen(kind, call, path ? path : "") : GO_ON;
}

static enum outcome on_fd(enum kind kind, const char *call, int fd)
{
    char link[64], path[4096];
    count_call(kind);
    if (!is_meant(kind, call))
        return GO_ON;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return happen(kind, call, path);
}

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

static size_t moved(enum outcome outcome, size_t n)
{
    return outcome == HALF && n > 1 ? n / 2 : n;
}

/* ---- memory: what copies text or opens a stream asks these too ---- */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static bool refuses(const char *call)
{
    return on_path(ALLOCATIONS, call, "") == FAIL;
}

void *malloc(size_t size)
{
    return refuses("malloc") ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return refuses("calloc") ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return refuses("realloc") ? NULL : __libc_realloc(memory, size);
}

void *reallocarray(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return refuses("reallocarray") ? NULL : __libc_realloc(memory, bytes);
}

void *memalign(size_t alignment, size_t size)
{
    return refuses("memalign") ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return refuses("aligned_alloc") ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *found = refuses("posix_memalign") ? NULL : __libc_memalign(alignment, size);
    if (found)
        *memory = found;
    return found ? 0 : ENOMEM;
}

/* ---- files ---- */

/* A call that either fails, with this result, or goes on. */
#define CALL(result, name, called, outcome, failure, parameters, arguments)                                  \
    result name parameters                                                                                   \
    {                                                                                                        \
        static result(*call) parameters;                                                                     \
        if (!call)                                                                                           \
            *(void **)&call = next(#name);                                                                   \
        return (outcome) == FAIL ? (failure) : call arguments;                                               \
    }

/* One that moves n bytes. */
#define MOVE(kind, name, called, pointer, parameters, arguments)                                             \
    ssize_t name parameters                                                                                  \
    {                                                                                                        \
        static ssize_t(*call) parameters;                                                                    \
        if (!call)                                                                                           \
            *(void **)&call = next(#name);                                                                   \
        enum outcome outcome = on_fd(kind, called, fd);                                                      \
        n = moved(outcome, n);                                                                               \
        return outcome == FAIL ? -1 : call arguments;                                                        \
    }

MOVE(READS, read, "read", void *, (int fd, void *to, size_t n), (fd, to, n))
MOVE(READS, __read_chk, "read", void *, (int fd, void *to, size_t n, size_t room), (fd, to, n, room))
MOVE(READS, pread, "pread", void *, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
MOVE(READS, pread64, "pread", void *, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at))
MOVE(READS, __pread_chk, "pread", void *, (int fd, void *to, size_t n, off_t at, size_t room),
     (fd, to, n, at, room))
MOVE(READS, __pread64_chk, "pread", void *, (int fd, void *to, size_t n, off64_t at, size_t room),
     (fd, to, n, at, room))
MOVE(WRITES, write, "write", const void *, (int fd, const void *from, size_t n), (fd, from, n))
MOVE(WRITES, pwrite, "pwrite", const void *, (int fd, const void *from, size_t n, off_t at),
     (fd, from, n, at))
MOVE(WRITES, pwrite64, "pwrite", const void *, (int fd, const void *from, size_t n, off64_t at),
     (fd, from, n, at))

#define VECTOR (int fd, const struct iovec *parts, int count)
CALL(ssize_t, readv, "readv", on_fd(READS, "readv", fd), -1, VECTOR, (fd, parts, count))
CALL(ssize_t, writev, "writev", on_fd(WRITES, "writev", fd), -1, VECTOR, (fd, parts, count))

CALL(int, fsync, "fsync", on_fd(SYNCS, "fsync", fd), -1, (int fd), (fd))
CALL(int, fdatasync, "fdatasync", on_fd(SYNCS, "fdatasync", fd), -1, (int fd), (fd))
CALL(int, ftruncate, "ftruncate", on_fd(TRUNCATES, "ftruncate", fd), -1, (int fd, off_t n), (fd, n))
CALL(int, ftruncate64, "ftruncate", on_fd(TRUNCATES, "ftruncate", fd), -1, (int fd, off64_t n), (fd, n))
CALL(int, posix_fallocate, "fallocate", on_fd(TRUNCATES, "fallocate", fd), errno, (int fd, off_t at, off_t n),
     (fd, at, n))
CALL(int, posix_fallocate64, "fallocate", on_fd(TRUNCATES, "fallocate", fd), errno,
     (int fd, off64_t at, off64_t n), (fd, at, n))

CALL(int, rename, "rename", on_path(RENAMES, "rename", to), -1, (const char *from, const char *to),
     (from, to))
CALL(int, renameat, "rename", on_path(RENAMES, "rename", to), -1,
     (int folder, const char *from, int other, const char *to), (folder, from, other, to))
CALL(int, renameat2, "rename", on_path(RENAMES, "rename", to), -1,
     (int folder, const char *from, int other, const char *to, unsigned flags),
     (folder, from, other, to, flags))
CALL(int, link, "link", on_path(RENAMES, "link", to), -1, (const char *from, const char *to), (from, to))
CALL(int, mkdir, "mkdir", on_path(OPENS, "mkdir", path), -1, (const char *path, mode_t mode), (path, mode))

/* The mode is passed on whether it is there or not. */
#define OPEN(name)                                                                                           \
    int name(const char *path, int flags, ...)                                                               \
    {                                                                                                        \
        static int (*call)(const char *, int, ...);                                                          \
        if (!call)                                                                                           \
            *(void **)&call = next(#name);                                                                   \
        va_list arguments;                                                                                   \
        va_start(arguments, flags);                                                                          \
        mode_t mode = va_arg(arguments, mode_t);                                                             \
        va_end(arguments);                                                                                   \
        return on_path(OPENS, "open", path) == FAIL ? -1 : call(path, flags, mode);                          \
    }
#define OPENAT(name)                                                                                         \
    int name(int folder, const char *path, int flags, ...)                                                   \
    {                                                                                                        \
        static int (*call)(int, const char *, int, ...);                                                     \
        if (!call)                                                                                           \
            *(void **)&call = next(#name);                                                                   \
        va_list arguments;                                                                                   \
        va_start(arguments, flags);                                                                          \
        mode_t mode = va_arg(arguments, mode_t);                                                             \
        va_end(arguments);                                                                                   \
        return on_path(OPENS, "open", path) == FAIL ? -1 : call(folder, path, flags, mode);                  \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
CALL(int, __open_2, "open", on_path(OPENS, "open", path), -1, (const char *path, int flags), (path, flags))
CALL(int, __open64_2, "open", on_path(OPENS, "open", path), -1, (const char *path, int flags), (path, flags))
CALL(int, __openat_2, "open", on_path(OPENS, "open", path), -1, (int folder, const char *path, int flags),
     (folder, path, flags))
CALL(int, __openat64_2, "open", on_path(OPENS, "open", path), -1, (int folder, const char *path, int flags),
     (folder, path, flags))
CALL(int, mkstemp, "open", on_path(OPENS, "open", path), -1, (char *path), (path))
CALL(int, mkstemp64, "open", on_path(OPENS, "open", path), -1, (char *path), (path))
CALL(int, mkostemp, "open", on_path(OPENS, "open", path), -1, (char *path, int flags), (path, flags))
CALL(int, mkostemp64, "open", on_path(OPENS, "open", path), -1, (char *path, int flags), (path, flags))
CALL(DIR *, opendir, "opendir", on_path(OPENS, "opendir", path), NULL, (const char *path), (path))
CALL(struct dirent *, readdir, "readdir", on_fd(READS, "readdir", dirfd(folder)), NULL, (DIR * folder),
     (folder))
CALL(struct dirent64 *, readdir64, "readdir", on_fd(READS, "readdir", dirfd(folder)), NULL, (DIR * folder),
     (folder))

/* It is closed all the same, as the kernel does it. */
int close(int fd)
{
    static int (*call)(int);
    if (!call)
        *(void **)&call = next("close");
    enum outcome outcome = on_fd(CLOSES, "close", fd);
    int error = errno, result = call(fd);
    if (outcome == FAIL)
        errno = error;
    return outcome == FAIL ? -1 : result;
}

#define LOOK   (const char *path, struct stat *to)
#define LOOK64 (const char *path, struct stat64 *to)
CALL(int, stat, "stat", on_path(LOOKS, "stat", path), -1, LOOK, (path, to))
CALL(int, stat64, "stat", on_path(LOOKS, "stat", path), -1, LOOK64, (path, to))
CALL(int, lstat, "stat", on_path(LOOKS, "stat", path), -1, LOOK, (path, to))
CALL(int, lstat64, "stat", on_path(LOOKS, "stat", path), -1, LOOK64, (path, to))
CALL(int, fstat, "stat", on_fd(LOOKS, "stat", fd), -1, (int fd, struct stat *to), (fd, to))
CALL(int, fstat64, "stat", on_fd(LOOKS, "stat", fd), -1, (int fd, struct stat64 *to), (fd, to))
CALL(int, fstatat, "stat", on_path(LOOKS, "stat", path), -1,
     (int folder, const char *path, struct stat *to, int flags), (folder, path, to, flags))
CALL(int, fstatat64, "stat", on_path(LOOKS, "stat", path), -1,
     (int folder, const char *path, struct stat64 *to, int flags), (folder, path, to, flags))

#define MAP (void *at, size_t n, int protection, int flags, int fd, off_t offset)
CALL(void *, mmap, "mmap", on_fd(MAPS, "mmap", fd), MAP_FAILED, MAP, (at, n, protection, flags, fd, offset))
CALL(void *, mmap64, "mmap", on_fd(MAPS, "mmap", fd), MAP_FAILED, MAP, (at, n, protection, flags, fd, offset))

CALL(int, pthread_create, "thread", on_path(THREADS, "thread", ""), errno,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument),
     (thread, attributes, run, argument))

/* ---- streams: what they call is not seen from here ---- */

CALL(FILE *, fopen, "fopen", on_path(OPENS, "fopen", path), NULL, (const char *path, const char *mode),
     (path, mode))
CALL(FILE *, fopen64, "fopen", on_path(OPENS, "fopen", path), NULL, (const char *path, const char *mode),
     (path, mode))
CALL(FILE *, fdopen, "fopen", on_fd(OPENS, "fopen", fd), NULL, (int fd, const char *mode), (fd, mode))

/* What ferror() says from now on. A stream without a descriptor has functions of the program's, whose calls are seen. */
static bool fails(enum kind kind, const char *call, FILE *stream)
{
    if (fileno(stream) < 0)
        return false;
    bool failed = on_fd(kind, call, fileno(stream)) == FAIL;
    if (failed)
        stream->_flags |= 0x20; /* _IO_ERR_SEEN */
    return failed;
}

#define STREAM(result, name, kind, failure, parameters, arguments)                                           \
    result name parameters                                                                                   \
    {                                                                                                        \
        static result(*call) parameters;                                                                     \
        if (!call)                                                                                           \
            *(void **)&call = next(#name);                                                                   \
        return fails(kind, #name, stream) ? (failure) : call arguments;                                      \
    }
STREAM(size_t, fread, READS, 0, (void *restrict to, size_t size, size_t n, FILE *restrict stream),
       (to, size, n, stream))
STREAM(char *, fgets, READS, NULL, (char *restrict to, int n, FILE *restrict stream), (to, n, stream))
STREAM(size_t, fwrite, WRITES, 0, (const void *restrict from, size_t size, size_t n, FILE *restrict stream),
       (from, size, n, stream))
STREAM(int, fputs, WRITES, EOF, (const char *restrict text, FILE *restrict stream), (text, stream))
STREAM(int, fputc, WRITES, EOF, (int c, FILE *stream), (c, stream))
STREAM(int, putc, WRITES, EOF, (int c, FILE *stream), (c, stream))
STREAM(int, vfprintf, WRITES, -1, (FILE *restrict stream, const char *restrict format, va_list arguments),
       (stream, format, arguments))

int fprintf(FILE *restrict stream, const char *restrict format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int result = vfprintf(stream, format, arguments);
    va_end(arguments);
    return result;
}

int __fprintf_chk(FILE *stream, int flag, const char *format, ...)
{
    (void)flag;
    va_list arguments;
    va_start(arguments, format);
    int result = vfprintf(stream, format, arguments);
    va_end(arguments);
    return result;
}

int fflush(FILE *stream)
{
    static int (*call)(FILE *);
    if (!call)
        *(void **)&call = next("fflush");
    return stream && fails(WRITES, "fflush", stream) ? EOF : call(stream);
}

/* It is closed all the same. */
int fclose(FILE *stream)
{
    static int (*call)(FILE *);
    if (!call)
        *(void **)&call = next("fclose");
    bool failed = fails(CLOSES, "fclose", stream);
    int error = errno, result = call(stream);
    if (failed)
        errno = error;
    return failed ? EOF : result;
}
