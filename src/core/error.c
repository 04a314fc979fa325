#include "core/error.h"

#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>

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

/* ASCII's control characters, and those of Unicode that terminals act on: U+0080 to U+009F. */
static void show_controls(char *text)
{
    for (char *c = text; *c; c++) {
        if ((unsigned char)*c == 0xc2 && (unsigned char)c[1] >= 0x80 && (unsigned char)c[1] < 0xa0)
            c[0] = c[1] = '?';
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    }
}

bool error_set(struct error *err, enum error_kind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (length >= (int)sizeof err->text)
        cut(err->text, sizeof err->text - 1);
    show_controls(err->text);
    err->kind = kind;
    return false;
}

bool error_memory(struct error *err)
{
    return error_set(err, ERROR_FAILED, "out of memory");
}
