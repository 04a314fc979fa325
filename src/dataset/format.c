#include "dataset/format.h"

#include <inttypes.h>
#include <string.h>

extern const struct dataset_format dataset_format_bert_tfrecord;
extern const struct dataset_format dataset_format_criteo_text;
extern const struct dataset_format dataset_format_csv;
extern const struct dataset_format dataset_format_dlrm_binary;
extern const struct dataset_format dataset_format_hdf5;
extern const struct dataset_format dataset_format_indexed_binary;
extern const struct dataset_format dataset_format_jpeg;
extern const struct dataset_format dataset_format_mmap_indexed_binary;
extern const struct dataset_format dataset_format_npy;
extern const struct dataset_format dataset_format_npz;
extern const struct dataset_format dataset_format_parquet;
extern const struct dataset_format dataset_format_png;
extern const struct dataset_format dataset_format_raw;
extern const struct dataset_format dataset_format_synthetic;
extern const struct dataset_format dataset_format_tfrecord;
extern const struct dataset_format dataset_format_unet3d_npy;

/* New formats go to the end: the corpus of fuzz/fuzz_dataset.c counts them. */
static const struct dataset_format *const formats[] = {
    &dataset_format_npz,
    &dataset_format_npy,
    &dataset_format_csv,
    &dataset_format_tfrecord,
    &dataset_format_indexed_binary,
    &dataset_format_mmap_indexed_binary,
    &dataset_format_raw,
    &dataset_format_synthetic,
    &dataset_format_png,
    &dataset_format_jpeg,
    &dataset_format_parquet,
    &dataset_format_hdf5,
    &dataset_format_unet3d_npy,
    &dataset_format_bert_tfrecord,
    &dataset_format_dlrm_binary,
    &dataset_format_criteo_text,
};

#define FORMAT_COUNT (sizeof formats / sizeof *formats)

const struct dataset_format *dataset_format_find(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

const struct dataset_format *const *dataset_formats(size_t *count)
{
    *count = FORMAT_COUNT;
    return formats;
}

/* Restricts floating point elements to [1, 2): any mantissa behind the exponent of 1. Random exponents would
 * make infinities and NaN. */
static void mask_floats(enum dataset_element element, struct dataset_bytes *bytes)
{
    if (element == DATASET_FLOAT16) {
        bytes->keep = 0x03ff03ff03ff03ffu;
        bytes->set = 0x3c003c003c003c00u;
    } else if (element == DATASET_FLOAT32) {
        bytes->keep = 0x007fffff007fffffu;
        bytes->set = 0x3f8000003f800000u;
    } else if (element == DATASET_FLOAT64) {
        bytes->keep = 0x000fffffffffffffu;
        bytes->set = 0x3ff0000000000000u;
    }
}

static void fill_generated(const void *context, int64_t offset, void *to, size_t n)
{
    dataset_bytes_fill(context, offset, to, n);
}

void dataset_content_init(struct dataset_content *content, struct dataset_bytes *bytes,
                          const struct dataset_file *file)
{
    const struct dataset_layout *layout = file->layout;
    dataset_bytes_init(bytes, layout->seed, (uint64_t)file->number, layout->compressibility);
    mask_floats(file->element, bytes);
    if (layout->format->mask)
        layout->format->mask(file, bytes);
    *content = (struct dataset_content){.context = bytes, .fill = fill_generated};
}

bool dataset_locate(const struct dataset_format *format, struct dataset_index *index, const char *path,
                    const struct dataset_source *const *parts, struct error *err)
{
    *index = (struct dataset_index){0};
    if (format->missing)
        return error_set(err, ERROR_FAILED, "this rehearse was built without %s, which %s files need",
                         format->missing, format->name);
    if (format->locate(index, path, parts, err))
        return true;
    dataset_index_release(index);
    return false;
}

bool dataset_open(const struct dataset_file *file, struct dataset_index *index, const char *path,
                  const struct dataset_source *const *parts, struct error *err)
{
    const struct dataset_format *format = file->layout->format;
    bool whole = !format->container && format->bytes(file) == parts[0]->size;
    if (whole && format->expect && format->expect(file, index))
        return true;
    return dataset_locate(format, index, path, parts, err);
}

static bool same_dims(const struct dataset_index *a, const struct dataset_index *b)
{
    return a->dims_count == b->dims_count &&
           memcmp(a->dims, b->dims, (size_t)a->dims_count * sizeof *a->dims) == 0;
}

bool dataset_index_check(const struct dataset_index *index, const struct dataset_file *file, const char *path,
                         struct error *err)
{
    const struct dataset_format *format = file->layout->format;
    struct dataset_index expected;
    if (index->samples != file->samples)
        return error_set(err, ERROR_INPUT, "%s: %" PRId64 " samples, expected %" PRId64, path, index->samples,
                         file->samples);
    if (!format->typed)
        return true;
    bool known = format->expect && format->expect(file, &expected);
    if (!known)
        dataset_index_shape(&expected, file);
    bool same = index->element == expected.element && index->sample_bytes == expected.sample_bytes &&
                (!known || same_dims(index, &expected));
    if (known)
        dataset_index_release(&expected);
    return same ||
           error_set(err, ERROR_INPUT, "%s: its samples have another type or shape than the data set", path);
}
