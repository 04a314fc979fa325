#include "dataset/sample.h"

#include "dataset/format/npy.h"

#include <stdlib.h>
#include <string.h>

void dataset_expected_release(struct dataset_expected *expected)
{
    free(expected->bytes);
    *expected = (struct dataset_expected){0};
}

size_t dataset_first_difference(const unsigned char *a, const unsigned char *b, size_t n, int tolerance)
{
    if (memcmp(a, b, n) == 0)
        return n;
    for (size_t i = 0; i < n; i++)
        if (abs(a[i] - b[i]) > tolerance)
            return i;
    return n;
}

static bool make_room(struct dataset_expected *expected, size_t size, struct error *err)
{
    if (expected->bytes && expected->size >= size)
        return true;
    dataset_expected_release(expected);
    expected->bytes = malloc(size + 1);
    if (!expected->bytes)
        return error_memory(err);
    expected->size = size;
    return true;
}

/* Makes the expected sample at the start of expected->bytes. Interleaved samples lie element by element in
 * one array, which is made once and kept behind it. */
static bool make_expected(struct dataset_expected *expected, const struct dataset_file *file,
                          const struct dataset_index *index, int64_t sample, size_t *length,
                          struct error *err)
{
    const struct dataset_format *format = file->layout->format;
    struct dataset_content content;
    struct dataset_bytes bytes;
    size_t record = (size_t)file->record_bytes, array = (size_t)file->payload_bytes;
    bool interleaved = index->interleaved > 0;
    if (!make_room(expected, interleaved ? record + array : record, err))
        return false;
    dataset_content_init(&content, &bytes, file);
    if (interleaved) {
        if (expected->layout != file->layout || expected->number != file->number)
            content.fill(content.context, 0, expected->bytes + record, array);
        expected->layout = file->layout;
        expected->number = file->number;
        return npy_pick(index, sample, expected->bytes + record, array, expected->bytes, record, length, err);
    }
    expected->layout = NULL;
    *length = record;
    if (format->sample)
        *length = format->sample(file, &content, sample, expected->bytes);
    else
        content.fill(content.context, sample * file->record_bytes, expected->bytes, record);
    return true;
}

bool dataset_sample_compare(struct dataset_expected *expected, const struct dataset_file *file,
                            const struct dataset_index *index, int64_t sample, const unsigned char *found,
                            size_t length, struct dataset_difference *difference, struct error *err)
{
    size_t n;
    *difference = (struct dataset_difference){.sample = sample};
    if (!make_expected(expected, file, index, sample, &n, err))
        return false;
    size_t common = length < n ? length : n;
    size_t at = dataset_first_difference(expected->bytes, found, common, file->layout->format->tolerance);
    if (at < common)
        *difference = (struct dataset_difference){true, sample, (int64_t)at, expected->bytes[at], found[at]};
    else if (length != n)
        *difference = (struct dataset_difference){true, sample, (int64_t)common, -1, -1};
    return true;
}
