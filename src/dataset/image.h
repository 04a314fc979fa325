/* What image formats share: one 8-bit picture per file. */
#ifndef REHEARSE_DATASET_IMAGE_H
#define REHEARSE_DATASET_IMAGE_H

#include "dataset/format.h"

/* Can the layout be pictures, of files between `least` and `most` bytes? */
bool image_check(const struct dataset_layout *layout, int64_t least, int64_t most, struct error *err);

/* Is the size of the file its own to choose: neither shapes nor DLIO's sizes are asked for? Then record_bytes is what the
 * file should have. Else a missing second dimension is set. */
bool image_is_sized(struct dataset_file *file);

/* Sets the picture's sides. */
void image_set(struct dataset_file *file, int64_t height, int64_t width);

/* Sets the index of a picture: one sample, all of the file. */
void image_index(struct dataset_index *index, int64_t file_bytes, int64_t height, int64_t width,
                 int64_t channels);

/* The index of a file of known size. */
bool image_expect(const struct dataset_file *file, struct dataset_index *index);
int64_t image_bytes(const struct dataset_file *file, int part);

#endif
