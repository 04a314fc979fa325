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

static const struct {
    const char *call;
    enum trace_class class;
} calls[] = {
    {"access", TRACE_STAT},       {"close", TRACE_CLOSE},
    {"close_range", TRACE_CLOSE}, {"creat", TRACE_CREATE},
    {"faccessat", TRACE_STAT},    {"faccessat2", TRACE_STAT},
    {"fclose", TRACE_CLOSE},      {"fdatasync", TRACE_SYNC},
    {"fopen", TRACE_OPEN},        {"fopen64", TRACE_OPEN},
    {"fread", TRACE_READ},        {"fseek", TRACE_SEEK},
    {"fstat", TRACE_STAT},        {"fstat64", TRACE_STAT},
    {"fstatat", TRACE_STAT},      {"fstatfs", TRACE_STAT},
    {"fsync", TRACE_SYNC},        {"ftruncate", TRACE_TRUNCATE},
    {"fwrite", TRACE_WRITE},      {"link", TRACE_CREATE},
    {"linkat", TRACE_CREATE},     {"lseek", TRACE_SEEK},
    {"lseek64", TRACE_SEEK},      {"lstat", TRACE_STAT},
    {"mkdir", TRACE_MKDIR},       {"mkdirat", TRACE_MKDIR},
    {"mknod", TRACE_CREATE},      {"mknodat", TRACE_CREATE},
    {"mmap", TRACE_MMAP},         {"msync", TRACE_SYNC},
    {"newfstatat", TRACE_STAT},   {"open", TRACE_OPEN},
    {"open64", TRACE_OPEN},       {"openat", TRACE_OPEN},
    {"openat2", TRACE_OPEN},      {"pread", TRACE_READ},
    {"pread64", TRACE_READ},      {"preadv", TRACE_READ},
    {"preadv2", TRACE_READ},      {"pwrite", TRACE_WRITE},
    {"pwrite64", TRACE_WRITE},    {"pwritev", TRACE_WRITE},
    {"pwritev2", TRACE_WRITE},    {"read", TRACE_READ},
    {"readv", TRACE_READ},        {"rename", TRACE_RENAME},
    {"renameat", TRACE_RENAME},   {"renameat2", TRACE_RENAME},
    {"rmdir", TRACE_RMDIR},       {"stat", TRACE_STAT},
    {"stat64", TRACE_STAT},       {"statfs", TRACE_STAT},
    {"statx", TRACE_STAT},        {"symlink", TRACE_CREATE},
    {"symlinkat", TRACE_CREATE},  {"sync_file_range", TRACE_SYNC},
    {"syncfs", TRACE_SYNC},       {"truncate", TRACE_TRUNCATE},
    {"unlink", TRACE_UNLINK},     {"unlinkat", TRACE_UNLINK},
    {"write", TRACE_WRITE},       {"writev", TRACE_WRITE},
};

enum trace_class trace_class_of_call(const char *call, size_t length)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strlen(calls[i].call) == length && memcmp(calls[i].call, call, length) == 0)
            return calls[i].class;
    return TRACE_OTHER;
}
