/* Compares one part of one file with its expected content. */
#ifndef REHEARSE_DATASET_COMPARE_H
#define REHEARSE_DATASET_COMPARE_H

#include "dataset/crew.h"
#include "dataset/format.h"
#include "dataset/sample.h"

/* Compares bytes: makes the part again, into a comparing sink. False: it cannot be read or made. */
bool dataset_compare_bytes(const struct dataset_crew *crew, const struct dataset_file *file, int part,
                           const struct dataset_source *source, struct dataset_difference *difference,
                           struct error *err);

/* Compares decoded samples. False: the file cannot be read in its format. */
bool dataset_compare_samples(const struct dataset_crew *crew, const struct dataset_file *file,
                             const char *path, const struct dataset_source *const *parts,
                             struct dataset_difference *difference, struct error *err);

#endif
