/* Calibration of a generation of devices from runs: the share of its published numbers that training reaches.
 *
 * One set per generation (data/calibration.yaml); `rehearse calibrate --runs` fits them to measured runs. The
 * parameters of single GEMMs are in cost/gemm.h. */
#ifndef REHEARSE_DEVICES_CALIBRATION_H
#define REHEARSE_DEVICES_CALIBRATION_H

#include "core/fields.h"
#include "core/text.h"
#include "devices/table.h"

#include <stdbool.h>
#include <stddef.h>

/* X(name, description, minimum, maximum, default) */
#define CALIBRATION_PARAMETERS(X)                                                                            \
    X(gemm, "rate of matrix products in training, relative to that measured alone", 0.3, 1.2, 0.95)          \
    X(gemm_narrow, "the same for 8-bit and narrower products", 0.3, 1.3, 0.95)                               \
    X(bmm, "the same for the batched products of unfused attention", 0.2, 1.2, 0.8)                          \
    X(bmm_odd, "the same where the width of a head is not a multiple of 8", 0.02, 1.0, 0.15)                 \
    X(flash2_forward, "share of the matrix peak, FlashAttention-2, forward", 0.05, 0.9, 0.5)                 \
    X(flash2_backward, "the same, backward", 0.05, 0.9, 0.4)                                                 \
    X(flash3, "share of the matrix peak, FlashAttention-3 or cuDNN, forward; backward four fifths", 0.2,     \
      0.85, 0.6)                                                                                             \
    X(flash_ramp, "tokens of a sequence at which flash attention is at half its rate", 1, 4000, 200)         \
    X(narrow_head, "rate of flash attention with heads of 64, relative to heads of 128", 0.5, 1.2, 0.85)     \
    X(narrow_attention, "rate of attention in 8 bits, of that in 16", 0.5, 3.0, 1.0)                         \
    X(stream, "share of the memory bandwidth, elementwise kernels", 0.2, 1.0, 0.8)                           \
    X(quantize, "share of the memory bandwidth, casts to 8 bits", 0.1, 3.0, 0.7)                             \
    X(inside, "bandwidth inside a node in training, relative to that measured alone", 0.2, 1.5, 0.9)         \
    X(gradients, "the same of gradients and the parameters that they change", 0.2, 1.5, 0.9)                 \
    X(across, "bandwidth across nodes in training, relative to that measured alone", 0.2, 2.0, 0.8)          \
    X(exchange, "all-to-all bandwidth between experts in training, relative to that measured alone", 0.1,    \
      1.5, 0.7)                                                                                              \
    X(send, "share of the transfers between stages that is not hidden", 0.0, 3.0, 0.7)                       \
    X(hide_shards, "share of compute that can overlap gathers and scatters of shards", 0.0, 1.0, 0.8)        \
    X(slow_shards, "slowdown of compute per second of overlapped gathers and scatters", 0.0, 1.0, 0.05)      \
    X(jitter, "share of compute time lost to waiting, per doubling of the nodes", 0.0, 0.05, 0.005)          \
    X(step, "seconds of an iteration that are neither kernel nor transfer", 0.0, 0.5, 0.005)

/* A run of the user's own, by which times of jobs like it are corrected (evidence/own_run.h): X(type, name,
 * description, minimum, maximum). Without a title there is none. */
#define OWN_RUN_MEMBERS(X)                                                                                   \
    X(TEXT, title, "what ran", 1, 0)                                                                         \
    X(TEXT, device, "its type", 1, 0)                                                                        \
    X(TEXT, software, "by its name in devices/software.h", 1, 0)                                             \
    X(DOUBLE, ratio, "measured over expected seconds", 0.02, 50)                                             \
    X(INT, bits, "of the numbers that are multiplied", 4, 64)                                                \
    X(FLAG, frozen, "LoRA", 0, 1)                                                                            \
    X(INT, recompute, "enum recompute", 0, 2)                                                                \
    X(INT, sharding, "ZeRO stage", 0, 3)                                                                     \
    X(DOUBLE, parameters, "of the model", 1, 1e18)                                                           \
    X(DOUBLE, tokens, "of a micro-batch", 1, 1e15)                                                           \
    X(INT, tensor, "parallel degree", 1, 1 << 24)                                                            \
    X(INT, pipeline, "likewise", 1, 1 << 24)                                                                 \
    X(INT, context, "likewise", 1, 1 << 24)                                                                  \
    X(INT, expert, "likewise", 1, 1 << 24)                                                                   \
    X(DOUBLE, bubble, "share of the predicted time", 0, 1)                                                   \
    X(DOUBLE, predicted, "seconds of an iteration by the formula: a job with as many is the same one", 1e-9, \
      1e12)

struct own_run {
#define X(type, name, text, min, max) MEMBER_##type name;
    OWN_RUN_MEMBERS(X)
#undef X
};

/* What several runs of the user's own say of their lab (evidence/own_lab.h), likewise. */
#define OWN_LAB_MEMBERS(X)                                                                                   \
    X(TEXT, software, "of the runs, by its name in devices/software.h", 1, 0)                                \
    X(INT, runs, "number of runs that were learned from", 1, 1000000)                                        \
    X(DOUBLE, kernels, "time of kernels, as a share of the expected one", 0.02, 50)                          \
    X(DOUBLE, transfers, "time of transfers that stay exposed, likewise", 0.02, 50)                          \
    X(DOUBLE, block, "further seconds of each block and micro-batch", 0, 10)                                 \
    X(DOUBLE, left, "ln of 1 + the 90th percentile of errors of runs left out", 0, 5)

struct own_lab {
#define X(type, name, text, min, max) MEMBER_##type name;
    OWN_LAB_MEMBERS(X)
#undef X
};

struct calibration {
    TABLE_NAMED; /* "hopper": a generation of devices */
    struct own_run own;
    struct own_lab lab; /* software NULL: none */
#define X(name, text, min, max, value) double name;
    CALIBRATION_PARAMETERS(X)
#undef X
};

extern const struct table_kind calibration_kind;

/* The default values. */
extern const struct calibration calibration_default;

/* Appends an entry of a calibration file. One with runs of the user's own has no parameters: it keeps the known
 * ones. */
void calibration_write(const struct calibration *calibration, struct text *out);

/* Returns the list of parameters, for reading, writing and fitting. */
const struct field *calibration_parameters(int *count);

#endif
