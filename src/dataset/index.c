#include "dataset/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void dataset_index_release(struct dataset_index *index)
{
    free(index->extents);
    free(index->detail);
    *index = (struct dataset_index){0};
}

void dataset_index_shape(struct dataset_index *index, const struct dataset_file *file)
{
    *index = (struct dataset_index){
        .samples = file->samples,
        .per_sample = 1,
        .element = file->element,
        .dims_count = file->dims_count,
        .sample_bytes = file->record_bytes,
    };
    memcpy(index->dims, file->dims, sizeof index->dims);
}

void dataset_index_bytes(struct dataset_index *index, int64_t bytes)
{
    *index = (struct dataset_index){
        .samples = 1,
        .per_sample = 1,
        .length = bytes,
        .element = DATASET_UINT8,
        .dims_count = 1,
        .dims = {bytes},
        .sample_bytes = bytes,
    };
}

bool dataset_decode_copy(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                         size_t raw_length, unsigned char *to, size_t capacity, size_t *length,
                         struct error *err)
{
    (void)index;
    if (raw_length > capacity)
        return error_set(err, ERROR_FAILED, "sample %" PRId64 " has %zu bytes, there is room for %zu", sample,
                         raw_length, capacity);
    memcpy(to, raw, raw_length);
    *length = raw_length;
    return true;
}

int64_t dataset_index_pieces(const struct dataset_index *index)
{
    return index->units > 0 ? index->units : index->samples;
}

int64_t dataset_index_extents(const struct dataset_index *index, int64_t sample,
                              struct dataset_extent *extents)
{
    if (!index->extents) {
        *extents = (struct dataset_extent){0, index->first + sample * index->stride, index->length};
        return 1;
    }
    memcpy(extents, index->extents + sample * index->per_sample, (size_t)index->per_sample * sizeof *extents);
    return index->per_sample;
}

int64_t dataset_index_length(const struct dataset_index *index, int64_t sample)
{
    int64_t length = 0;
    if (!index->extents)
        return index->length;
    for (int64_t i = 0; i < index->per_sample; i++)
        length += index->extents[sample * index->per_sample + i].length;
    return length;
}

int64_t dataset_index_longest(const struct dataset_index *index)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < (index->extents ? dataset_index_pieces(index) : 1); i++) {
        int64_t length = dataset_index_length(index, i);
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Makes room for one extent more, and lists the extents that were regular so far. */
static bool make_room(struct dataset_builder *builder, struct error *err)
{
    struct dataset_index *index = builder->index;
    if (index->samples < builder->capacity)
        return true;
    int64_t capacity = 2 * index->samples + 16;
    struct dataset_extent *extents = malloc((size_t)capacity * sizeof *extents);
    if (!extents)
        return error_memory(err);
    for (int64_t i = 0; i < index->samples; i++)
        dataset_index_extents(index, i, &extents[i]);
    free(index->extents);
    index->extents = extents;
    builder->capacity = capacity;
    return true;
}

static bool is_regular(const struct dataset_index *index, int64_t offset, int64_t length)
{
    if (index->samples == 0)
        return true;
    return !index->extents && length == index->length &&
           (index->samples == 1 || offset == index->first + index->samples * index->stride);
}

bool dataset_index_add(struct dataset_builder *builder, int64_t offset, int64_t length, struct error *err)
{
    struct dataset_index *index = builder->index;
    if (!is_regular(index, offset, length)) {
        if (!make_room(builder, err))
            return false;
        index->extents[index->samples] = (struct dataset_extent){0, offset, length};
    } else if (index->samples == 0) {
        *index = (struct dataset_index){.first = offset, .length = length, .stride = length, .per_sample = 1};
    } else if (index->samples == 1) {
        index->stride = offset - index->first;
    }
    index->samples++;
    return true;
}
