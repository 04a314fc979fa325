/* A timeline as a trace in Chrome's trace-event format, shaped as Kineto (PyTorch's profiler) writes its traces, so
 * that Perfetto, chrome://tracing and HolisticTraceAnalysis read it.
 *
 * Each device is a process, each stream a thread of it. A task is a complete event ("ph": "X") with category kernel,
 * gpu_memcpy for loading and saving, and with args device, stream, correlation and External id; its launch is an event
 * of a host process with the same correlation. Names tell analysers its class: exchanges are named ncclDevKernel_… and
 * copies Memcpy …, as recorded ones are. Steps are ProfilerStep#N, on the host and on each device. Arrows ("s" and "f")
 * lead from sends to their receives, and from a task's cause to the task where they lie on different tracks. Counters
 * ("C") tell memory by its parts, and bytes per second of each link that carries something, beside the tracks of a
 * device that uses it; where links are not known, those of sends, receives and collectives.
 *
 * Written as the tasks come: memory is 5 MiB for the causes of arrows, whatever the length of the run. Time stamps are
 * microseconds with three digits. */
#ifndef REHEARSE_SIM_CHROME_H
#define REHEARSE_SIM_CHROME_H

#include "sim/timeline.h"

#define CHROME_MAX_DEVICES 1048576
#define CHROME_MAX_FILES   1024

struct chrome_options {
    const char *device_name; /* "H100"; NULL: unknown */
    double device_memory;    /* bytes; 0: unknown */
    int64_t world_size;      /* devices of the run; 0: unknown */
    bool recorded;           /* streams have the numbers of a recording, and names stay as they are */
};

/* Opens a trace: a file with all devices, or, if the path ends in '/', a folder that gets a file rank-N.json for each
 * device. Returns NULL on failure. */
struct chrome *chrome_open(const char *path, const struct chrome_options *options, struct error *err);

/* Returns a sink that writes to the trace, which must live as long. */
struct timeline_sink chrome_sink(struct chrome *chrome);

/* Ends and frees the trace: written if `done`, else removed. Returns `done`, or false if writing failed. NULL is
 * allowed. */
bool chrome_close(struct chrome *chrome, bool done, struct error *err);

#endif
