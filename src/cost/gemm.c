#include "cost/gemm.h"

#include <math.h>
#include <stddef.h>

/* Numbers that differ little between generations, in units of the device's own. They were fitted to the same
 * measurements as the parameters in devices/device.h. */
#define UNIT_FROM_MEMORY  2.5    /* maximum of one unit from memory, in shares of the bandwidth per unit */
#define UNIT_FROM_L2      9.0    /* the same from L2 */
#define L2_BANDWIDTH      1.3    /* of values that stay in L2 from kernel to kernel, in memory bandwidths */
#define L2_KEPT           0.62   /* of L2: up to here inputs and outputs stay in it ... */
#define L2_LOST           0.84   /* ... and from here on nothing does */
#define WARM_SECONDS      2.5e-3 /* of work at which half of the throttling is reached */
#define K_STEP            32     /* elements of k multiplied at once */
#define MIN_SPLIT         128    /* elements of k of a part, at least */
#define ACCUMULATOR_BYTES 4      /* parts of a split are added in fp32 */

/* The tiles of the libraries' kernels. Larger tiles are more efficient and waste more at the edges. */
static const struct tile {
    int m, n;
} tiles[] = {
    {16, 64}, {64, 16}, {32, 64}, {64, 32}, {64, 64}, {64, 128}, {128, 64}, {64, 256}, {128, 128}, {128, 256},
};

static const int splits[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64};

static double output_bytes(enum cost_type type)
{
    double bytes = cost_type_bytes(type);
    return bytes < 2 ? 2 : bytes;
}

/* Whole numbers of blocks; ceil() of the C library is a call. */
static double round_up(double x)
{
    if (x >= 0x1p62)
        return x;
    double whole = (double)(int64_t)x;
    return whole < x ? whole + 1 : whole;
}

/* One product on one device, as the candidates see it. */
struct problem {
    const struct gemm_parameters *gemm;
    double units;
    double unit_peak;      /* flop/s of one unit */
    double unit_bandwidth; /* bytes/s, its share */
    double l2_bandwidth;
    double batch, m, n, k;
    double bytes, result_bytes; /* of a number read, written */
    double memory_seconds;
};

/* The second operand, the weights, comes from memory; the first and the result stay in L2 when they fit. */
static double memory_seconds(const struct problem *p, const struct cost_device *device)
{
    double weights = p->batch * p->k * p->n * p->bytes;
    double kept = p->batch * (p->m * p->k * p->bytes + p->m * p->n * p->result_bytes);
    double lost = (kept / (double)device->l2 - L2_KEPT) / (L2_LOST - L2_KEPT);
    lost = lost < 0 ? 0 : lost > 1 ? 1 : lost;
    return (weights + lost * kept) / (device->bandwidth * p->gemm->memory) +
           (1 - lost) * kept / p->l2_bandwidth;
}

static struct problem describe(const struct cost_device *device, enum cost_type type,
                               struct product_size size)
{
    enum cost_type computed = cost_device_type(device, type);
    struct problem p = {
        .gemm = &device->gemm[computed],
        .units = device->units,
        .unit_peak = device->peak[computed] / device->units,
        .unit_bandwidth = device->bandwidth / device->units,
        .l2_bandwidth = L2_BANDWIDTH * device->bandwidth,
        .batch = (double)size.batch,
        .m = (double)size.m,
        .n = (double)size.n,
        .k = (double)size.k,
        .bytes = cost_type_bytes(type),
        .result_bytes = output_bytes(type),
    };
    p.memory_seconds = memory_seconds(&p, device);
    return p;
}

/* Seconds for one element of k of a full tile, and the rest of a block's work. */
struct tile_cost {
    double blocks; /* without split */
    double step;   /* seconds per element of k while others compute */
    double alone;  /* the same at least, however small the tile */
    double finish; /* seconds to write the tile */
    int resident;  /* blocks at once on a unit */
};

