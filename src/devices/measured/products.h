/* Measured matrix products: by how much published times differ from the formula (cost/gemm.h).
 *
 * The table is data/products.txt (embedded, made by scripts/learn-products): for each shape the logarithm of measured
 * over computed seconds, in steps of 0.8 % and more. Its ratios are those of the parameters that data/devices.yaml
 * has. */
#ifndef REHEARSE_DEVICES_MEASURED_PRODUCTS_H
#define REHEARSE_DEVICES_MEASURED_PRODUCTS_H

#include "core/unit/product_size.h"
#include "devices/device.h"

/* Coordinates of a shape: logarithms of its sizes, and how much of the last wave of blocks is empty for five tiles. */
#define PRODUCT_AXES 9

struct product {
    struct product_size size;
    float at[PRODUCT_AXES];
    float log_ratio; /* of measured over computed seconds */
};

struct products {
    const char *device; /* "h100-sxm" */
    enum cost_type type;
    const char *source;
    int count;
    const struct product *rows; /* by `at`'s first axis: n */
};

#define PRODUCT_BY_N 0 /* the axis by which rows are ordered */

/* A ratio as one printable character, and back: those of data/products.txt. */
#define PRODUCT_NONE ' ' /* not measured */
char product_encode(double log_ratio);
double product_decode(char code);

/* Computes the coordinates of a shape on a device of so many units. */
void product_place(float at[PRODUCT_AXES], int units, struct product_size size);

/* Returns the products that were measured on this device, else on one with the same units and the same parameters of
 * the type, which is computed as given (cost_device_type); NULL: none. They live as long as the program. */
const struct products *products_of(const struct cost_device *device, enum cost_type type);

/* Returns what the times of a device's 16-bit products rest on: "measured" on it or on another one of the same units,
 * "fitted" to measurements, or its "data sheet" alone. */
const char *device_basis(const struct cost_device *device);

/* Returns the tables one after another, `index` from 0; NULL behind the last. */
const struct products *products_known(int index);

#endif
