/* What the processes of a job did in files while its devices were idle: profiles beside a trace of the kernel.
 *
 * Both clocks are UTC: a profile tells its base, a trace its times (trace/store). Of a rank's time in steps count its
 * idle times by `data`, with all calls of its process and of those that descend from it (workers of data loaders), and
 * by `host`, with calls of its process alone. An instant in which several calls run is divided among them, so that the
 * times of files and of no call add up to the idle time. */
#ifndef REHEARSE_EXPLAIN_STALLS_H
#define REHEARSE_EXPLAIN_STALLS_H

#include "explain/explain.h"

enum explain_call { CALLS_READ, CALLS_OPEN, CALLS_FAULT, CALLS_OTHER, EXPLAIN_CALLS };

/* Times are seconds of a step and rank. cold, warm: in reads of which is known that no cache had them, or that one
 * had. */
struct explain_file {
    const char *path;
    double time, cold, warm;
    size_t calls;
};

struct explain_stalls {
    struct arena arena;
    struct explain_file *files; /* longest first */
    size_t file_count;
    double data, host;                /* idle time of the ranks that the trace has */
    double all, calls[EXPLAIN_CALLS]; /* of it, in calls */
    double cold, warm;
    size_t lanes; /* with a process in the trace */
    bool unknown; /* the trace does not tell which processes are a rank's: all count, while it awaits data */
    bool lossy;   /* events are missing */
};

extern const char *const explain_call_words[EXPLAIN_CALLS];

/* On failure *stalls holds nothing; else the caller releases its arena. */
bool explain_stalls_find(struct explain_stalls *stalls, const struct explain *explain, const char *path,
                         struct error *err);

#endif
