/* The programs in the kernel (bpf/capture.bpf.c): loading, attaching, reading what they hand over. */
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

/* A record; false ends reading, and capture_kernel_read then says how many came before it. */
typedef bool capture_handler(void *context, const void *record, size_t bytes);

struct capture_kernel;

/* Loads the programs; nothing runs yet. What this kernel cannot tell is added to `missing`, a line each. */
struct capture_kernel *capture_kernel_new(const struct capture_kernel_options *options,
                                          capture_handler *handler, void *context, struct text *missing,
                                          struct error *err);

/* Is this program built with them? */
bool capture_kernel_available(void);

/* Version of the library that loads them; "" without. */
const char *capture_kernel_version(void);

/* Adds a process; its children are then added by the kernel. */
bool capture_kernel_add(struct capture_kernel *kernel, int pid, struct error *err);

bool capture_kernel_attach(struct capture_kernel *kernel, struct error *err);

/* Stops the programs; what is in the buffer can still be read. */
void capture_kernel_detach(struct capture_kernel *kernel);

/* Hands all records that are there, but at most `most`, to the handler; how many. */
int capture_kernel_read(struct capture_kernel *kernel, int most);

/* Records that found no room, by CAPTURE_LOST_…; and events that came while the same program was running. */
void capture_kernel_lost(struct capture_kernel *kernel, int64_t lost[CAPTURE_LOST_KINDS], int64_t *recursion);

/* Detaches and frees; NULL is fine. */
void capture_kernel_free(struct capture_kernel *kernel);

#endif
