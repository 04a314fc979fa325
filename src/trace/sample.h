/* Samples of the machine from /proc and of its GPUs: each is the mean or the rate since the previous sample.
 *
 *     cpu.usr cpu.sys cpu.iowait cpu.idle   %, of "all"; cpu.busy of each core "0", "1", …
 *     process.cpu process.rss               % of one core, bytes; of a pid
 *     process.read process.write            bytes/s through system calls
 *     process.disk_read process.disk_write  bytes/s that reached storage
 *     disk.r/s disk.w/s disk.rMB/s disk.wMB/s disk.util   of a disk; MB as in iostat -m, 2^20 bytes; util in %
 *     net.rMB/s net.wMB/s                   of an interface, the same MB
 *     mem.available mem.cached mem.dirty mem.writeback    bytes, of "all"
 *     gpu.sm gpu.mem gpu.fb gpu.power gpu.rxpci gpu.txpci of a GPU: %, %, MiB, W, MB/s, MB/s as in nvidia-smi */
#ifndef REHEARSE_TRACE_SAMPLE_H
#define REHEARSE_TRACE_SAMPLE_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sampler;

struct sampler *sampler_new(struct trace_writer *writer, struct error *err);
void sampler_free(struct sampler *sampler);

/* Takes a sample; the first only reads the counters. `pids` are the processes sampled individually. */
bool sampler_take(struct sampler *sampler, int64_t utc_ns, const int *pids, size_t count, struct error *err);

/* Returns the number of sampled GPUs; if 0, *why is the reason. */
int sampler_gpus(const struct sampler *sampler, const char **why);

/* Gets `root` and all its descendants from /proc; the caller frees *pids. */
size_t sample_descendants(int root, int **pids);

/* Gets the processes of a control group and of those below it; the caller frees *pids. */
size_t sample_cgroup(const char *folder, int **pids);

#endif
