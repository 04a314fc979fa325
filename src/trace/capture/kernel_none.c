/* Built where libbpf, clang or bpftool is not. */
#include "trace/capture/kernel.h"

bool capture_kernel_available(void)
{
    return false;
}

const char *capture_kernel_version(void)
{
    return "";
}

struct capture_kernel *capture_kernel_new(const struct capture_kernel_options *options,
                                          capture_handler *handler, void *context, struct text *missing,
                                          struct error *err)
{
    (void)options;
    (void)handler;
    (void)context;
    (void)missing;
    error_set(err, ERROR_FAILED,
              "this program was built without eBPF (it needs libbpf, clang and bpftool); with --no-bpf it "
              "records processors, processes, disks, network and GPUs");
    return NULL;
}

bool capture_kernel_add(struct capture_kernel *kernel, int pid, struct error *err)
{
    (void)kernel;
    return error_set(err, ERROR_FAILED, "process %d: built without eBPF", pid);
}

bool capture_kernel_attach(struct capture_kernel *kernel, struct error *err)
{
    (void)kernel;
    return error_set(err, ERROR_FAILED, "built without eBPF");
}

void capture_kernel_detach(struct capture_kernel *kernel)
{
    (void)kernel;
}

int capture_kernel_read(struct capture_kernel *kernel, int most)
{
    (void)kernel;
    (void)most;
    return 0;
}

void capture_kernel_lost(struct capture_kernel *kernel, int64_t lost[CAPTURE_LOST_KINDS], int64_t *recursion)
{
    (void)kernel;
    for (int i = 0; i < CAPTURE_LOST_KINDS; i++)
        lost[i] = 0;
    *recursion = 0;
}

void capture_kernel_free(struct capture_kernel *kernel)
{
    (void)kernel;
}
