#include "core/vector.h"
#include "trace/sample_parts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void sample_add(struct sampler *sampler, const char *kind, const char *source, double value)
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
        error_memory(err);
        return NULL;
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
