/* How long XLA itself thinks that a kernel takes (GpuPerformanceModel: openxla/xla,
 * xla/service/gpu/model/gpu_performance_model_base.cc, 2026), to set beside our own times.
 *
 * It reckons with scalar lanes alone, no tensor cores, and takes bandwidth as the datasheet has it. */
#ifndef REHEARSE_COST_COUNT_XLA_TIME_H
#define REHEARSE_COST_COUNT_XLA_TIME_H

#include "cost/count/count.h"
#include "devices/device.h"

struct xla_device {
    double sms, lanes; /* multiprocessors, and float units of each */
    double threads;    /* that a multiprocessor holds */
    double clock_hz;
    double bytes_per_second; /* of DRAM */
    double l2_bytes;
};

struct xla_launch {
    double blocks, threads; /* threads of a block */
};

struct xla_time {
    double compute, read, write;
    double seconds; /* of the kernel, without its launch */
};

#define XLA_LAUNCH_SECONDS 1e-6

struct xla_launch xla_launch_of(const struct hlo_instruction *instruction, const struct xla_device *device);

/* Of an instruction counted by xla-gpu rules. */
struct xla_time xla_time_of(const struct hlo_instruction *instruction, const struct instruction_count *count,
                            const struct xla_device *device);

/* What XLA reckons with of a device of ours. */
struct xla_device xla_device_of(const struct cost_device *device);

/* Of a module counted by xla-gpu rules: all its instructions that are kernels, one after another, launches included.
 * Loops run once, as XLA has it. */
double xla_module_seconds(const struct module_count *count, const struct hlo_module *module,
                          const struct xla_device *device);

#endif
