/* Recording a run: `rehearse trace`. docs/trace.md says what is recorded and what it costs.
 *
 * Programs in the kernel (eBPF) tell of each call, page fault and disk request of the chosen processes; samples of
 * the machine come from /proc and from the GPUs' library. All goes into one store (trace/store.h). */
#ifndef REHEARSE_TRACE_CAPTURE_CAPTURE_H
#define REHEARSE_TRACE_CAPTURE_CAPTURE_H

#include "core/child.h"
#include "core/error.h"
#include "core/text.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TRACE_CAPTURE_BUFFER (INT64_C(64) << 20)

struct trace_capture_options {
    const char *store;             /* the file to write */
    bool replace;                  /* an older trace of this name */
    char *const *command;          /* ended by NULL; or one of the next three */
    int pid;                       /* 0: none */
    const struct child_user *user; /* who runs the command; NULL: who runs this program */
    const char *cgroup;            /* folder of a control group of version 2 */
    bool system;                   /* all processes but this one */
    bool no_bpf;                   /* samples alone */
    bool off_cpu;                  /* also when threads are off the processor */
    int64_t buffer;                /* bytes between the kernel and this program; 0: TRACE_CAPTURE_BUFFER */
    double interval;               /* seconds between samples; 0: 0.1 */
    double after;                  /* seconds that go on after the command has ended, for write-back */
    const char *version;           /* of this program, for the metadata */
    const atomic_bool *stop;       /* ends the trace when it becomes true; NULL: never */
    atomic_bool *begun;            /* becomes true when all that follows is recorded; may be NULL */
};

struct trace_capture_report {
    int status; /* of the command: its exit status, or 128 and the signal that ended it */
    bool ended; /* the command has ended */
    bool began; /* what is traced was running, and the trace had its name or failed to get it */
    double seconds;
    int64_t rows, lost; /* events and disk requests that were recorded, and those that were not */
    int gpus;
    double load_seconds; /* of a processor, that this program took to load its programs into the kernel */
    double cpu_seconds;  /* the same while it recorded */
    struct text notes;   /* what could not be recorded, and what was lost by type; a line each */
};

/* False when the trace could not begin, or could not be written to the end; what was written until then is kept. A
 * command that was started is waited for in any case. */
bool trace_capture(const struct trace_capture_options *options, struct trace_capture_report *report,
                   struct error *err);

void trace_capture_report_release(struct trace_capture_report *report);

#endif
