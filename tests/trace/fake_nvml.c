/* The functions of NVIDIA's management library (nvml.h) that the sampler calls, with two GPUs of known values: the second
 * one does not tell how busy it is. Environment: FAKE_NVML_INIT is what nvmlInit gives, FAKE_NVML_COUNT the number of GPUs,
 * FAKE_NVML_SHUTDOWN a file that nvmlShutdown makes. WITHOUT_PROCESSES: as in old drivers. */
#include <stdio.h>
#include <stdlib.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6 };

struct utilization {
    unsigned gpu, memory;
};

struct memory {
    unsigned long long total, free, used;
};

struct process {
    unsigned pid;
    unsigned long long time;
    unsigned sm, memory, encoder, decoder;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *value);
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
int nvmlDeviceGetProcessUtilization(void *device, struct process *list, unsigned *count,
                                    unsigned long long since);

static int devices[2];

static int number(const char *name, int otherwise)
{
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}

int nvmlInit_v2(void)
{
    return number("FAKE_NVML_INIT", SUCCESS);
}

int nvmlShutdown(void)
{
    const char *path = getenv("FAKE_NVML_SHUTDOWN");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file)
        fclose(file);
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = (unsigned)number("FAKE_NVML_COUNT", 2);
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &devices[index];
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates)
{
    if (device == &devices[1])
        return NOT_SUPPORTED;
    *rates = (struct utilization){37, 12};
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
    *memory = (struct memory){80ULL << 30, 0, device == &devices[0] ? 3ULL << 29 : 5ULL << 30};
    memory->free = memory->total - memory->used;
    return SUCCESS;
}

/* KB/s; 0 is what is sent, 1 what is received. */
int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *value)
{
    *value = (device == &devices[0] ? 1000000u : 3000000u) + (counter == 0 ? 0 : 500000u);
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = device == &devices[0] ? 215500 : 61250;
    return SUCCESS;
}

#ifndef WITHOUT_PROCESSES
/* Two samples of one process and one of another, which are told once. */
int nvmlDeviceGetProcessUtilization(void *device, struct process *list, unsigned *count,
                                    unsigned long long since)
{
    static const struct process all[] = {
        {4711, 1000, 10, 1, 0, 0}, {4712, 1500, 7, 2, 0, 0}, {4711, 2000, 30, 5, 0, 0}};
    unsigned given = 0;
    for (unsigned i = 0; device == &devices[0] && i < 3 && given < *count; i++)
        if (all[i].time > since)
            list[given++] = all[i];
    *count = given;
    return given > 0 ? SUCCESS : NOT_FOUND;
}
#endif