static struct tile_cost cost_of_tile(const struct problem *p, const struct tile *tile)
{
    const struct gemm_parameters *gemm = p->gemm;
    double area = (double)tile->m * tile->n;
    double matrix =
        2 * area / (p->unit_peak * gemm->efficiency) * (1 + gemm->small_tile * gemm->small_tile / area);
    double load = (tile->m + tile->n) * p->bytes / (UNIT_FROM_L2 * p->unit_bandwidth);
    struct tile_cost cost = {
        .blocks = p->batch * round_up(p->m / tile->m) * round_up(p->n / tile->n),
        .step = matrix > load ? matrix : load,
        .finish = gemm->finish * area * p->result_bytes / p->unit_bandwidth,
        .resident = area >= 128 * 256   ? 1
                    : area >= 128 * 128 ? 2
                                        : 4,
    };
    cost.alone = cost.step > gemm->step ? cost.step : gemm->step;
    return cost;
}

/* Waves of blocks: as many as are resident wait for each other's latency, but share the matrix units. */
static double matrix_seconds(const struct problem *p, const struct tile_cost *cost, double blocks, double k)
{
    double per_unit = round_up(blocks / p->units);
    double latency = p->gemm->start + cost->finish + k * cost->alone;
    double waiting = round_up(per_unit / cost->resident) * latency;
    double working = p->gemm->start + per_unit * (k * cost->step + cost->finish);
    return waiting > working ? waiting : working;
}

/* All units together reach the memory's bandwidth. A column of blocks draws its weights through one unit, which cannot:
 * it counts where the columns, or the last of them, are few. */
static double wave_memory_seconds(const struct problem *p, const struct tile *tile, double seconds,
                                  double split, double k)
{
    double width = p->n < tile->n ? p->n : tile->n;
    double alone = width * k * p->bytes / (UNIT_FROM_MEMORY * p->unit_bandwidth);
    double columns = p->batch * round_up(p->n / tile->n) * split;
    double waves = floor(columns / p->units);
    double rest = columns - waves * p->units;
    double full = seconds * waves * p->units / columns;
    double last = rest > 0 ? fmax(seconds * rest / columns, alone) : 0;
    return fmax(full + last, alone * (waves + (rest > 0)));
}

/* Near (a^2.5 + b^2.5)^(1/2.5), which would be three calls of pow(): between the norms of powers 2 and 4. */
static double overlap(double a, double b)
{
    double aa = a * a;
    double bb = b * b;
    return sqrt(0.5 * (aa + bb + sqrt(aa * aa + bb * bb)));
}

static void try_tile(const struct problem *p, const struct tile *tile, struct gemm_time *best)
{
    const struct gemm_parameters *gemm = p->gemm;
    struct tile_cost cost = cost_of_tile(p, tile);
    double min_part = MIN_SPLIT + gemm->split_least * sqrt(cost.blocks / p->units);
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        double split = splits[i];
        if (split > 1 && p->k < split * min_part)
            break;
        double blocks = cost.blocks * split;
        double k = K_STEP * round_up(p->k / (split * K_STEP));
        double matrix = matrix_seconds(p, &cost, blocks, k);
        double memory = p->memory_seconds;
        if (split > 1) /* parts are written, and read again */
            memory += 2 * split * p->batch * p->m * p->n * ACCUMULATOR_BYTES / p->l2_bandwidth;
        memory = wave_memory_seconds(p, tile, memory, split, k);
        double seconds = overlap(matrix, memory) + (split > 1 ? gemm->split : 0);
        if (seconds < best->seconds)
            *best = (struct gemm_time){seconds, matrix, memory};
    }
}

/* A card that is faster than its kind does not pass the peak either. */
static struct gemm_time at_pace(const struct cost_device *device, struct gemm_time time, double peak_seconds)
{
    return (struct gemm_time){.seconds = fmax(time.seconds / device->pace, fmin(peak_seconds, time.seconds)),
                              .matrix_seconds = time.matrix_seconds / device->pace,
                              .memory_seconds = time.memory_seconds / device->pace};
}

struct gemm_time gemm_time(const struct cost_device *device, enum cost_type type, struct product_size size)
{
    const struct problem p = describe(device, type, size);
    struct gemm_time best = {.seconds = HUGE_VAL};
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
        try_tile(&p, &tiles[t], &best);
    /* Clocks fall under long work: power and heat. */
    double throttle = 1 + p.gemm->throttle * best.seconds / (best.seconds + WARM_SECONDS);
    best.matrix_seconds *= throttle;
    best.seconds = best.seconds * throttle + p.gemm->floor;
    return device->pace > 0
               ? at_pace(device, best,
                         2 * p.batch * p.m * p.n * p.k / device->peak[cost_device_type(device, type)])
               : best;
}
