/* Which files a data set has: their names, shapes and sizes, computed and never listed.
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

/* DLIO's defaults: 8 training files tfrecord of one sample of 64 KiB, prefix img, seed 123. */
void dataset_layout_init(struct dataset_layout *layout);

/* Is it one that can be made? Sizes in their ranges, the format knows the elements and the compression and is in this
 * build. Call it once after the fields are set and before all that follows; then dataset_layout_release ends it. */
bool dataset_layout_check(struct dataset_layout *layout, struct error *err);
void dataset_layout_release(struct dataset_layout *layout);

int64_t dataset_files(const struct dataset_layout *layout);

/* File `number` of a checked layout. */
void dataset_file_init(struct dataset_file *file, const struct dataset_layout *layout, int64_t number);

/* Its parts: 0 is the data, others lie beside it (an index). Each has a path relative to the data folder, and a size
 * in bytes that is exact, or -1: only known once written, as it is compressed. */
int dataset_file_parts(const struct dataset_file *file);
bool dataset_file_path(const struct dataset_file *file, int part, struct text *path); /* false: no memory */
int64_t dataset_file_bytes(const struct dataset_file *file, int part);

/* All parts of all files; -1 where one is only known once written. Where files differ and are more than 2^20, it is as
 * many times the mean of 2^20 of them. */
int64_t dataset_layout_bytes(const struct dataset_layout *layout);

/* Two factors of n > 0, the nearest to each other: *small × *large = n. A prime is 1 × n. */
void dataset_square(int64_t n, int64_t *small, int64_t *large);

/* The layout as JSON (dataset.json in the data folder), and back. `path` is for messages; the caller ends a layout
 * that was read with dataset_layout_release. */
#define DATASET_MANIFEST "dataset.json"
bool dataset_layout_write(const struct dataset_layout *layout, struct text *json, struct error *err);
bool dataset_layout_read(struct dataset_layout *layout, const char *path, const char *json, size_t length,
                         struct error *err);

#endif
