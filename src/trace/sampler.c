#include "core/vector.h"
#include "trace/sample_parts.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void sample_add(struct sampler *sampler, const char *kind, const char *source, double value);

/* Samples of processes, and lists of processes. */

/* Reads the fields of /proc/PID/stat after the last ')', since the name before may hold anything. */
static bool read_stat(const char *text, int *parent, uint64_t *ticks, uint64_t *pages)
{
    const char *at = strrchr(text, ')');
    uint64_t user, system;
    if (!at || sscanf(at + 1,
                      " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
                      " %*d %*d %*d %*d %*d %*d %*u %*u %" SCNu64,
                      parent, &user, &system, pages) != 4)
        return false;
    *ticks = user + system;
    return true;
}

static uint64_t value_of(const char *text, const char *key)
{
    const char *at = text ? strstr(text, key) : NULL;
    int64_t value;
    return at && text_whole(at + strlen(key), " \t\n", &value) ? (uint64_t)value : 0;
}

static void take_process(struct sampler *sampler, int pid)
{
    char name[32], path[64];
    uint64_t counters[SAMPLE_COUNTERS] = {0}, pages;
    double grown[SAMPLE_COUNTERS] = {0};
    int parent;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const char *text = sample_read(sampler, path);
    if (!text || !read_stat(text, &parent, &counters[0], &pages))
        return; /* it has ended meanwhile */
    snprintf(path, sizeof path, "/proc/%d/io", pid);
    text = sample_read(sampler, path);
    counters[1] = value_of(text, "rchar: ");
    counters[2] = value_of(text, "wchar: ");
    counters[3] = value_of(text, "\nread_bytes: ");
    counters[4] = value_of(text, "\nwrite_bytes: ");
    snprintf(name, sizeof name, "%d", pid);
    double seconds = sample_difference(sampler, &sampler->processes, name, counters, grown);
    if (seconds == 0)
        return;
    sample_add(sampler, "process.cpu", name, 100 * grown[0] / (double)sysconf(_SC_CLK_TCK) / seconds);
    sample_add(sampler, "process.rss", name, (double)pages * (double)sysconf(_SC_PAGESIZE));
    sample_add(sampler, "process.read", name, grown[1] / seconds);
    sample_add(sampler, "process.write", name, grown[2] / seconds);
    sample_add(sampler, "process.disk_read", name, grown[3] / seconds);
    sample_add(sampler, "process.disk_write", name, grown[4] / seconds);
}

static void sample_processes(struct sampler *sampler, const int *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        take_process(sampler, pids[i]);
    sample_forget(&sampler->processes);
}

/* ---- which processes there are ---- */

struct family {
    int *pids;
    size_t count, capacity;
};

static bool family_add(struct family *family, int pid)
{
    return VECTOR_ADD(family->pids, family->count, family->capacity, pid);
}

static bool parent_of(int pid, int *parent)
{
    char path[64], text[1024];
    uint64_t ticks, pages;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return read_stat(text, parent, &ticks, &pages);
}

static bool is_in(const struct family *family, int pid)
{
    for (size_t i = 0; i < family->count; i++)
        if (family->pids[i] == pid)
            return true;
    return false;
}

size_t sample_descendants(int root, int **pids)
{
    struct process {
        int pid, parent;
    } *all = NULL;
    size_t count = 0, capacity = 0;
    struct family chosen = {0};
    DIR *folder = opendir("/proc");
    bool room = folder && family_add(&chosen, root);
    for (struct dirent *entry = room ? readdir(folder) : NULL; room && entry; entry = readdir(folder)) {
        int64_t pid;
        struct process process = {.pid = text_whole(entry->d_name, "", &pid) ? (int)pid : 0};
        if (process.pid > 0 && parent_of(process.pid, &process.parent))
            room = VECTOR_ADD(all, count, capacity, process);
    }
    for (size_t before = 0; room && before != chosen.count;) {
        before = chosen.count;
        for (size_t i = 0; room && i < count; i++)
            if (!is_in(&chosen, all[i].pid) && is_in(&chosen, all[i].parent))
                room = family_add(&chosen, all[i].pid);
    }
    if (folder)
        closedir(folder);
    free(all);
    *pids = chosen.pids;
    return chosen.count;
}

static void add_cgroup(struct family *family, const char *folder, int depth)
{
    char path[4096];
    int pid;
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%d", &pid) == 1 && family_add(family, pid)) {}
    if (file)
        fclose(file);
    DIR *list = depth < 16 ? opendir(folder) : NULL;
    for (struct dirent *entry = list ? readdir(list) : NULL; entry; entry = readdir(list)) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (length > 0 && (size_t)length < sizeof path)
            add_cgroup(family, path, depth + 1);
    }
    if (list)
        closedir(list);
}

