/* The classes of calls. */
#include "trace/store/store.h"

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
    [TRACE_STAT] = "stat stat64 lstat fstat fstat64 fstatat newfstatat statx statfs fstatfs access faccessat "
                   "faccessat2 ",
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
