/* Files of data sets: the first byte says the format, the second where the rest is cut into its parts. What is located
 * lies within the file, and every sample decodes or is refused. */
#include "dataset/format.h"
#include "walk.h"

#include <stddef.h>
#include <stdint.h>

#define MAX_SAMPLES 64
#define MAX_BYTES   (1 << 20) /* of what is decoded */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct piece {
    unsigned char *bytes; /* of its size exactly: what is read beyond it is found */
    size_t size;
};

static bool read_piece(void *context, int64_t offset, void *to, size_t n, struct error *err)
{
    const struct piece *piece = context;
    (void)err;
    require(offset >= 0 && (uint64_t)offset <= piece->size && n <= piece->size - (size_t)offset);
    if (n > 0)
        memcpy(to, piece->bytes + offset, n);
    return true;
}

/* The sample's extents, joined. NULL: no memory, or more than this target looks at. */
static unsigned char *gather(const struct dataset_index *index, int64_t sample, const struct piece *pieces,
                             int count, size_t *length)
{
    struct dataset_extent *extents = malloc((size_t)index->per_sample * sizeof *extents);
    unsigned char *raw = NULL;
    if (!extents)
        return NULL;
    int64_t n = dataset_index_extents(index, sample, extents), sum = 0;
    for (int64_t i = 0; i < n; i++) {
        require(extents[i].part >= 0 && extents[i].part < count && extents[i].offset >= 0 &&
                extents[i].length >= 0);
        require(extents[i].offset + extents[i].length <= (int64_t)pieces[extents[i].part].size);
        sum += extents[i].length;
    }
    require(sum == dataset_index_length(index, sample));
    *length = (size_t)sum;
    raw = malloc(sum > 0 ? (size_t)sum : 1);
    for (int64_t i = 0, at = 0; raw && i < n; at += extents[i++].length)
        if (extents[i].length > 0)
            memcpy(raw + at, pieces[extents[i].part].bytes + extents[i].offset, (size_t)extents[i].length);
    free(extents);
    return raw;
}

static void decode_samples(const struct dataset_format *format, const struct dataset_index *index,
                           const struct piece *pieces, int count)
{
    size_t capacity = (size_t)index->sample_bytes;
    if (index->sample_bytes > MAX_BYTES || index->unpacked > MAX_BYTES)
        return;
    for (int64_t i = 0; i < index->samples && i < MAX_SAMPLES; i++) {
        struct error err = {0};
        size_t raw_length, length = 0;
        unsigned char *raw = gather(index, i, pieces, count, &raw_length);
        unsigned char *to = malloc(capacity > 0 ? capacity : 1);
        if (raw && to) {
            if (format->decode(index, i, raw, raw_length, to, capacity, &length, &err))
                require(length <= capacity);
            else
                require_message(&err);
        }
        free(raw);
        free(to);
    }
}

/* Values that are handed on lie in memory: the sanitizer looks at them. */
static bool look_at(void *context, const struct dataset_values *values, struct error *err)
{
    unsigned *sum = context;
    (void)err;
    require(values->count > 0 && values->bytes);
    for (size_t i = 0; i < values->length; i++)
        *sum += values->bytes[i];
    return true;
}

static void scan_units(const struct dataset_format *format, const struct dataset_index *index,
                       const struct dataset_source *source)
{
    unsigned sum = 0;
    for (int64_t unit = 0; unit < index->units && unit < MAX_SAMPLES; unit++) {
        struct dataset_scan scan = {.path = "fuzz", .source = source, .context = &sum, .take = look_at};
        struct error err = {0};
        if (!format->scan(index, unit, &scan, &err))
            require_message(&err);
    }
}

static void check_index(const struct dataset_index *index, const struct piece *pieces, int count)
{
    require(index->samples > 0 && index->sample_bytes >= 0 && index->per_sample > 0);
    require(index->dims_count >= 0 && index->dims_count <= DATASET_MAX_DIMS);
    require(index->open_count >= 0 && index->open_count <= DATASET_MAX_OPEN);
    for (int i = 0; i < index->open_count; i++) {
        require(index->open[i].part >= 0 && index->open[i].part < count);
        require(index->open[i].offset >= 0 && index->open[i].length >= 0);
        require(index->open[i].offset + index->open[i].length <= (int64_t)pieces[index->open[i].part].size);
    }
}

/* Parts but the first have at most 2048 bytes, an eighth of which per step of `cut`; false: no memory. */
static bool cut_pieces(struct piece *pieces, int count, unsigned cut, const uint8_t *data, size_t size)
{
    size_t other = count > 1 ? 8 * (size_t)cut : 0;
    bool made = true;
    if (other * (size_t)(count - 1) > size)
        other = 0;
    for (int i = count - 1; i >= 0; i--) {
        pieces[i].size = i ? other : size;
        size -= pieces[i].size;
        pieces[i].bytes = malloc(pieces[i].size ? pieces[i].size : 1);
        made = made && pieces[i].bytes;
        if (pieces[i].bytes && pieces[i].size > 0)
            memcpy(pieces[i].bytes, data + (i ? size : 0), pieces[i].size);
    }
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t format_count;
    const struct dataset_format *const *formats = dataset_formats(&format_count);
    struct piece pieces[DATASET_MAX_PARTS] = {0};
    struct dataset_source sources[DATASET_MAX_PARTS];
    const struct dataset_source *parts[DATASET_MAX_PARTS] = {0};
    struct dataset_index index;
    struct error err = {0};
    if (size < 2)
        return 0;
    const struct dataset_format *format = formats[data[0] % format_count];
    if (strcmp(format->name, "hdf5") ==
        0) /* libhdf5 1.10 fails on damaged files by itself: that is not looked for here */
        return 0;
    if (cut_pieces(pieces, format->parts, data[1], data + 2, size - 2)) {
        for (int i = 0; i < format->parts; i++) {
            sources[i] = (struct dataset_source){&pieces[i], (int64_t)pieces[i].size, read_piece};
            parts[i] = &sources[i];
        }
        if (dataset_locate(format, &index, "fuzz", parts, &err)) {
            check_index(&index, pieces, format->parts);
            if (format->scan)
                scan_units(format, &index, parts[0]);
            else
                decode_samples(format, &index, pieces, format->parts);
            dataset_index_release(&index);
        } else {
            require_message(&err);
        }
    }
    for (int i = 0; i < format->parts; i++)
        free(pieces[i].bytes);
    return 0;
}
