#include "dataset/format/npy.h"

#include "dataset/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER 65536 /* bytes of a header that is read */

struct numpy_array npy_array(const struct dataset_file *file)
{
    struct numpy_array array = {
        .element = file->element,
        .dims_count = file->dims_count + 1,
        .bytes = file->payload_bytes,
    };
    memcpy(array.dims, file->dims, sizeof file->dims);
    array.dims[file->dims_count] = file->samples;
    numpy_header_write(&array);
    return array;
}

bool npy_index(struct dataset_index *index, const struct numpy_array *array, const char *path,
               struct error *err)
{
    bool many = array->dims_count > 1;
    *index = (struct dataset_index){
        .samples = many ? array->dims[array->dims_count - 1] : 1,
        .per_sample = 1,
        .length = array->bytes,
        .element = array->element,
        .dims_count = many ? array->dims_count - 1 : array->dims_count,
    };
    memcpy(index->dims, array->dims, sizeof index->dims);
    if (index->samples == 0)
        return error_set(err, ERROR_INPUT, "%s: an array without samples (its last dimension is 0)", path);
    index->sample_bytes = array->bytes / index->samples;
    index->interleaved = index->samples;
    return true;
}

bool npy_pick(const struct dataset_index *index, int64_t sample, const unsigned char *array, size_t length,
              unsigned char *to, size_t capacity, size_t *picked, struct error *err)
{
    size_t element = (size_t)dataset_element_bytes(index->element), bytes = (size_t)index->sample_bytes;
    size_t step = element * (size_t)index->samples;
    if (capacity < bytes || length / (size_t)index->samples < bytes)
        return error_set(err, ERROR_FAILED,
                         "sample %" PRId64 " has %zu bytes; there is room for %zu and an array of %zu",
                         sample, bytes, capacity, length);
    *picked = bytes;
    if (index->samples == 1) {
        memcpy(to, array, bytes);
        return true;
    }
    array += (size_t)sample * element;
    for (size_t at = 0; at < bytes; at += element, array += step)
        memcpy(to + at, array, element);
    return true;
}

static int64_t npy_bytes(const struct dataset_file *file)
{
    return npy_array(file).header_bytes + file->payload_bytes;
}

static void npy_write(const struct dataset_file *file, const struct dataset_content *content,
                      struct dataset_writer *writer)
{
    struct numpy_array array = npy_array(file);
    dataset_put(writer, array.header, (size_t)array.header_bytes);
    dataset_put_content(writer, content, 0, file->payload_bytes);
}

static void place(struct dataset_index *index, const struct numpy_array *array)
{
    index->open_count = 1;
    index->open[0] = (struct dataset_extent){0, 0, array->header_bytes};
    index->first = array->header_bytes;
}

static bool npy_expect(const struct dataset_file *file, struct dataset_index *index)
{
    struct numpy_array array = npy_array(file);
    struct error err;
    if (!npy_index(index, &array, "", &err))
        return false;
    place(index, &array);
    return true;
}

bool npy_read_header(struct numpy_array *array, const char *path, const struct dataset_source *source,
                     struct error *err)
{
    size_t length = source->size < MAX_HEADER ? (size_t)source->size : MAX_HEADER;
    unsigned char *header = dataset_load(source, path, 0, length, "its header", err);
    bool read = header && numpy_header_read(array, path, (const char *)header, length, err);
    free(header);
    if (read && array->bytes > source->size - array->header_bytes)
        return error_set(err, ERROR_INPUT, "%s: ends within its array: %" PRId64 " bytes of %" PRId64, path,
                         source->size - array->header_bytes, array->bytes);
    return read;
}

static bool npy_locate(struct dataset_index *index, const char *path,
                       const struct dataset_source *const *parts, struct error *err)
{
    struct numpy_array array;
    if (!npy_read_header(&array, path, parts[0], err) || !npy_index(index, &array, path, err))
        return false;
    place(index, &array);
    return true;
}

const struct dataset_format dataset_format_npy = {
    DATASET_FORMAT_OF(npy), .parts = 1, .decode = npy_pick, .container = true, .typed = true, .exact = true,
};
