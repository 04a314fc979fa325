/* Built where libbpf, clang or bpftool is missing. */
#include "trace/capture/kernel.h"

#include <stdlib.h>

#define UNUSED __attribute__((unused))

const char *capture_kernel_version(void)
{
    return "";
}

struct capture_kernel *capture_kernel_new(UNUSED const struct capture_kernel_options *options,
                                          UNUSED capture_handler *handler, UNUSED void *context,
                                          UNUSED struct text *missing, struct error *err)
{
    return error_null(
        err, ERROR_FAILED,
        "this program was built without eBPF (it needs libbpf, clang and bpftool); with --no-bpf it "
        "records processors, processes, disks, network and GPUs");
}

void capture_kernel_free(UNUSED struct capture_kernel *kernel)
{
}

/* The others need a kernel that was made: they are never called, but the linker looks for them. */
static UNUSED void never(void)
{
    abort();
}

#ifndef __clang__
#pragma GCC diagnostic ignored "-Wattribute-alias"
#endif
#define NEVER_CALLED(name) __typeof__(name)(name) __attribute__((alias("never")))

NEVER_CALLED(capture_kernel_add);
NEVER_CALLED(capture_kernel_attach);
NEVER_CALLED(capture_kernel_detach);
NEVER_CALLED(capture_kernel_read);
NEVER_CALLED(capture_kernel_lost);
