#include "cost/kernel.h"

#include "cost/gemm_near.h"

#include <math.h>
#include <stdio.h>
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

static bool is_narrow(const struct kernel *kernel, const struct cost_device *device)
{
    return cost_type_bytes(cost_device_type(device, kernel->type)) <= 1.0;
}

/* 16-byte loads need sizes that are multiples of 8 numbers; without them matrix units starve. */
static bool is_odd(const struct kernel *kernel)
{
    return kernel->size.n % 8 != 0 || kernel->size.k % 8 != 0;
}

/* FlashAttention-3 and similar kernels need asynchronous matrix units; other devices run FlashAttention-2. */
bool kernel_is_newest(const struct cost_device *device)
{
    return strcmp(device->generation, "hopper") == 0 || strcmp(device->generation, "blackwell") == 0;
}

static bool is_flash3(const struct kernel *kernel, const struct cost_device *device)
{
    return kernel->attention == ATTENTION_FLASH3 && kernel_is_newest(device);
}

/* On B300 the units of the softmax's powers are twice as fast, on which attention waits (NVIDIA, "Inside NVIDIA
 * Blackwell Ultra", 2025). Runs agree; attention alone, as aiconfigurator measured it, is hardly faster than B200's. */
#define FLASH3_ULTRA 1.5

/* Training: its share of the speed that a kernel reaches alone. Nothing else in this file is a number of training.
 * Rates of attention are those of its kernels in either, but for B300. */
static double training_share(const struct kernel *kernel, const struct cost_device *device,
                             const struct calibration *training)
{
    if (kernel->alone)
        return 1.0;
    double rate = kernel->rate > 0.0 ? kernel->rate : 1.0;
    switch (kernel->kind) {
    case KERNEL_ATTENTION:
        return rate * (is_flash3(kernel, device) && measured_is_ultra(device) ? FLASH3_ULTRA : 1.0);
    case KERNEL_STREAM:
        return kernel->rate > 0.0 ? rate : training->stream;
    case KERNEL_QUANTIZE:
        return kernel->rate > 0.0 ? rate : training->quantize;
    default:
        if (kernel->inner)
            return rate * (is_odd(kernel) ? training->bmm_odd : training->bmm);
        return rate * (is_narrow(kernel, device) ? training->gemm_narrow : training->gemm);
    }
}

static double spread_on(const struct measured *table, const struct cost_device *device)
{
    bool is_own = device->name && strcmp(device->name, table->device->name) == 0;
    return table->spread * (is_own ? 1.0 : SPREAD_RELATIVE);
}

static double spread_of_gemm(const struct gemm_near *near, const struct kernel *kernel,
                             const struct cost_device *device)
{
    double narrow = is_narrow(kernel, device) ? 2.0 : 1.0;
    return near->table ? spread_on(near->table, device) * narrow : SPREAD_FORMULA;
}

