/* Kernels and their times.
 *
 * The fusions of an HLO module and the layers of an architecture are both lists of kernels; only this file
 * turns them into seconds. */
#ifndef REHEARSE_COST_KERNEL_H
#define REHEARSE_COST_KERNEL_H

#include "core/unit/product_size.h"
#include "devices/calibration.h"
#include "devices/device.h"
#include "devices/software.h"

#include <stdbool.h>
#include <stdint.h>

enum kernel_kind {
    KERNEL_GEMM,      /* batch products of m x k by k x n */
    KERNEL_ATTENTION, /* scores, softmax and context in one kernel, scores never in memory */
    KERNEL_STREAM,    /* elementwise, reductions, normalisation, copies: memory or lanes bound it */
    KERNEL_QUANTIZE,  /* a cast to 8 bits or fewer with its scale: memory bounds it */
};

struct kernel {
    enum kernel_kind kind;
    enum cost_type type; /* of the operands of products */
    const char *name;
    double repeats; /* number of runs */
    struct product_size
        size;    /* gemm. attention: batch = sequences x heads, m = queries, n = keys, k = width of a head */
    bool causal; /* attention: half of the scores are masked and skipped */
    bool backward; /* attention: the backward pass, five products instead of two */
    bool inner;    /* gemm: part of unfused attention */
    bool exact;    /* gemm: of fp32 numbers, without tf32 */
    bool narrow;   /* gemm: an operand lies in memory in a narrower type; `bytes` says how much that is */
    bool weights;  /* gemm: computes a gradient of weights */
    bool end;      /* of embedding or head */
    bool alone;    /* nothing else runs: no share of training */
    bool near;     /* gemm: its time leans on the nearest measured shapes (gemm_near.h) */
    enum attention_kind attention;
    double
        /* relative to the kernels of `attention`, or to single products; stream: its share of the bandwidth, 0: as
         * calibrated */
        rate;
    double lane_flops;  /* stream: arithmetic outside of the matrix units, in fp32 operations */
    double rows, width; /* stream: rows that are reduced and then written, as by norms, and their elements */
    double groups; /* gemm: experts of a grouped product, of which `size.batch` have rows; 0: it is none */
    double steps;  /* stream: launches that wait for one another, beside the first */
    bool rough;    /* its inner workings are not modelled: see KERNEL_ROUGH_LOW */
    double bytes;  /* read and written, each boundary tensor once; 0 for a gemm: its operands */
};

/* The time of a kernel that is modelled roughly is from this to that share of the computed one: the limits of published
 * times of cuSOLVER that data/custom-calls.yaml names. */
#define KERNEL_ROUGH_LOW  0.2
#define KERNEL_ROUGH_HIGH 5.0

/* 80 % of kernels alone and more take from 1 / (1 + this) to 1 + this of the computed time. Products: those that
 * 'rehearse calibrate --known' leaves out, with neighbours and by the formula; collectives likewise. Attention and
 * streams: those that aiconfigurator measured on H200, B300 and GB300 with vLLM, on which nothing was fitted. */
#define SPREAD_RELATIVE   1.3 /* times that of the measured device */
#define SPREAD_FORMULA    0.25
#define SPREAD_ATTENTION  0.35
#define SPREAD_STREAM     0.2
#define SPREAD_COLLECTIVE 0.1

enum kernel_bound { BOUND_LAUNCH, BOUND_MATRIX, BOUND_LANES, BOUND_MEMORY };

struct kernel_time {
    double seconds;   /* of all repeats */
    double flops;     /* of all repeats */
    double bytes;     /* of all repeats */
    double low, high; /* seconds: the 80 % interval of a kernel alone */
    double rough;     /* seconds that are modelled roughly: all, or none */
    enum kernel_bound bound;
};

/* Returns whether a device has asynchronous matrix units, and kernels written for them. */
bool kernel_is_newest(const struct cost_device *device);

/* Adds work and seconds, and their interval as if all kernels were as far off on the same side. */
void kernel_time_add(struct kernel_time *sum, const struct kernel_time *time);

const char *kernel_bound_name(enum kernel_bound bound);

struct kernel_time kernel_time(const struct kernel *kernel, const struct cost_device *device,
                               const struct calibration *calibration);

#endif
