/* One part of one file against what it should be. */
#ifndef REHEARSE_DATASET_COMPARE_H
#define REHEARSE_DATASET_COMPARE_H

#include "dataset/crew.h"
#include "dataset/format.h"
#include "dataset/sample.h"

/* Byte by byte: writes the part again, into a sink that compares. False: it cannot be read, or made. */
bool dataset_compare_bytes(const struct dataset_crew *crew, const struct dataset_file *file, int part,
                           const struct dataset_source *source, struct dataset_difference *difference,
                           struct error *err);

/* Sample by sample, as decoded. False: the file cannot be read as its format. */
bool dataset_compare_samples(const struct dataset_crew *crew, const struct dataset_file *file,
                             const char *path, const struct dataset_source *const *parts,
                             struct dataset_difference *difference, struct error *err);

#endif
