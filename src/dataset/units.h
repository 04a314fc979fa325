/* Random content made unit by unit (numbers in a range, rows), from any offset on; and code shared by the
 * VLDB study's formats, whose samples have shapes of their own. */
#ifndef REHEARSE_DATASET_UNITS_H
#define REHEARSE_DATASET_UNITS_H

#include "dataset/format.h"

/* `make` makes units of `bytes` bytes out of the random ones, which it gets as its context. */
struct units {
    const struct dataset_content *random;
    size_t bytes;
    dataset_units_fn *make;
};

struct dataset_content units_content(const struct units *units);

/* Fails if keys are set that such a format ignores. */
bool units_check(const struct dataset_layout *layout, struct error *err);

/* The numbers of categories in each column of the Criteo terabyte set, at 10^7 at most. */
#define CRITEO_CATEGORIES 26
extern const uint32_t criteo_categories[CRITEO_CATEGORIES];

/* A sample is `bytes` bytes. */
void units_shape(struct dataset_file *file, int64_t bytes);

/* Returns true for the last training file of a layout with total_bytes. */
bool units_is_last(const struct dataset_file *file);

#endif
