/* Loads and attaches the programs in the kernel (bpf/capture.bpf.c) and reads their records. */
#ifndef REHEARSE_TRACE_CAPTURE_KERNEL_H
#define REHEARSE_TRACE_CAPTURE_KERNEL_H

#include <linux/types.h>

#include "core/error.h"
#include "core/text.h"
#include "trace/capture/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_kernel_options {
    enum capture_scope scope;
    const char *cgroup;   /* its folder; scope CAPTURE_CGROUP */
    int64_t buffer_bytes; /* of the ring buffer; rounded up to a power of two */
    bool off_cpu;
};

/* Handles a record; false ends reading, and capture_kernel_read then returns the number before it. */
typedef bool capture_handler(void *context, const void *record, size_t bytes);

struct capture_kernel;

/* Loads the programs without starting them. Adds a line to `missing` per unsupported kind of event. */
struct capture_kernel *capture_kernel_new(const struct capture_kernel_options *options,
                                          capture_handler *handler, void *context, struct text *missing,
                                          struct error *err);

/* Returns the version of the loading library; "" without one. */
const char *capture_kernel_version(void);

/* Adds a process; the kernel programs then add its children. */
bool capture_kernel_add(struct capture_kernel *kernel, int pid, struct error *err);

bool capture_kernel_attach(struct capture_kernel *kernel, struct error *err);

/* Stops the programs; the buffer can still be read. */
void capture_kernel_detach(struct capture_kernel *kernel);

/* Passes the available records, at most `max`, to the handler; returns their number. */
int capture_kernel_read(struct capture_kernel *kernel, int max);

/* Return records without room, by CAPTURE_LOST_…, and events while the same program was running. */
void capture_kernel_lost(struct capture_kernel *kernel, int64_t lost[CAPTURE_LOST_KINDS], int64_t *recursion);

/* Detaches and frees; NULL is allowed. */
void capture_kernel_free(struct capture_kernel *kernel);

#endif
