/* Progress display: one rewritten line on stderr, only if it is a terminal. */
#ifndef REHEARSE_CORE_PROGRESS_H
#define REHEARSE_CORE_PROGRESS_H

#include <stdbool.h>

struct progress {
    bool active;           /* set by progress_start if there is a terminal */
    const char *what;      /* "searching" */
    double started, shown; /* seconds, clock_now */
};

void progress_start(struct progress *progress, const char *what);

/* Shows "what … detail", at most ten times a second and not in the first half second. */
void progress_show(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

void progress_end(struct progress *progress);

#endif
