#include "core/progress.h"

#include "core/caller.h"
#include "core/clock.h"

#include <stdarg.h>
#include <stdio.h>

#define BETWEEN_FRAMES 0.1

void progress_start(struct progress *progress, const char *what)
{
    struct caller *caller = caller_now();
    bool listens = caller && caller->progress;
    *progress = (struct progress){.caller = listens ? caller : NULL, .thread = pthread_self(), .what = what};
    if (listens)
        caller->progress(caller->user, what, "");
}

void progress_start_open(struct progress *progress, const char *what)
{
    progress_start(progress, what);
    if (progress->caller)
        atomic_store(&progress->caller->open, progress);
}

static void show(struct progress *progress, const char *format, va_list args)
{
    struct caller *caller = progress ? progress->caller : NULL;
    char detail[256];
    if (!caller || !pthread_equal(progress->thread, pthread_self()) ||
        clock_now() - progress->shown < BETWEEN_FRAMES)
        return;
    progress->shown = clock_now();
    vsnprintf(detail, sizeof detail, format, args);
    caller->progress(caller->user, progress->what, detail);
}

void progress_show(struct progress *progress, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    show(progress, format, args);
    va_end(args);
}

void progress_tell(const char *format, ...)
{
    struct caller *caller = caller_now();
    va_list args;
    va_start(args, format);
    show(caller ? atomic_load(&caller->open) : NULL, format, args);
    va_end(args);
}

void progress_end(struct progress *progress)
{
    struct progress *open = progress;
    if (progress->caller) {
        atomic_compare_exchange_strong(&progress->caller->open, &open, NULL);
        progress->caller->progress(progress->caller->user, progress->what, NULL);
    }
    progress->caller = NULL;
}
