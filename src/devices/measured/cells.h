/* A table of measured kernels, and its cells: read from its lines, the holes between them filled, and what lies between
 * is interpolated. */
#ifndef REHEARSE_DEVICES_MEASURED_CELLS_H
#define REHEARSE_DEVICES_MEASURED_CELLS_H

#include "core/arena.h"
#include "devices/device.h"

#define LINE_OF_ROW '|'

#define MEASURED_MAX_AXES  6
#define MEASURED_MAX_TERMS 4

/* The axes of layers of experts: shapes, and behind them tokens. */
enum { MEASURED_HIDDEN, MEASURED_INTER, MEASURED_EXPERTS, MEASURED_TOPK, MEASURED_RANKS, MEASURED_TOKENS };
#define MEASURED_EXPERTS_SHAPE MEASURED_TOKENS

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
        int powers[MEASURED_MAX_AXES +
                   2]; /* of the sizes; of the rows of experts, and of those that have any */
    } terms[MEASURED_MAX_TERMS];
};

struct measured {
    const char *kernel; /* "product" */
    const struct cost_device *device;
    const char *software, *title; /* "vllm", "vLLM 0.24.0" */
    enum cost_type type;
    bool fastest;           /* chosen by time, unless a software is named; else the first of a device is */
    double floor;           /* seconds of the roofline beside its work */
    double ultra;           /* gain where powers have twice the units (sm_103); 0: none */
    double peak, bandwidth; /* of the roofline that the ratios refer to */
    struct measured_work flops, bytes;
    int axis_count;
    struct measured_axis axes[MEASURED_MAX_AXES];
    int shape_axes; /* of the axes, the first ones whose sizes lie on no grid; 0, or all others but at most one */
    int aligned[MEASURED_MAX_AXES]; /* shapes: curves compare where the sizes to these powers are alike */
    int shape_count;
    const float *shapes; /* log2 of sizes, ordered by the first */
    int cell_count;
    double spread;      /* 85 of 100 learned cells are this near to what the others say of them, as a share */
    const float *cells; /* logarithms of ratios, the last axis fastest; holes are filled */
    const bool *learned; /* by cell: whether it was measured */
};

/* Reads the cells, and the shapes where sizes lie on no grid. `middle` and `step` are logarithms of ratios: of the middle
 * character, and from there to the next. False: memory is out, and the arena is released. */
bool measured_load(struct measured *table, const char *lines, double middle, double step,
                   struct arena *arena);

/* Returns the logarithm of the ratio to the roofline. */
double measured_log_ratio(const struct measured *table, const double *sizes);

/* Predicts a learned cell from the others: from its nearest, or without any of the same size in the axes behind the
 * first. Returns false where none is there. */
bool measured_left_out(const struct measured *table, int cell, bool sizes, double *log_ratio);

/* The sizes of a cell. */
void measured_sizes(const struct measured *table, int cell, double *sizes);

#endif
