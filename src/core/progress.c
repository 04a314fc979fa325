#include "core/progress.h"

#include "core/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define QUIET_SECONDS  0.5
#define BETWEEN_FRAMES 0.1

void progress_start(struct progress *progress, const char *what)
{
    *progress = (struct progress){.active = isatty(STDERR_FILENO), .what = what, .started = clock_now()};
}

void progress_show(struct progress *progress, const char *format, ...)
{
    double now = clock_now();
    if (!progress->active || now - progress->started < QUIET_SECONDS ||
        now - progress->shown < BETWEEN_FRAMES)
        return;
    progress->shown = now;
    va_list args;
    va_start(args, format);
    fprintf(stderr, "\r\033[K%s  ", progress->what);
    vfprintf(stderr, format, args);
    va_end(args);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->shown > 0) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    progress->active = false;
    progress->shown = 0;
}
