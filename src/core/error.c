#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

#undef error_set /* what the static analyser is told */
#undef error_memory

bool error_set(struct error *err, enum error_kind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    for (char *c = err->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    err->kind = kind;
    return false;
}

bool error_memory(struct error *err)
{
    return error_set(err, ERROR_FAILED, "out of memory");
}
