/* GPUs through NVIDIA's management library, loaded if it exists. Types and numbers are those of nvml.h,
 * which keeps them from version to version. */
#include "trace/sample_parts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_GPUS      64
#define MAX_PROCESSES 256

struct nvml_utilization {
    unsigned gpu, memory; /* % */
};

struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};

struct nvml_process {
    unsigned pid;
    unsigned long long time; /* us */
    unsigned sm, memory, encoder, decoder;
};

enum { PCIE_TX, PCIE_RX }; /* nvmlPcieUtilCounter_t */

struct sample_gpu {
    void *library;
    int (*shutdown)(void);
    int (*get_utilization)(void *, struct nvml_utilization *);
    int (*get_memory)(void *, struct nvml_memory *);
    int (*get_pcie)(void *, int, unsigned *); /* KB/s */
    int (*get_power)(void *, unsigned *);     /* mW */
    int (*get_processes)(void *, struct nvml_process *, unsigned *, unsigned long long);
    unsigned count;
    unsigned turn; /* whose PCIe is measured next */
    void *devices[MAX_GPUS];
    unsigned long long seen[MAX_GPUS]; /* the latest sample of a process, us */
};

static void *symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

/* Converts a pointer to an object to one to a function, as POSIX does for dlsym. */
#define FIND(field, name) (*(void **)&(field) = symbol(gpu->library, name))

static bool open_devices(struct sample_gpu *gpu)
{
    int (*get_count)(unsigned *) = NULL, (*get_device)(unsigned, void **) = NULL;
    FIND(get_count, "nvmlDeviceGetCount_v2");
    FIND(get_device, "nvmlDeviceGetHandleByIndex_v2");
    FIND(gpu->get_utilization, "nvmlDeviceGetUtilizationRates");
    FIND(gpu->get_memory, "nvmlDeviceGetMemoryInfo");
    FIND(gpu->get_pcie, "nvmlDeviceGetPcieThroughput");
    FIND(gpu->get_power, "nvmlDeviceGetPowerUsage");
    FIND(gpu->get_processes, "nvmlDeviceGetProcessUtilization");
    if (!get_count || !get_device || get_count(&gpu->count) != 0)
        return false;
    if (gpu->count > MAX_GPUS)
        gpu->count = MAX_GPUS;
    for (unsigned i = 0; i < gpu->count; i++)
        if (get_device(i, &gpu->devices[i]) != 0)
            return false;
    return gpu->count > 0;
}

struct sample_gpu *sample_gpu_new(const char **why)
{
    int (*begin)(void) = NULL;
    struct sample_gpu *gpu = calloc(1, sizeof *gpu);
    *why = "out of memory";
    if (!gpu)
        return NULL;
    gpu->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    *why = "no libnvidia-ml.so.1 (the driver's library)";
    if (gpu->library) {
        FIND(begin, "nvmlInit_v2");
        FIND(gpu->shutdown, "nvmlShutdown");
        *why = "the driver does not answer (nvmlInit)";
        if (begin && gpu->shutdown && begin() == 0) {
            if (open_devices(gpu))
                return gpu;
            *why = "the driver has no GPU";
            gpu->shutdown();
        }
        dlclose(gpu->library);
    }
    free(gpu);
    return NULL;
}

int sample_gpu_count(const struct sample_gpu *gpu)
{
    return (int)gpu->count;
}

static void take_processes(struct sample_gpu *gpu, unsigned i, struct sampler *sampler)
{
    struct nvml_process list[MAX_PROCESSES];
    unsigned count = MAX_PROCESSES;
    if (!gpu->get_processes || gpu->get_processes(gpu->devices[i], list, &count, gpu->seen[i]) != 0)
        return; /* also when there is nothing new */
    for (unsigned k = 0; k < count && k < MAX_PROCESSES; k++) {
        char source[48];
        snprintf(source, sizeof source, "%u:%u", i, list[k].pid);
        if (list[k].time > gpu->seen[i])
            gpu->seen[i] = list[k].time;
        sample_add(sampler, "gpu.process.sm", source, list[k].sm);
        sample_add(sampler, "gpu.process.mem", source, list[k].memory);
    }
}

/* Samples PCIe: nvmlDeviceGetPcieThroughput measures for 20 ms, so each sample takes one direction of one
 * GPU. */
static void take_pcie(struct sample_gpu *gpu, struct sampler *sampler)
{
    unsigned i = gpu->turn / 2, value;
    int direction = gpu->turn % 2 ? PCIE_RX : PCIE_TX;
    char source[16];
    gpu->turn = gpu->turn + 1 < 2 * gpu->count ? gpu->turn + 1 : 0;
    if (!gpu->get_pcie || gpu->get_pcie(gpu->devices[i], direction, &value) != 0)
        return;
    snprintf(source, sizeof source, "%u", i);
    sample_add(sampler, direction == PCIE_RX ? "gpu.rxpci" : "gpu.txpci", source, value / 1e3);
}

void sample_gpu_take(struct sample_gpu *gpu, struct sampler *sampler)
{
    for (unsigned i = 0; i < gpu->count; i++) {
        struct nvml_utilization utilization;
        struct nvml_memory memory;
        unsigned value;
        char source[16];
        void *device = gpu->devices[i];
        snprintf(source, sizeof source, "%u", i);
        if (gpu->get_utilization && gpu->get_utilization(device, &utilization) == 0) {
            sample_add(sampler, "gpu.sm", source, utilization.gpu);
            sample_add(sampler, "gpu.mem", source, utilization.memory);
        }
        if (gpu->get_memory && gpu->get_memory(device, &memory) == 0)
            sample_add(sampler, "gpu.fb", source, (double)memory.used / 1048576.0);
        if (gpu->get_power && gpu->get_power(device, &value) == 0)
            sample_add(sampler, "gpu.power", source, value / 1e3);
        take_processes(gpu, i, sampler);
    }
    take_pcie(gpu, sampler);
}

void sample_gpu_free(struct sample_gpu *gpu)
{
    if (!gpu)
        return;
    gpu->shutdown();
    dlclose(gpu->library);
    free(gpu);
}
