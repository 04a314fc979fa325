#include "cost/gemm_near.h"

#include <math.h>

/* Scaled to this many seconds, but not above the peak. */
static struct gemm_time scaled(struct gemm_time time, double seconds, double peak_seconds,
                               struct gemm_near *near)
{
    seconds = fmax(seconds, fmin(peak_seconds, time.seconds));
    near->log_ratio = log(seconds / time.seconds);
    time.matrix_seconds *= seconds / time.seconds;
    time.memory_seconds *= seconds / time.seconds;
    time.seconds = seconds;
    return time;
}

/* Experts that a token meets where a device has few of them, and where it has many: as in Mixtral, and in DeepSeek's and
 * Qwen's models. The shapes that were measured are layers, whose rows are those of tokens. */
#define FEW_EXPERTS 16.0
#define OF_FEW      2.0
#define OF_MANY     8.0

/* A grouped product by a third of the layer of three whose experts have matrices of this size: which of its sides is the
 * hidden one makes little difference, and the mean of both counts. */
static double grouped_seconds(const struct cost_device *device, enum cost_type type,
                              const struct product_size *size, double groups, const struct measured **table)
{
    double rows = (double)size->batch * (double)size->m, n = (double)size->n, k = (double)size->k;
    double topk = groups <= FEW_EXPERTS ? OF_FEW : OF_MANY;
    const double one[] = {n, k, groups, topk, 1.0, rows / topk},
                 other[] = {k, n, groups, topk, 1.0, rows / topk};
    double seconds = measured_seconds("experts", device, type, NULL, one, table);
    if (!*table)
        return 0.0;
    return (seconds + measured_on(*table, device, other)) / 2.0 / 3.0;
}

struct gemm_time gemm_time_near(const struct cost_device *device, enum cost_type type,
                                struct product_size size, double groups, struct gemm_near *near)
{
    struct gemm_time time = gemm_time(device, type, size);
    enum cost_type computed = cost_device_type(device, type);
    struct gemm_near room;
    near = near ? near : &room;
    *near = (struct gemm_near){0};
    double m = (double)size.m, n = (double)size.n, k = (double)size.k;
    /* numbers of 16 bits are multiplied alike */
    enum cost_type of = computed == COST_FP16 ? COST_BF16 : computed;
    double seconds = 0;
    if (groups > 0)
        seconds = grouped_seconds(device, of, &size, groups, &near->table);
    else if (size.batch == 1)
        seconds = measured_seconds("product", device, of, NULL, (double[]){m, n, k}, &near->table);
    if (!near->table && groups == 0)
        seconds = measured_seconds("batched-product", device, of, NULL,
                                   (double[]){n, k, m, (double)size.batch}, &near->table);
    return near->table ? scaled(time, seconds, product_flops(&size) / device->peak[computed], near) : time;
}
