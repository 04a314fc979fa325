/* XLA's own estimate of a kernel's time (GpuPerformanceModel: openxla/xla,
 * xla/service/gpu/model/gpu_performance_model_base.cc, 2026), for comparison with ours.
 *
 * It assumes scalar lanes alone, no tensor cores, and the datasheet's bandwidth. */
#ifndef REHEARSE_COST_COUNT_XLA_TIME_H
#define REHEARSE_COST_COUNT_XLA_TIME_H

#include "cost/count/count.h"
#include "devices/device.h"

struct xla_device {
    double sms, lanes; /* multiprocessors, and float units per multiprocessor */
    double threads;    /* maximum threads per multiprocessor */
    double clock_hz;
    double bytes_per_second; /* of DRAM */
    double l2_bytes;
};

struct xla_launch {
    double blocks, threads; /* threads: per block */
};

struct xla_time {
    double compute, read, write;
    double seconds; /* of the kernel, without its launch */
};

#define XLA_LAUNCH_SECONDS 1e-6

struct xla_launch xla_launch_of(const struct hlo_instruction *in, const struct xla_device *device);

/* Returns the time of an instruction counted by xla-gpu rules. */
struct xla_time xla_time_of(const struct hlo_instruction *in, const struct instruction_count *count,
                            const struct xla_device *device);

/* Returns XLA's view of one of our devices. */
struct xla_device xla_device_of(const struct cost_device *device);

/* Returns the seconds of a module counted by xla-gpu rules: all its kernels, one after another, with
 * launches. Loops run once, as in XLA. */
double xla_module_seconds(const struct module_count *count, const struct hlo_module *module,
                          const struct xla_device *device);

#endif
