/* Devices: a GPU's published numbers and parameters fitted to measurements.
 *
 * The table is data/devices.yaml (embedded); a user's own device is a file of the same form, see
 * docs/device.md. Every number there names its source. */
#ifndef REHEARSE_DEVICES_DEVICE_H
#define REHEARSE_DEVICES_DEVICE_H

#include "devices/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of products. tf32 multiplies fp32 numbers from Ampere on; they are stored as fp32. */
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
double cost_type_bytes(enum cost_type type); /* per number in memory; fp4: 0.5 */

/* Parameters fitted to measured GEMMs, per type; cost/gemm.c uses them. X(name, description, minimum,
 * maximum) */
#define GEMM_PARAMETERS(X)                                                                                   \
    X(efficiency, "share of the peak that large tiles reach, clocks high", 0.05, 2)                          \
    X(small_tile, "edge of the square tile that takes twice the time per product", 0.01, 1000)               \
    X(throttle, "slowdown of sustained work, as clocks fall", 1e-4, 2)                                       \
    X(start, "start-up of a block, seconds", 1e-9, 1e-3)                                                     \
    X(finish, "exposed time to write a tile, relative to that at its share of the bandwidth", 1e-3, 100)     \
    X(step, "minimum seconds per element of k (latency)", 1e-12, 1e-6)                                       \
    X(split, "seconds to add the parts of a split product", 1e-9, 1e-3)                                      \
    X(split_least, "minimum elements of k per part, when the parts would fill the device", 1, 1e6)           \
    X(memory, "share of the memory bandwidth", 0.05, 1.5)                                                    \
    X(floor, "seconds of the smallest product", 1e-7, 1e-3)

struct gemm_parameters {
#define X(name, text, min, max) double name;
    GEMM_PARAMETERS(X)
#undef X
};

/* X(type, key, description, minimum, maximum); the MIN_… and MAX_… are those of device.c. */
#define DEVICE_MEMBERS(X)                                                                                    \
    X(TEXT, generation, "volta, turing, ampere, ada, hopper, blackwell, cdna2, … tpu", 1, 0)                 \
    X(TEXT, capability, "sm_80; NULL: none", 0, 0)                                                           \
    X(TEXT, link, "default link within a node: a name in data/links.yaml", 0, 0)                             \
    X(INT, node, "devices of the vendor's own node, or of one NVLink domain; 0: 8", 0, MAX_UNITS)            \
    X(INT, host, "devices of one host, where a node is a domain of several; 0: as node", 0, MAX_UNITS)       \
    X(RATE, host_bandwidth, "to and from its host's memory, as copies reach it, bytes/s", MIN_RATE,          \
      MAX_RATE)                                                                                              \
    X(TEXT, across, "default link between nodes, as seen by one device; NULL: ib-400g", 0, 0)                \
    X(INT, units, "streaming multiprocessors, compute units", 1, MAX_UNITS)                                  \
    X(INT, lanes, "fp32 multiply-adds per unit and clock", 1, MAX_LANES)                                     \
    X(DOUBLE, clock, "Hz, boost", MIN_CLOCK, MAX_CLOCK)                                                      \
    X(RATE, bandwidth, "of its memory, bytes/s, datasheet", MIN_RATE, MAX_RATE)                              \
    X(SIZE, memory, "bytes", 1, MAX_BYTES)                                                                   \
    X(DOUBLE, withheld, "share of it that the driver gives to no process", 0, 0.5)                           \
    X(SIZE, context, "bytes of a process's context, with its kernels", 0, MAX_BYTES)                         \
    X(SIZE, workspace, "bytes that products of matrices use beside their tensors", 0, MAX_BYTES)             \
    X(SIZE, l2, "bytes", 1, MAX_BYTES)                                                                       \
    X(DOUBLE, pace, "rate of products on this card, of that of its kind; 0: 1", 0, 10)                       \
    X(DOUBLE, power, "watts, the board's limit; 0: unknown", 0, MAX_WATTS)                                   \
    X(TIME, launch, "seconds from the start of one small kernel to the next", 1e-9, MAX_TIME)                \
    X(DOUBLE, stream_efficiency, "share of the bandwidth for large kernels", 0.01, 2)                        \
    X(BYTES, stream_half, "bytes at which a kernel reaches half of that share", 1, MAX_BYTES)

struct cost_device {
    TABLE_NAMED;
#define X(type, name, text, min, max) MEMBER_##type name;
    DEVICE_MEMBERS(X)
#undef X
    double peak[COST_TYPE_COUNT];                 /* flop/s of dense matrix products; 0: not supported */
    struct gemm_parameters gemm[COST_TYPE_COUNT]; /* types without own parameters have the nearest type's */
    /* types with own parameters, or those of its `like` device */
    bool gemm_own[COST_TYPE_COUNT];
};

extern const struct table_kind cost_device_kind;

/* Appends the device as a self-contained file. */
void cost_device_write(const struct cost_device *device, struct text *out);

/* Returns the type in which the device computes products of this type: itself if supported, else the usual
 * replacement: 4 bits as 8, 8 bits as 16, bf16 as fp16, and the rest in fp32. */
enum cost_type cost_device_type(const struct cost_device *device, enum cost_type type);

/* The usual node of a device, as a default. */
struct usual_node {
    int devices;
    const char *across; /* link between nodes, as seen by one device */
};
struct usual_node usual_node(const struct cost_device *device);

/* Gives types without own parameters those of the nearest type that has some. */
void device_fill_types(struct cost_device *device);

#endif
