/* Tables of measured matrix products and collectives. */
#ifndef REHEARSE_COST_CALIBRATE_SAMPLES_H
#define REHEARSE_COST_CALIBRATE_SAMPLES_H

#include "core/arena.h"
#include "core/csv.h"
#include "core/error.h"
#include "core/unit/product_size.h"
#include "devices/device.h"
#include "devices/link.h"

#include <stdbool.h>
#include <stdint.h>

struct gemm_sample {
    enum cost_type type;
    struct product_size size;
    double seconds;
};

struct gemm_samples {
    struct arena arena;
    const char *path;
    int count, skipped; /* skipped: other devices, unknown types */
    struct gemm_sample *samples;
};

/* Reads a table with columns m, n, k; time_us, time_ms, seconds or flops_per_sec; optional b or batch (else
 * 1), dtype or dtypes (else `type`), gpu or device. Of `bf16xbf16->f32` the first counts; f32, XLA's name, is
 * multiplied as tf32, fp32 and float32 are not. Rows of devices other than `device` are skipped; NULL takes all, an
 * error if there are several. On failure *samples holds nothing. */
bool gemm_samples_read(struct gemm_samples *samples, const struct csv *csv, const char *device,
                       enum cost_type type, struct error *err);
/* Takes the time of a launch off all samples, which must be longer. */
bool gemm_samples_take_off(struct gemm_samples *samples, double launch, struct error *err);
void gemm_samples_release(struct gemm_samples *samples);

struct link_sample {
    enum collective_kind kind;
    int devices, nodes;
    double bytes; /* as in devices/link.h */
    double seconds;
};

struct link_samples {
    struct arena arena;
    const char *path;
    int count, skipped; /* skipped: other devices; one device, no bytes or no time */
    struct link_sample *samples;
};

/* The same of a table with columns collective or opcode; ranks or devices; bytes; time_us, time_ms or seconds;
 * optional nodes (else 1), gpu or device. */
bool link_samples_read(struct link_samples *samples, const struct csv *csv, const char *device,
                       struct error *err);
void link_samples_release(struct link_samples *samples);

#endif
