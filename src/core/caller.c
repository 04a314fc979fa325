#include "core/caller.h"

#include "core/text.h"

#include <stdarg.h>
#include <stddef.h>

static _Thread_local struct caller *now;

struct caller *caller_set(struct caller *caller)
{
    struct caller *before = now;
    now = caller;
    return before;
}

struct caller *caller_now(void)
{
    return now;
}

void caller_warn(const char *format, ...)
{
    struct error warning; /* its way of showing what is no text */
    struct text text = {0};
    va_list args;
    if (!now || !now->warning)
        return;
    va_start(args, format);
    text_vformat(&text, format, args);
    va_end(args);
    error_set(&warning, ERROR_FAILED, "%s", text.failed || !text.data ? format : text.data);
    text_release(&text);
    now->warning(now->user, warning.text);
}

bool caller_starve(void)
{
    if (now)
        atomic_store(&now->starved, true);
    return now != NULL;
}
