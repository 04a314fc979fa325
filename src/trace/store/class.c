/* Names, kinds and limits of rows. */
#include "trace/store/store.h"

#include <math.h>
#include <string.h>

const char *trace_class_name(enum trace_class class)
{
    static const char *const names[TRACE_CLASSES] = {
        "read",   "write", "open",  "close", "sync",     "mmap",   "fault", "stat",   "unlink",
        "rename", "mkdir", "rmdir", "seek",  "truncate", "create", "other", "offcpu", "region",
    };
    return names[class];
}

const char *trace_op_name(enum trace_op op)
{
    static const char *const names[TRACE_OPS] = {"read", "write", "discard", "flush"};
    return names[op];
}

/* Calls of each class, with a blank after each name. */
static const char *const calls[TRACE_CLASSES] = {
    [TRACE_READ] = "read pread pread64 readv preadv preadv2 fread ",
    [TRACE_WRITE] = "write pwrite pwrite64 writev pwritev pwritev2 fwrite ",
    [TRACE_OPEN] = "open open64 openat openat2 fopen fopen64 ",
    [TRACE_CLOSE] = "close close_range fclose ",
    [TRACE_SYNC] = "fsync fdatasync msync sync_file_range syncfs ",
    [TRACE_MMAP] = "mmap ",
    [TRACE_STAT] =
        ("stat stat64 lstat fstat fstat64 fstatat newfstatat statx statfs fstatfs access faccessat "
         "faccessat2 "),
    [TRACE_UNLINK] = "unlink unlinkat ",
    [TRACE_RENAME] = "rename renameat renameat2 ",
    [TRACE_MKDIR] = "mkdir mkdirat ",
    [TRACE_RMDIR] = "rmdir ",
    [TRACE_SEEK] = "lseek lseek64 fseek ",
    [TRACE_TRUNCATE] = "truncate ftruncate ",
    [TRACE_CREATE] = "creat mknod mknodat link linkat symlink symlinkat ",
};

enum trace_class trace_class_of_call(const char *call, size_t length)
{
    for (int class = 0; class < TRACE_CLASSES; class ++)
        for (const char *name = calls[class]; name && *name; name = strchr(name, ' ') + 1)
            if (strncmp(name, call, length) == 0 && name[length] == ' ')
                return (enum trace_class) class;
    return TRACE_OTHER;
}

/* ---- kinds of files ---- */

const char *trace_kind_name(enum trace_kind kind)
{
    static const char *const names[TRACE_KINDS] = {"file", "pipe", "socket", "device", "other"};
    return names[kind];
}

/* The first matching beginning of a path counts. */
static const struct {
    const char *begin;
    enum trace_kind kind;
} beginnings[] = {
    {"/dev/shm/", TRACE_KIND_FILE},
    {"/dev/hugepages/", TRACE_KIND_FILE},
    {"/dev/mqueue/", TRACE_KIND_FILE},
    {"/dev/tty", TRACE_KIND_OTHER},
    {"/dev/pts/", TRACE_KIND_OTHER},
    {"/dev/ptmx", TRACE_KIND_OTHER},
    {"/dev/console", TRACE_KIND_OTHER},
    {"/dev/", TRACE_KIND_DEVICE},
    {"/", TRACE_KIND_FILE},
    {"pipe:[", TRACE_KIND_PIPE},
    {"socket:[", TRACE_KIND_SOCKET},
    {"anon_inode:", TRACE_KIND_OTHER},
};

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* "TCPv6:[…]", "UNIX-STREAM:[…]", as strace -yy writes; "net:[…]" is a name space. */
static bool has_word(const char *path, size_t length)
{
    size_t at = 0;
    while (at < length && (is_capital(path[at]) || (path[at] >= 'a' && path[at] <= 'z') ||
                           (path[at] >= '0' && path[at] <= '9') || path[at] == '-' || path[at] == '/'))
        at++;
    return at > 0 && at + 2 < length && path[at] == ':' && path[at + 1] == '[' && path[length - 1] == ']';
}

enum trace_kind trace_kind_of_path(const char *path, size_t length)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        size_t bytes = strlen(beginnings[i].begin);
        if (length >= bytes && memcmp(path, beginnings[i].begin, bytes) == 0)
            return beginnings[i].kind;
    }
    if (!has_word(path, length))
        return TRACE_KIND_FILE;
    return is_capital(*path) ? TRACE_KIND_SOCKET : TRACE_KIND_OTHER;
}

/* ---- limits ---- */

int64_t trace_bytes_moved(const struct trace_event *event)
{
    int64_t bytes = event->class == TRACE_READ || event->class == TRACE_WRITE ? event->result
                    : event->class == TRACE_FAULT                             ? event->size
                                                                              : 0;
    return bytes > 0 ? bytes : 0;
}

/* One row may move a thousandth of the limit of all rows. */
#define MAX_BYTES_OF_ONE (TRACE_MAX_BYTES >> 10)

static bool time_fits(int64_t time_ns)
{
    return time_ns >= TRACE_MIN_TIME && time_ns <= TRACE_MAX_TIME;
}

static bool length_fits(int64_t length_ns)
{
    return length_ns == TRACE_NONE || (length_ns >= -TRACE_MAX_LENGTH && length_ns <= TRACE_MAX_LENGTH);
}

bool trace_pid_fits(int64_t pid)
{
    return pid == TRACE_NONE || (pid >= -TRACE_MAX_PID && pid <= TRACE_MAX_PID);
}

bool trace_event_fits(const struct trace_event *event)
{
    return time_fits(event->start_ns) && length_fits(event->latency_ns) &&
           trace_bytes_moved(event) <= MAX_BYTES_OF_ONE;
}

bool trace_block_fits(const struct trace_block *block)
{
    return time_fits(block->start_ns) && length_fits(block->queue_ns) && length_fits(block->service_ns) &&
           block->bytes <= MAX_BYTES_OF_ONE;
}

bool trace_sample_fits(const struct trace_sample *sample)
{
    return time_fits(sample->time_ns) && fabs(sample->value) <= TRACE_MAX_VALUE; /* false for NaN */
}

bool trace_phase_fits(const struct trace_phase *phase)
{
    return time_fits(phase->start_ns) && time_fits(phase->end_ns);
}
