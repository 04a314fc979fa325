#include "dataset/image.h"

#include <inttypes.h>

bool image_check(const struct dataset_layout *layout, int64_t min, int64_t max, struct error *err)
{
    const char *name = layout->format->name;
    double bytes = layout->record_bytes;
    if (layout->element != DATASET_UINT8)
        return error_set(err, ERROR_INPUT, "dataset.record_element_type: %s files are uint8, found '%s'",
                         name, dataset_element_words[layout->element]);
    if (layout->samples_per_file != 1 || layout->eval_samples_per_file > 1)
        return error_set(err, ERROR_INPUT,
                         "dataset.num_samples_per_file: a %s file is one sample, found %" PRId64, name,
                         layout->samples_per_file);
    if (layout->dims_count > 2)
        return error_set(err, ERROR_INPUT, "dataset.record_dims: a %s file has at most 2, found %d", name,
                         layout->dims_count);
    for (int i = 0; i < layout->dims_count; i++)
        if (layout->dims[i] > 65500) /* JPEG_MAX_DIMENSION */
            return error_set(
                err, ERROR_INPUT,
                "dataset.record_dims[%d]: a picture has at most 65500 pixels a side, found %" PRId64, i,
                layout->dims[i]);
    if (layout->dims_count > 0)
        return true;
    /* dataset_layout_check: no draw is above 100 means. */
    double largest = layout->record_bytes_stdev > 0 ? 100 * bytes : bytes;
    if (bytes < (double)min || largest > (double)max)
        return error_set(err, ERROR_INPUT,
                         "dataset.record_length_bytes: a %s file has %" PRId64 " to %" PRId64
                         " bytes, found %g (deviation %g)",
                         name, min, max, bytes, layout->record_bytes_stdev);
    return true;
}

void image_set(struct dataset_file *file, int64_t height, int64_t width)
{
    file->dims_count = 2;
    file->dims[0] = height;
    file->dims[1] = width;
    file->record_bytes = height * width;
}

bool image_is_sized(struct dataset_file *file)
{
    if (file->dims_count == 1)
        image_set(file, 1, file->dims[0]);
    return file->layout->dims_count == 0 && !file->layout->dlio_sizes;
}

void image_index(struct dataset_index *index, int64_t file_bytes, int64_t height, int64_t width,
                 int64_t channels)
{
    *index = (struct dataset_index){
        .samples = 1,
        .per_sample = 1,
        .length = file_bytes,
        .element = DATASET_UINT8,
        .dims_count = channels > 1 ? 3 : 2,
        .dims = {height, width, channels > 1 ? channels : 0},
        .sample_bytes = height * width * channels,
    };
}

bool image_expect(const struct dataset_file *file, struct dataset_index *index)
{
    if (file->file_bytes == 0)
        return false;
    image_index(index, file->file_bytes, file->dims[0], file->dims[1], 1);
    return true;
}

int64_t image_bytes(const struct dataset_file *file)
{
    return file->file_bytes > 0 ? file->file_bytes : -1;
}
