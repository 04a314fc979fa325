/* Kernels as they were measured: times on grids of sizes, by device, type and software.
 *
 * The model of prediction: a time is the roofline of the device, sqrt((flops / peak)^2 + (bytes / bandwidth)^2) + 2 us,
 * times a ratio that changes little from one size to the next and from one device of a generation to another. The table
 * data/kernels.txt (embedded, made by scripts/make-kernels) has the ratio of each second cell of a grid, as on a
 * chessboard; a cell between has the mean of its learned neighbours, and a size between grid lines is interpolated
 * linearly in the logarithms of sizes. Shapes that lie on no grid have a ratio each, or a curve of them, and between them
 * the four nearest have a mean weighted by distance. A device that was not measured has the ratios of the nearest one of its
 * generation, on its own roofline. `rehearse calibrate --known` has the errors. */
#ifndef REHEARSE_DEVICES_MEASURED_KERNELS_H
#define REHEARSE_DEVICES_MEASURED_KERNELS_H

#include "devices/measured/cells.h"

/* Returns the tables one after another, `index` from 0; NULL behind the last. */
const struct measured *measured_known(int index);

/* Returns whether a device's units of powers are twice as fast: Blackwell Ultra. */
bool measured_is_ultra(const struct cost_device *device);

/* Finds the table of a kernel and a type that the device computes: of the software, or (NULL) that of least time. Tables
 * are of the device itself, else of the nearest one of its generation. Returns the seconds for sizes in the order of the
 * axes, and the table in *table; 0: there is none. Never below the device's peak. */
double measured_seconds(const char *kernel, const struct cost_device *device, enum cost_type type,
                        const char *software, const double *sizes, const struct measured **table);

/* Returns the seconds of a table for another device of the same type. */
double measured_on(const struct measured *table, const struct cost_device *device, const double *sizes);

/* Returns the table of another device that would stand in for this one, had it not been measured; NULL: none. */
const struct measured *measured_relative(const struct measured *table);

/* Returns what the times of a device's 16-bit products rest on: "measured" on it or on another one of the same units,
 * "fitted" to measurements, or its "data sheet" alone. */
const char *device_basis(const struct cost_device *device);
bool device_is_sheet(const struct cost_device *device);

#endif
