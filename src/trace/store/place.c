#include "trace/store/place.h"

#include "trace/store/schema.h"
#include "trace/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first bytes of a file; fewer where it is shorter, -1 and errno where it cannot be read. */
static ssize_t read_start(const char *path, unsigned char *bytes, size_t length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd >= 0 ? read(fd, bytes, length) : -1;
    int code = errno;
    if (fd >= 0)
        close(fd);
    errno = code;
    return got;
}

/* https://www.sqlite.org/fileformat2.html, 1.3: the header string, and the application's number at 68. */
static bool is_trace(const char *path)
{
    unsigned char header[100];
    if (read_start(path, header, sizeof header) != (ssize_t)sizeof header ||
        memcmp(header, "SQLite format 3", 16) != 0)
        return false;
    uint32_t application =
        (uint32_t)header[68] << 24 | (uint32_t)header[69] << 16 | (uint32_t)header[70] << 8 | header[71];
    return application == (uint32_t)TRACE_APPLICATION_ID;
}

/* The same, 3: a rollback journal begins so, or with zeros when it has been played back; an empty one is one. */
static bool is_journal(const char *path)
{
    static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7}, zeros[8];
    unsigned char start[sizeof magic];
    ssize_t got = read_start(path, start, sizeof start);
    return got == 0 || (got == (ssize_t)sizeof start &&
                        (memcmp(start, magic, sizeof magic) == 0 || memcmp(start, zeros, sizeof zeros) == 0));
}

/* Nothing of this name that SQLite would take for a part of the trace. `journal`: one is allowed. */
static bool check_companion(const char *target, const char *ending, bool journal, struct error *err)
{
    char *name;
    struct stat info;
    if (asprintf(&name, "%s%s", target, ending) < 0)
        return error_memory(err);
    bool there = lstat(name, &info) == 0;
    bool ok =
        !there || (journal && S_ISREG(info.st_mode) && is_journal(name)) ||
        error_set(err, ERROR_FAILED,
                  "'%s' is in the way: SQLite would take it for a part of '%s', and remove it", name, target);
    free(name);
    return ok;
}

static bool may_replace(const char *path, const char *target, struct error *err)
{
    struct error why;
    if (!check_companion(target, "-journal", true, err))
        return false;
    struct trace_reader *reader = trace_reader_new(target, &why); /* plays the journal back */
    trace_reader_free(reader);
    if (!reader)
        return error_set(err, ERROR_FAILED, "'%s' is not replaced: %s", path, why.text);
    return check_companion(target, "-wal", false, err);
}

bool store_may_take(const char *path, const char *target, bool replace, struct error *err)
{
    struct stat info;
    if (stat(target, &info) != 0 || info.st_size == 0)
        return check_companion(target, "-journal", false, err) && check_companion(target, "-wal", false, err);
    if (!is_trace(target))
        return error_set(err, ERROR_FAILED, "'%s' is there already and is no trace; not overwritten", path);
    if (!replace)
        return error_set(err, ERROR_FAILED, "'%s' is there already; --force replaces it", path);
    return may_replace(path, target, err);
}
