/* Compares one decoded sample with the generated one. */
#ifndef REHEARSE_DATASET_SAMPLE_H
#define REHEARSE_DATASET_SAMPLE_H

#include "dataset/format.h"

struct dataset_difference {
    bool differs;
    int64_t sample;      /* -1: offset is in the file; else in this decoded sample */
    int64_t offset;      /* of the first wrong byte */
    int expected, found; /* -1: the end */
};

/* Memory of one thread, reused between samples. Start with {0}. */
struct dataset_expected {
    unsigned char *bytes;
    size_t size;
    const struct dataset_layout *layout; /* of the array in `bytes`; NULL: none */
    int64_t number;
};
void dataset_expected_release(struct dataset_expected *expected);

/* `found` is a sample decoded by the format. False: no memory. */
bool dataset_sample_compare(struct dataset_expected *expected, const struct dataset_file *file,
                            const struct dataset_index *index, int64_t sample, const unsigned char *found,
                            size_t length, struct dataset_difference *difference, struct error *err);

/* Returns the first byte at which a and b differ by more than `tolerance`, or n. */
size_t dataset_first_difference(const unsigned char *a, const unsigned char *b, size_t n, int tolerance);

#endif
