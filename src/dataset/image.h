/* Shared by image formats: one 8-bit picture per file. */
#ifndef REHEARSE_DATASET_IMAGE_H
#define REHEARSE_DATASET_IMAGE_H

#include "dataset/format.h"

/* Returns true if the layout's files can be pictures of `min` to `max` bytes. */
bool image_check(const struct dataset_layout *layout, int64_t min, int64_t max, struct error *err);

/* Returns true if the file's size is free (neither shapes nor DLIO's sizes are set): record_bytes is then the
 * target. Otherwise sets a missing second dimension. */
bool image_is_sized(struct dataset_file *file);

/* Sets the picture's width and height. */
void image_set(struct dataset_file *file, int64_t height, int64_t width);

/* Makes a picture's index: one sample, the whole file. */
void image_index(struct dataset_index *index, int64_t file_bytes, int64_t height, int64_t width,
                 int64_t channels);

/* Makes the index of a file of known size. */
bool image_expect(const struct dataset_file *file, struct dataset_index *index);
int64_t image_bytes(const struct dataset_file *file);

#endif
