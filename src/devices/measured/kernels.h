/* Kernels as they were measured: times on grids of sizes, by device, type and software.
 *
 * The model of prediction: a time is the roofline of the device, sqrt((flops / peak)^2 + (bytes / bandwidth)^2) + 2 us,
 * times a ratio that changes little from one size to the next and from one device of a generation to another. The table
 * data/kernels.txt (embedded, made by scripts/make-kernels) has the ratio of each second cell of a grid, as on a
 * chessboard; a cell between has the mean of its learned neighbours, and a size between grid lines is interpolated
 * linearly in the logarithms of sizes. A device that was not measured has the ratios of the nearest one of its
 * generation, on its own roofline. `rehearse calibrate --known` has the errors. */
#ifndef REHEARSE_DEVICES_MEASURED_KERNELS_H
#define REHEARSE_DEVICES_MEASURED_KERNELS_H

#include "devices/device.h"

#define MEASURED_MAX_AXES  4
#define MEASURED_MAX_TERMS 4

struct measured_axis {
    char name[16];
    int count;
    const float *at; /* log2 of its values */
};

/* A sum of products: a factor and the powers of the sizes, 0 or more each. */
struct measured_work {
    int count;
    struct {
        double factor;
        int powers[MEASURED_MAX_AXES];
    } terms[MEASURED_MAX_TERMS];
};

struct measured {
    const char *kernel;                    /* "product" */
    const char *device, *software, *title; /* "h100-sxm", "vllm", "vLLM 0.24.0" */
    enum cost_type type;
    bool fastest;           /* chosen by time, unless a software is named; else the first of a device is */
    double ultra;           /* gain where powers have twice the units (sm_103); 0: none */
    double peak, bandwidth; /* of the roofline that the ratios refer to */
    struct measured_work flops, bytes;
    int axis_count;
    struct measured_axis axes[MEASURED_MAX_AXES];
    int cell_count;
    double spread;      /* 85 of 100 learned cells are this near to what the others say of them, as a share */
    const float *cells; /* logarithms of ratios, the last axis fastest; holes are filled */
    const bool *learned; /* by cell: whether it was measured */
};

/* Returns the tables one after another, `index` from 0; NULL behind the last. */
const struct measured *measured_known(int index);

/* Returns whether a device's units of powers are twice as fast: Blackwell Ultra. */
bool measured_is_ultra(const struct cost_device *device);

/* Returns whether two devices have as many units, and of the same kind. */
bool measured_same_units(const struct cost_device *a, const struct cost_device *b);

/* Returns whether the formula of products has the same parameters of a type for both. */
bool measured_same_parameters(const struct cost_device *a, const struct cost_device *b, enum cost_type type);

/* Returns whether a kernel was measured in a type on a device of the same units. Reads no cells. */
bool measured_has(const char *kernel, const struct cost_device *device, enum cost_type type);

/* Finds the table of a kernel and a type that the device computes: of the software, or (NULL) that of least time. Tables
 * are of the device itself, else of the nearest one of its generation. Returns the seconds for sizes in the order of the
 * axes, and the table in *table; 0: there is none. Never below the device's peak. */
double measured_seconds(const char *kernel, const struct cost_device *device, enum cost_type type,
                        const char *software, const double *sizes, const struct measured **table);

/* Returns the seconds of a table for another device of the same type, and the logarithm of the ratio to the roofline. */
double measured_on(const struct measured *table, const struct cost_device *device, const double *sizes);
double measured_log_ratio(const struct measured *table, const double *sizes);

/* Returns the table of another device that would stand in for this one, had it not been measured; NULL: none. */
const struct measured *measured_relative(const struct measured *table);

/* Predicts a learned cell from the others: from its nearest, or without any of the same size in the axes behind the
 * first. Returns false where none is there. */
bool measured_left_out(const struct measured *table, int cell, bool sizes, double *log_ratio);

/* The sizes of a cell. */
void measured_sizes(const struct measured *table, int cell, double *sizes);

#endif
