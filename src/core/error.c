#include "core/error.h"

#include "core/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef error_set /* what the static analyser is told */
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

/* Room for a text of any length that is cut to fit. */
struct line {
    char *text;
    size_t length, room;
};

static bool fits(const struct line *line, size_t length)
{
    return length <= line->room - line->length;
}

static void add(struct line *line, const char *bytes, size_t length)
{
    memcpy(line->text + line->length, bytes, length);
    line->length += length;
    line->text[line->length] = 0;
}

/* No part of it is a line of its own, or acts on a terminal. */
static void add_escaped(struct line *line, const char *text)
{
    char escape[8];
    size_t left = strlen(text), good;
    for (; left > 0; text += good, left -= good) {
        good = text_printable(text, left, "");
        if (!fits(line, good)) {
            add(line, text, line->room - line->length);
            cut(line->text, line->length);
            return;
        }
        add(line, text, good);
        if (good == left || !fits(line, 4))
            return;
        snprintf(escape, sizeof escape, "\\x%02x", (unsigned)(unsigned char)text[good++]);
        add(line, escape, 4);
    }
}

bool error_set(struct error *err, enum error_kind kind, const char *format, ...)
{
    char raw[sizeof err->text];
    struct line line = {.text = err->text, .room = sizeof err->text - 1};
    va_list args;
    va_start(args, format);
    int length = vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    if (length >= (int)sizeof raw)
        cut(raw, sizeof raw - 1);
    *err->text = 0;
    add_escaped(&line, length < 0 ? format : raw);
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
