/* What files are: by their path, where nothing else says so. */
#include "trace/store/store.h"

#include <string.h>

const char *trace_kind_name(enum trace_kind kind)
{
    static const char *const names[TRACE_KINDS] = {"file", "pipe", "socket", "device", "other"};
    return names[kind];
}

/* The first that a path begins with counts. */
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