static struct kernel_time gemm_kernel(const struct kernel *kernel, const struct cost_device *device,
                                      const struct calibration *calibration, double *spread)
{
    struct gemm_near near = {0};
    struct gemm_time gemm = kernel->near
                                ? gemm_time_near(device, kernel->type, kernel->size, kernel->groups, &near)
                                : gemm_time(device, kernel->type, kernel->size);
    double bytes = kernel->bytes;
    if (bytes <= 0.0) {
        double m = (double)kernel->size.m, n = (double)kernel->size.n, k = (double)kernel->size.k;
        double out = is_narrow(kernel, device) ? 2.0 : cost_type_bytes(kernel->type);
        bytes = (double)kernel->size.batch * (cost_type_bytes(kernel->type) * (m * k + k * n) + out * m * n);
    }
    *spread = spread_of_gemm(&near, kernel, device);
    /* the launch is not stretched: only the work is */
    double work = fmax(gemm.seconds - device->launch, 0.0) / training_share(kernel, device, calibration);
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

/* Queries and keys of latent attention (DeepSeek's MLA), whose values have 128 numbers. */
#define LATENT_HEAD 192

/* Seconds of forward attention of equal lengths by those measured of the kernel that the device has, and how sure they
 * are; 0: none was. */
static double measured_attention(const struct kernel *kernel, const struct cost_device *device,
                                 enum cost_type type, double *spread)
{
    const struct measured *table;
    const double sizes[] = {(double)kernel->size.batch, (double)kernel->size.m};
    char name[40];
    if (!kernel->near || kernel->backward || !kernel->causal || kernel->size.m != kernel->size.n ||
        cost_type_bytes(type) != 2.0 || (kernel_is_newest(device) && kernel->attention != ATTENTION_FLASH3))
        return 0.0;
    snprintf(name, sizeof name, "attention-%d", (int)fmin((double)kernel->size.k, 1e6));
    double seconds = measured_seconds(name, device, COST_BF16, NULL, sizes, &table);
    if (!table && kernel->size.k == LATENT_HEAD)
        seconds = measured_seconds("attention-mla", device, COST_BF16, NULL, sizes, &table);
    if (table)
        *spread = spread_on(table, device);
    return seconds;
}

/* Products of queries and keys, and of scores and values: two forward, five backward (the scores again, and the
 * gradients of values, scores, queries, keys; Dao 2023, arXiv:2307.08691, section 2.3). */
static struct kernel_time attention_kernel(const struct kernel *kernel, const struct cost_device *device,
                                           const struct calibration *calibration, double *spread)
{
    double batch = (double)kernel->size.batch, m = (double)kernel->size.m, n = (double)kernel->size.n,
           k = (double)kernel->size.k;
    bool newest = is_flash3(kernel, device);
    double share = newest             ? calibration->flash3 * (kernel->backward ? FLASH3_BACKWARD : 1.0)
                   : kernel->backward ? calibration->flash2_backward
                                      : calibration->flash2_forward;
    if (kernel->size.k < 128)
        share *= calibration->narrow_head;
    double narrow = cost_type_bytes(kernel->type) < 2.0 ? calibration->narrow_attention : 1.0;
    share *= training_share(kernel, device, calibration) * narrow;
    enum cost_type type = attention_type(kernel->type);
    double flops = (kernel->backward ? 10.0 : 4.0) * batch * m * n * k * (kernel->causal ? 0.5 : 1.0);
    double bytes = (kernel->backward ? 2.0 : 1.0) * cost_type_bytes(type) * batch * 2.0 * (m + n) * k;
    double matrix = flops / (peak_of(device, type) * share) * (1.0 + calibration->flash_ramp / n);
    if (newest) {
        double longest = longest_tile(kernel, device, peak_of(device, type) * share / device->units);
        matrix = fmax(matrix + 0.5 * longest, longest);
    }
    double memory = bytes / (device->bandwidth * device->stream_efficiency);
    struct kernel_time time = {
        .seconds = fmax(matrix, memory) + device->launch,
        .flops = flops,
        .bytes = bytes,
        .bound = memory > matrix ? BOUND_MEMORY : BOUND_MATRIX,
    };
    double seconds = measured_attention(kernel, device, type, spread);
    if (seconds > 0.0)
        time.seconds = seconds / (training_share(kernel, device, calibration) * narrow);
    return time;
}

/* What a unit reads and writes in its L2 cache at each clock, of kernels whose tensors stay there: quantisation that
 * NVIDIA aiconfigurator (Apache-2.0) measured on H100 and B200, 22 and 23 bytes. */
#define L2_PER_CLOCK 23.0

/* Shares of the L2 cache up to which all of a kernel's tensors stay in it, and from which none does; as in gemm.c. */
#define L2_KEPT 0.62
#define L2_LOST 0.84

/* Seconds of a kernel's bytes. Alone, what fits into L2 is still there. Training has used the cache for something else
 * before, and shares the bandwidth, but not the start of a kernel. */
static double stream_seconds(const struct kernel *kernel, const struct cost_device *device,
                             const struct calibration *calibration)
{
    double rate = device->bandwidth * device->stream_efficiency;
    if (!kernel->alone)
        return (kernel->bytes / training_share(kernel, device, calibration) + device->stream_half) / rate;
    double lost = (kernel->bytes / (double)device->l2 - L2_KEPT) / (L2_LOST - L2_KEPT);
    double in_l2 = fmax(L2_PER_CLOCK * device->units * device->clock, rate);
    lost = fmin(fmax(lost, 0.0), 1.0);
    return kernel->bytes * (lost / rate + (1.0 - lost) / in_l2);
}

/* A row that is reduced before it is written is read by a block of threads that waits for itself: units are busy for
 * so many clocks with each block, and with so many elements in one clock; the kernel starts later by a share of a
 * launch. Fitted to casts with a factor for each row that aiconfigurator measured on H100 and B200 with vLLM, which gives
 * each row a block. XLA's blocks of 256 threads (its reduction emitter, 2024 to 2026) take several rows of less than
 * 4,096 elements: a warp of 32 threads takes 512 of one, or rows of 1, 2, 4, 8 or 16 side by side. */
#define ROW_CLOCKS    205.0
#define ROW_PER_CLOCK 4.6
#define ROW_LAUNCH    0.35
#define ROW_WARP      512.0
#define ROW_WARPS     8.0

static double row_seconds(const struct kernel *kernel, const struct cost_device *device)
{
    bool beside = kernel->width <= 16.0 && fmod(16.0, kernel->width) == 0.0;
    double warps = beside ? kernel->width / 32.0 : ceil(kernel->width / ROW_WARP);
    double rows = fmax(floor(ROW_WARPS / warps), 1.0);
    double each = ROW_CLOCKS * ceil(ceil(kernel->rows / rows) / device->units);
    return (each + kernel->rows * kernel->width / (device->units * ROW_PER_CLOCK)) / device->clock;
}

static struct kernel_time stream_kernel(const struct kernel *kernel, const struct cost_device *device,
                                        const struct calibration *calibration)
{
    double lanes = kernel->lane_flops / (2.0 * device->units * device->lanes * device->clock);
    double memory = stream_seconds(kernel, device, calibration), launches = 1.0 + kernel->steps;
    if (kernel->rows > 0.0 && device->capability && strncmp(device->capability, "sm_", 3) == 0) {
        lanes = fmax(lanes, row_seconds(kernel, device));
        launches += ROW_LAUNCH;
    }
    struct kernel_time time = {
        .seconds = fmax(lanes, memory) + launches * device->launch,
        .flops = kernel->lane_flops,
        .bytes = kernel->bytes,
        .bound = lanes > memory ? BOUND_LANES : BOUND_MEMORY,
    };
    if (fmax(lanes, memory) < launches * device->launch)
        time.bound = BOUND_LAUNCH;
    return time;
}

struct kernel_time kernel_time(const struct kernel *kernel, const struct cost_device *device,
                               const struct calibration *calibration)
{
    double spread = kernel->kind == KERNEL_ATTENTION ? SPREAD_ATTENTION : SPREAD_STREAM;
    struct kernel_time time = kernel->kind == KERNEL_GEMM ? gemm_kernel(kernel, device, calibration, &spread)
                              : kernel->kind == KERNEL_ATTENTION
                                  ? attention_kernel(kernel, device, calibration, &spread)
                                  : stream_kernel(kernel, device, calibration);
    time.seconds *= kernel->repeats;
    time.low = time.seconds * (kernel->rough ? KERNEL_ROUGH_LOW : 1.0 / (1.0 + spread));
    time.high = time.seconds * (kernel->rough ? KERNEL_ROUGH_HIGH : 1.0 + spread);
    time.rough = kernel->rough ? time.seconds : 0.0;
    time.flops *= kernel->repeats;
    time.bytes *= kernel->repeats;
    return time;
}

void kernel_time_add(struct kernel_time *sum, const struct kernel_time *time)
{
    sum->seconds += time->seconds;
    sum->flops += time->flops;
    sum->bytes += time->bytes;
    sum->low += time->low;
    sum->high += time->high;
    sum->rough += time->rough;
}
