#include "core/error.h"

#include "core/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef error_set /* the static analyser is told that they return false */
#undef error_memory

/* Cut at the end of a character where it did not fit. */
static void cut(char *text, size_t length)
{
    while (length > 0 && text_continues(text[length - 1]))
        length--;
    if (length > 0 && (unsigned char)text[length - 1] >= 0xc0)
        length--;
    text[length] = 0;
}

/* Bytes that begin a line or act on a terminal are escaped, as far as there is room. */
bool error_set(struct error *err, enum error_kind kind, const char *format, ...)
{
    char raw[sizeof err->text];
    const size_t room = sizeof raw - 1;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    if (length > (int)room)
        cut(raw, room);
    const char *at = length < 0 ? format : raw;
    size_t left = strlen(at), used = 0;
    while (left > 0 && used + 4 <= room) {
        size_t good = text_printable(at, left, ""), fits = good < room - used ? good : room - used;
        memcpy(err->text + used, at, fits);
        used += fits;
        if (fits < good)
            cut(err->text, used);
        at += good;
        left -= good;
        if (left > 0 && fits == good && used + 4 <= room) {
            used += (size_t)snprintf(err->text + used, 5, "\\x%02x", (unsigned)(unsigned char)*at++);
            left--;
        }
    }
    err->text[used] = 0;
    err->kind = kind;
    return false;
}

enum error_kind error_of_input(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
    case EINVAL:
        return ERROR_INPUT;
    default:
        return ERROR_FAILED;
    }
}

#define NO_MEMORY "out of memory"

bool error_memory(struct error *err)
{
    return error_set(err, ERROR_FAILED, NO_MEMORY);
}

bool error_is_memory(const struct error *err)
{
    return strcmp(err->text, NO_MEMORY) == 0 || text_ends_with(err->text, strerror(ENOMEM));
}