size_t sample_cgroup(const char *folder, int **pids)
{
    struct family family = {0};
    add_cgroup(&family, folder, 0);
    *pids = family.pids;
    return family.count;
}

/* GPUs through NVIDIA's management library, loaded if it exists. Types and numbers are those of nvml.h,
 * which keeps them from version to version. */

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

/* NULL without GPUs; *why is then the reason. */
static struct sample_gpu *sample_gpu_new(const char **why)
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

static int sample_gpu_count(const struct sample_gpu *gpu)
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

static void sample_gpu_take(struct sample_gpu *gpu, struct sampler *sampler)
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

static void sample_gpu_free(struct sample_gpu *gpu)
{
    if (!gpu)
        return;
    gpu->shutdown();
    dlclose(gpu->library);
    free(gpu);
}

#define MIB 1048576.0

char *sample_read(struct sampler *sampler, const char *path)
{
    size_t length = 0;
    ssize_t got = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    while (length < SAMPLE_BUFFER - 1 &&
           (got = read(file, sampler->buffer + length, SAMPLE_BUFFER - 1 - length)) > 0)
        length += (size_t)got;
    close(file);
    sampler->buffer[length] = '\0';
    return got < 0 ? NULL : sampler->buffer;
}

static struct sample_counters *counters_of(struct sample_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    if (!VECTOR_ROOM(list->items, list->capacity, list->count + 1))
        return NULL;
    struct sample_counters *counters = &list->items[list->count++];
    *counters = (struct sample_counters){.time_ns = 0};
    snprintf(counters->name, sizeof counters->name, "%s", name);
    return counters;
}

double sample_difference(struct sampler *sampler, struct sample_list *list, const char *name,
                         const uint64_t *values, double *grown)
{
    struct sample_counters *counters = counters_of(list, name);
    if (!counters)
        return 0;
    double seconds = counters->time_ns ? (double)(sampler->now - counters->time_ns) / 1e9 : 0;
    for (int i = 0; i < SAMPLE_COUNTERS; i++) /* a counter that was reset has not grown */
        grown[i] = values[i] > counters->values[i] ? (double)(values[i] - counters->values[i]) : 0;
    memcpy(counters->values, values, sizeof counters->values);
    counters->time_ns = sampler->now;
    counters->seen = true;
    return seconds > 0 ? seconds : 0;
}

void sample_forget(struct sample_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i].seen)
            continue;
        list->items[kept] = list->items[i];
        list->items[kept++].seen = false;
    }
    list->count = kept;
}

static void sample_add(struct sampler *sampler, const char *kind, const char *source, double value)
{
    if (sampler->failed)
        return;
    const struct trace_sample sample = {sampler->now, trace_series(sampler->writer, kind, source), value};
    sampler->failed = !trace_add_sample(sampler->writer, &sample, &sampler->err);
}

/* ---- files of /proc ---- */

enum { CPU_USER, CPU_NICE, CPU_SYSTEM, CPU_IDLE, CPU_IOWAIT, CPU_IRQ, CPU_SOFTIRQ, CPU_STEAL, CPU_COUNTERS };

static void add_cpu(struct sampler *sampler, const char *name, const uint64_t *ticks)
{
    double grown[SAMPLE_COUNTERS] = {0}, sum = 0;
    if (sample_difference(sampler, &sampler->cpus, name, ticks, grown) == 0)
        return;
    for (int i = 0; i < CPU_COUNTERS; i++)
        sum += grown[i];
    if (sum == 0)
        return;
    double idle = grown[CPU_IDLE] + grown[CPU_IOWAIT];
    if (name[3] != '\0') {
        sample_add(sampler, "cpu.busy", name + 3, 100 * (sum - idle) / sum);
        return;
    }
    sample_add(sampler, "cpu.usr", "all", 100 * (grown[CPU_USER] + grown[CPU_NICE]) / sum);
    sample_add(sampler, "cpu.sys", "all",
               100 * (grown[CPU_SYSTEM] + grown[CPU_IRQ] + grown[CPU_SOFTIRQ]) / sum);
    sample_add(sampler, "cpu.iowait", "all", 100 * grown[CPU_IOWAIT] / sum);
    sample_add(sampler, "cpu.idle", "all", 100 * grown[CPU_IDLE] / sum);
}

