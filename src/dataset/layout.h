/* The files of a data set: names, shapes and sizes are computed and never listed.
 *
 * Names are DLIO's: {train|valid}/[subfolder/]PREFIX_I_of_FILES.EXTENSION, relative to the data folder. */
#ifndef REHEARSE_DATASET_LAYOUT_H
#define REHEARSE_DATASET_LAYOUT_H

#include "core/error.h"
#include "core/text.h"
#include "dataset/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets DLIO's defaults: 8 training files tfrecord of one sample of 64 KiB, prefix img, seed 123. */
void dataset_layout_init(struct dataset_layout *layout);

/* Checks the ranges, and that the format supports the elements and the compression and is built in. Call it
 * once after setting the fields and before all functions below; dataset_layout_release ends the layout. */
bool dataset_layout_check(struct dataset_layout *layout, struct error *err);
void dataset_layout_release(struct dataset_layout *layout);

/* Reads of a data set what `wanted` reads: the columns that it names, if any, in groups or whole files. */
bool dataset_layout_choose(struct dataset_layout *layout, const struct dataset_layout *wanted,
                           struct error *err);

int64_t dataset_files(const struct dataset_layout *layout);

/* Returns the samples of each training or evaluation file, but for a last one that is shorter. */
int64_t dataset_samples_per_file(const struct dataset_layout *layout, bool eval);

/* Gets file `number` of a checked layout. */
void dataset_file_init(struct dataset_file *file, const struct dataset_layout *layout, int64_t number);

/* The parts of a file: 0 is the data, others lie beside it (an index). Each has a path relative to the data
 * folder, and an exact size in bytes, or -1: compressed, known only after writing. */
int dataset_file_parts(const struct dataset_file *file);
bool dataset_file_path(const struct dataset_file *file, int part, struct text *path); /* false: no memory */
int64_t dataset_file_bytes(const struct dataset_file *file, int part);

/* Returns the bytes of all parts of all files; -1 if one is known only after writing. More than 2^20 files of
 * different sizes are extrapolated from the mean of 2^20. */
int64_t dataset_layout_bytes(const struct dataset_layout *layout);

/* Splits n > 0 into the two nearest factors: *small × *large = n. A prime is 1 × n. */
void dataset_square(int64_t n, int64_t *small, int64_t *large);

/* Write and read the layout as JSON (dataset.json in the data folder). `path` is for errors; the caller
 * releases a layout that was read with dataset_layout_release. */
#define DATASET_MANIFEST "dataset.json"
bool dataset_layout_write(const struct dataset_layout *layout, struct text *json, struct error *err);
bool dataset_layout_read(struct dataset_layout *layout, const char *path, const char *json, size_t length,
                         struct error *err);

#endif
