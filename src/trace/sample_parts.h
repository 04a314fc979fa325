/* Shared by the files of the sampler. */
#ifndef REHEARSE_TRACE_SAMPLE_PARTS_H
#define REHEARSE_TRACE_SAMPLE_PARTS_H

#include "trace/sample.h"

#define SAMPLE_COUNTERS 10

/* The previous counters of one source ("cpu3", "vda", a pid). */
struct sample_counters {
    char name[32];
    uint64_t values[SAMPLE_COUNTERS];
    int64_t time_ns;
    bool seen; /* in this sample: vanished sources are dropped */
};

struct sample_list {
    struct sample_counters *items;
    size_t count, capacity;
};

struct sampler {
    struct trace_writer *writer;
    struct sample_list cpus, disks, networks, processes;
    struct sample_gpu *gpu;
    const char *no_gpu;
    int64_t now;
    char *buffer; /* of SAMPLE_BUFFER bytes, for files of /proc */
    struct error err;
    bool failed;
};

#define SAMPLE_BUFFER (1 << 20)

/* Returns the text of a file of /proc, in sampler->buffer; NULL if it cannot be read. */
char *sample_read(struct sampler *sampler, const char *path);

/* Replaces the counters of `name` by `values`, writes their growth to `grown`, zeroed, and returns the
 * seconds in between; 0 the first time and if no time has passed. */
double sample_difference(struct sampler *sampler, struct sample_list *list, const char *name,
                         const uint64_t *values, double *grown);

void sample_forget(struct sample_list *list);

#endif