static void take_cpus(struct sampler *sampler)
{
    char *save = NULL, *text = sample_read(sampler, "/proc/stat");
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && strncmp(line, "cpu", 3) == 0;
         line = strtok_r(NULL, "\n", &save)) {
        uint64_t t[SAMPLE_COUNTERS] = {0};
        char name[32];
        if (sscanf(line,
                   "%31s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                   " %" SCNu64,
                   name, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) == 9)
            add_cpu(sampler, name, t);
    }
}

/* Returns whether it is a disk: /proc/diskstats has partitions too, but only disks have a folder in
 * /sys/block. */
static bool is_disk(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/block/%.31s", name);
    return access(path, F_OK) == 0;
}

static void take_disks(struct sampler *sampler)
{
    char *save = NULL, *text = sample_read(sampler, "/proc/diskstats");
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        uint64_t c[SAMPLE_COUNTERS] = {0}; /* reads, sectors read, writes, sectors written, ms busy */
        double grown[SAMPLE_COUNTERS] = {0};
        char name[32];
        if (sscanf(line,
                   "%*u %*u %31s %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64
                   " %*u %*u %" SCNu64,
                   name, &c[0], &c[1], &c[2], &c[3], &c[4]) != 6 ||
            c[0] + c[2] == 0 || !is_disk(name))
            continue;
        double seconds = sample_difference(sampler, &sampler->disks, name, c, grown);
        if (seconds == 0)
            continue;
        sample_add(sampler, "disk.r/s", name, grown[0] / seconds);
        sample_add(sampler, "disk.rMB/s", name, grown[1] * 512 / MIB / seconds);
        sample_add(sampler, "disk.w/s", name, grown[2] / seconds);
        sample_add(sampler, "disk.wMB/s", name, grown[3] * 512 / MIB / seconds);
        sample_add(sampler, "disk.util", name, grown[4] / 10 / seconds > 100 ? 100 : grown[4] / 10 / seconds);
    }
}

static void take_networks(struct sampler *sampler)
{
    char *save = NULL, *text = sample_read(sampler, "/proc/net/dev");
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        uint64_t c[SAMPLE_COUNTERS] = {0};
        double grown[SAMPLE_COUNTERS] = {0};
        char name[32];
        if (sscanf(line, " %31[^:]: %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, name, &c[0], &c[1]) !=
            3)
            continue;
        double seconds = sample_difference(sampler, &sampler->networks, name, c, grown);
        if (seconds == 0)
            continue;
        sample_add(sampler, "net.rMB/s", name, grown[0] / MIB / seconds);
        sample_add(sampler, "net.wMB/s", name, grown[1] / MIB / seconds);
    }
}

static void take_memory(struct sampler *sampler)
{
    static const struct {
        const char *key, *kind;
    } wanted[] = {
        {"\nMemAvailable:", "mem.available"},
        {"\nCached:", "mem.cached"},
        {"\nDirty:", "mem.dirty"},
        {"\nWriteback:", "mem.writeback"},
    };
    const char *text = sample_read(sampler, "/proc/meminfo");
    for (size_t i = 0; text && i < sizeof wanted / sizeof *wanted; i++) {
        const char *at = strstr(text, wanted[i].key);
        int64_t kilobytes;
        if (at && text_whole(at + strlen(wanted[i].key), " \n", &kilobytes))
            sample_add(sampler, wanted[i].kind, "all", 1024.0 * (double)kilobytes);
    }
}

/* ---- life ---- */

struct sampler *sampler_new(struct trace_writer *writer, struct error *err)
{
    struct sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler)
        sampler->buffer = malloc(SAMPLE_BUFFER);
    if (!sampler || !sampler->buffer) {
        free(sampler);
        return error_memory_null(err);
    }
    sampler->writer = writer;
    sampler->gpu = sample_gpu_new(&sampler->no_gpu);
    return sampler;
}

void sampler_free(struct sampler *sampler)
{
    if (!sampler)
        return;
    sample_gpu_free(sampler->gpu);
    free(sampler->cpus.items);
    free(sampler->disks.items);
    free(sampler->networks.items);
    free(sampler->processes.items);
    free(sampler->buffer);
    free(sampler);
}

bool sampler_take(struct sampler *sampler, int64_t utc_ns, const int *pids, size_t count, struct error *err)
{
    sampler->now = utc_ns;
    take_cpus(sampler);
    sample_processes(sampler, pids, count);
    take_disks(sampler);
    take_networks(sampler);
    take_memory(sampler);
    if (sampler->gpu)
        sample_gpu_take(sampler->gpu, sampler);
    if (sampler->failed)
        *err = sampler->err;
    return !sampler->failed;
}

int sampler_gpus(const struct sampler *sampler, const char **why)
{
    *why = sampler->no_gpu;
    return sampler->gpu ? sample_gpu_count(sampler->gpu) : 0;
}
