/* Records a run: `rehearse trace`. docs/trace.md lists the recorded data and their cost.
 *
 * eBPF programs report each call, page fault and disk request of the chosen processes; samples of the machine
 * come from /proc and from the GPUs' library. Everything goes into one store (trace/store.h). */
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
    bool replace;                  /* replace an older trace of this name */
    char *const *command;          /* ends with NULL */
    int pid;                       /* 0: none */
    const struct child_user *user; /* runs the command as this user; NULL: as the current user */
    const char *cgroup;            /* folder of a control group; beside a command, that only ends the trace */
    bool ends_with_cgroup;         /* the trace ends when no process is left in it */
    bool system;                   /* all processes but this one */
    bool no_bpf;                   /* samples only */
    bool off_cpu;                  /* also record when threads are off the processor */
    int64_t buffer;                /* bytes between the kernel and this program; 0: TRACE_CAPTURE_BUFFER */
    double interval;               /* seconds between samples; 0: 0.1 */
    double after;                  /* seconds to record after the command's end, for write-back */
    const char *version;           /* of this program, for the metadata */
    const atomic_bool *stop;       /* true: end the trace; may be NULL */
    atomic_bool *begun;            /* set to true once recording has begun; may be NULL */
};

struct trace_capture_report {
    int status; /* the command's exit status, or 128 + the signal that ended it */
    bool ended; /* the command has ended */
    bool began; /* the target was running, and the trace was published or failed to be */
    double seconds;
    int64_t rows, lost; /* recorded and lost events and disk requests */
    int gpus;
    double load_seconds; /* processor seconds for loading the programs into the kernel */
    double cpu_seconds;  /* processor seconds while recording */
    struct text notes;   /* data that could not be recorded, and losses by type; one line each */
    struct text clients; /* traced programs whose work is done by others; one line each */
};

/* Returns false if the trace could not begin or be written to the end; rows written until then are kept.
 * Always waits for a command that it started. The caller releases the report. */
bool trace_capture(const struct trace_capture_options *options, struct trace_capture_report *report,
                   struct error *err);

void trace_capture_report_release(struct trace_capture_report *report);

#endif
