#include "cost/kernel.h"

#include "cost/gemm_near.h"

#include <math.h>
#include <string.h>

const char *kernel_bound_name(enum kernel_bound bound)
{
    static const char *const names[] = {"launch", "matrix units", "lanes", "memory"};
    return names[bound];
}

/* Rate of the backward kernel, of that of the forward one (Shah et al. 2024, arXiv:2407.08608, figures 5 and 6). */
#define FLASH3_BACKWARD 0.8

/* Attention is computed in 16 bits, where all else is narrower, too. */
static enum cost_type attention_type(enum cost_type type)
{
    return cost_type_bytes(type) < 2.0 ? COST_BF16 : type;
}

/* flop/s of the matrix units, or of the lanes where the device has none. */
static double peak_of(const struct cost_device *device, enum cost_type type)
{
    double peak = device->peak[cost_device_type(device, type)];
    return peak > 0.0 ? peak : 2.0 * device->units * device->lanes * device->clock;
}

static struct kernel_time gemm_kernel(const struct kernel *kernel, const struct cost_device *device,
                                      const struct calibration *calibration)
{
    struct gemm_time gemm = kernel->near ? gemm_time_near(device, kernel->type, kernel->size, NULL)
                                         : gemm_time(device, kernel->type, kernel->size);
    bool narrow = cost_type_bytes(cost_device_type(device, kernel->type)) <= 1.0;
    /* 16-byte loads need sizes that are multiples of 8 numbers; without them matrix units starve */
    bool odd = kernel->size.n % 8 != 0 || kernel->size.k % 8 != 0;
    double rate = kernel->inner ? (odd ? calibration->bmm_odd : calibration->bmm)
                  : narrow      ? calibration->gemm_narrow
                                : calibration->gemm;
    if (kernel->rate > 0.0)
        rate *= kernel->rate;
    double bytes = kernel->bytes;
    if (bytes <= 0.0) {
        double m = (double)kernel->size.m, n = (double)kernel->size.n, k = (double)kernel->size.k;
        double out = narrow ? 2.0 : cost_type_bytes(kernel->type);
        bytes = (double)kernel->size.batch * (cost_type_bytes(kernel->type) * (m * k + k * n) + out * m * n);
    }
    /* the launch is not stretched: only the work is */
    double work = fmax(gemm.seconds - device->launch, 0.0) / rate;
    struct kernel_time time = {
        .seconds = device->launch + work,
        .flops = product_flops(&kernel->size),
        .bytes = bytes,
    };
    time.bound = work < device->launch                       ? BOUND_LAUNCH
                 : gemm.memory_seconds > gemm.matrix_seconds ? BOUND_MEMORY
                                                             : BOUND_MATRIX;
    return time;
}

/* FlashAttention-3 and similar kernels need asynchronous matrix units; other devices run FlashAttention-2. */
static bool has_flash3(const struct cost_device *device)
{
    return strcmp(device->generation, "hopper") == 0 || strcmp(device->generation, "blackwell") == 0;
}

/* On B300 the units of the softmax's powers are twice as fast, on which attention waits (NVIDIA, "Inside NVIDIA
 * Blackwell Ultra", 2025). */
#define FLASH3_ULTRA 1.5

/* A block of threads takes so many rows of one head, of queries forward and of keys backward, and on Blackwell two such
 * tiles forward. */
#define FLASH3_ROWS 128.0

/* Seconds of the longest tile of causal attention, against all keys. A kernel takes no less, however few its heads, and
 * about half as long again beyond its work: units wait for the last tiles. So does SimuMax's table of attention alone
 * on B200: 4 to 128 heads. */
static double longest_tile(const struct kernel *kernel, const struct cost_device *device, double unit_rate)
{
    bool pairs = !kernel->backward && strcmp(device->generation, "blackwell") == 0;
    double rows = fmin(FLASH3_ROWS * (pairs ? 2.0 : 1.0), (double)kernel->size.m);
    return (kernel->backward ? 10.0 : 4.0) * rows * (double)kernel->size.n * (double)kernel->size.k /
           unit_rate;
}

/* Products of queries and keys, and of scores and values: two forward, five backward (the scores again, and the
 * gradients of values, scores, queries, keys; Dao 2023, arXiv:2307.08691, section 2.3). */
static struct kernel_time attention_kernel(const struct kernel *kernel, const struct cost_device *device,
                                           const struct calibration *calibration)
{
    double batch = (double)kernel->size.batch, m = (double)kernel->size.m, n = (double)kernel->size.n,
           k = (double)kernel->size.k;
    bool newest = kernel->attention == ATTENTION_FLASH3 && has_flash3(device);
    double share = newest             ? calibration->flash3 * (kernel->backward ? FLASH3_BACKWARD : 1.0)
                   : kernel->backward ? calibration->flash2_backward
                                      : calibration->flash2_forward;
    if (newest && strcmp(device->capability, "sm_103") == 0)
        share *= FLASH3_ULTRA;
    if (kernel->size.k < 128)
        share *= calibration->narrow_head;
    if (kernel->rate > 0.0)
        share *= kernel->rate;
    enum cost_type type = attention_type(kernel->type);
    double flops = (kernel->backward ? 10.0 : 4.0) * batch * m * n * k * (kernel->causal ? 0.5 : 1.0);
    double bytes = (kernel->backward ? 2.0 : 1.0) * cost_type_bytes(type) * batch * 2.0 * (m + n) * k;
    double matrix = flops / (peak_of(device, type) * share) * (1.0 + calibration->flash_ramp / n);
    if (newest) {
        double longest = longest_tile(kernel, device, peak_of(device, type) * share / device->units);
        matrix = fmax(matrix + 0.5 * longest, longest);
    }
    double memory = bytes / (device->bandwidth * device->stream_efficiency);
    return (struct kernel_time){
        .seconds = fmax(matrix, memory) + device->launch,
        .flops = flops,
        .bytes = bytes,
        .bound = memory > matrix ? BOUND_MEMORY : BOUND_MATRIX,
    };
}

static struct kernel_time stream_kernel(const struct kernel *kernel, const struct cost_device *device,
                                        const struct calibration *calibration)
{
    double share = kernel->rate > 0.0                ? kernel->rate
                   : kernel->kind == KERNEL_QUANTIZE ? calibration->quantize
                                                     : calibration->stream;
    double lanes = kernel->lane_flops / (2.0 * device->units * device->lanes * device->clock);
    /* training shares the bandwidth, not the start of a kernel */
    double memory =
        (kernel->bytes / share + device->stream_half) / (device->bandwidth * device->stream_efficiency);
    struct kernel_time time = {
        .seconds = fmax(lanes, memory) + (1.0 + kernel->steps) * device->launch,
        .flops = kernel->lane_flops,
        .bytes = kernel->bytes,
        .bound = lanes > memory ? BOUND_LANES : BOUND_MEMORY,
    };
    if (fmax(lanes, memory) < (1.0 + kernel->steps) * device->launch)
        time.bound = BOUND_LAUNCH;
    return time;
}

struct kernel_time kernel_time(const struct kernel *kernel, const struct cost_device *device,
                               const struct calibration *calibration)
{
    struct kernel_time time = kernel->kind == KERNEL_GEMM ? gemm_kernel(kernel, device, calibration)
                              : kernel->kind == KERNEL_ATTENTION
                                  ? attention_kernel(kernel, device, calibration)
                                  : stream_kernel(kernel, device, calibration);
    time.seconds *= kernel->repeats;
    time.flops *= kernel->repeats;
    time.bytes *= kernel->repeats;
    return time;
}
