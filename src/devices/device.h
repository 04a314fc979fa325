/* Devices: what a GPU can do, by its published numbers and by what was fitted to measurements.
 *
 * The table is data/devices.yaml (embedded); a user's own device is a file of the same form, see
 * docs/device.md. Every number there names its source. */
#ifndef REHEARSE_DEVICES_DEVICE_H
#define REHEARSE_DEVICES_DEVICE_H

#include "devices/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How numbers are multiplied. tf32 is how matrices of fp32 numbers are multiplied from Ampere on: the numbers
 * are kept as fp32. */
enum cost_type {
    COST_FP64,
    COST_FP32,
    COST_TF32,
    COST_FP16,
    COST_BF16,
    COST_INT8,
    COST_FP8,
    COST_FP4,
    COST_TYPE_COUNT
};

const char *cost_type_name(enum cost_type type); /* "fp32", … */
bool cost_type_find(const char *name, enum cost_type *type);
double cost_type_bytes(enum cost_type type); /* of a number in memory; fp4 half a byte */

/* What was fitted to measured GEMMs, per type; how each is used is in cost/gemm.c.
 * X(name, what it is, least, most) */
#define GEMM_PARAMETERS(X)                                                                                   \
    X(efficiency, "share of the peak that large tiles reach, clocks high", 0.05, 2)                          \
    X(small_tile, "edge of the square tile that takes twice the time per product", 0.01, 1000)               \
    X(throttle, "by how much longer work slows itself down: clocks fall", 1e-4, 2)                           \
    X(start, "seconds until a block multiplies", 1e-9, 1e-3)                                                 \
    X(finish, "time to write a tile that nothing hides, in that of its share of the bandwidth", 1e-3, 100)   \
    X(step, "seconds per element of k at least: latency", 1e-12, 1e-6)                                       \
    X(split, "seconds to add the parts of a split product", 1e-9, 1e-3)                                      \
    X(split_least, "elements of k of a part at least, when the parts would fill the device", 1, 1e6)         \
    X(memory, "share of the memory bandwidth", 0.05, 1.5)                                                    \
    X(floor, "seconds of the smallest product", 1e-7, 1e-3)

struct gemm_parameters {
#define X(name, text, least, most) double name;
    GEMM_PARAMETERS(X)
#undef X
};

struct cost_device {
    TABLE_NAMED;
    const char *generation; /* "volta", "turing", "ampere", "ada", "hopper", "blackwell", "cdna2", "cdna3" */
    const char *capability; /* "sm_80"; NULL: none */
    int units;              /* streaming multiprocessors, compute units */
    int lanes;              /* fp32 multiply-adds per unit and clock */
    double clock;           /* Hz, boost */
    double peak[COST_TYPE_COUNT];                 /* flop/s of matrix products, dense; 0: it cannot */
    double bandwidth;                             /* of its memory, bytes/s, datasheet */
    int64_t memory;                               /* bytes */
    int64_t l2;                                   /* bytes */
    double launch;                                /* seconds from the start of one small kernel to the next */
    double stream_efficiency;                     /* of the bandwidth, for a kernel that moves much */
    double stream_half;                           /* bytes at which a kernel reaches half of that */
    struct gemm_parameters gemm[COST_TYPE_COUNT]; /* of types without own ones: those of the nearest type */
    bool gemm_own[COST_TYPE_COUNT];               /* which have own ones, or those of the device it is like */
    const char *link; /* between devices of a node by default: a name of data/links.yaml */
};

extern const struct table_kind cost_device_kind;

/* The device as such a file, complete in itself. */
void cost_device_write(const struct cost_device *device, struct text *out);

/* The type that the device computes products of this type in: itself where there are units for it, else what one would
 * run there: 4 bits as 8, 8 bits as 16, bf16 as fp16, and the rest in fp32. */
enum cost_type cost_device_type(const struct cost_device *device, enum cost_type type);

/* Gives the types without own parameters those of the nearest type that has some. */
void device_fill_types(struct cost_device *device);

#endif
