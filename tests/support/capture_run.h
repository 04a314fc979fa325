/* A run of a program of known content (capture_acts.h) that is traced, and what was recorded of it. */
#ifndef REHEARSE_TESTS_CAPTURE_RUN_H
#define REHEARSE_TESTS_CAPTURE_RUN_H

#include "support/capture_acts.h"
#include "trace/capture/capture.h"
#include "trace/store/store.h"

struct capture_run {
    char top[160], data[200], log[200], store[200];
    struct trace_capture_report report;
};

/* Folders in $TMPDIR, else in /var/tmp: on a disk. */
void capture_make(struct capture_run *run);
void capture_remove(struct capture_run *run);

/* Is BPF allowed here? Skips the test, with the reason, where it is not. */
void capture_need_bpf(void);

struct trace_capture_options capture_options_of(const struct capture_run *run, char *const *words);

/* Makes folders and traces acts of one name; skips the test where they cannot be done. */
void capture_acts(struct capture_run *run, const char *what, int status);

/* The events that were recorded of files below the folder, as acts. */
extern struct act seen[MAX_ACTS];
extern struct trace_event seen_events[MAX_ACTS];
extern int seen_count;
void capture_read_events(const struct capture_run *run);

int capture_read_log(const char *log, struct act *into);

/* Every act of each thread in the log was seen, in its order, and these threads did nothing else to these files. */
void capture_compare(const char *log);

#endif
