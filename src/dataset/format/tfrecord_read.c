#include "dataset/format/tfrecord.h"

#include "dataset/sum.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW ((size_t)64 << 10) /* bytes that are read at once while records are walked */

/* Records state their length, so that finding them is a walk from one to the next. */
struct walk {
    const struct dataset_source *source;
    const char *path;
    struct error *err;
    unsigned char *window;
    int64_t at; /* where the window begins */
    size_t bytes;
};

static bool look(struct walk *walk, int64_t offset, const unsigned char **header)
{
    if (offset < walk->at || offset + TFRECORD_HEADER > walk->at + (int64_t)walk->bytes) {
        int64_t left = walk->source->size - offset;
        walk->at = offset;
        walk->bytes = left < (int64_t)WINDOW ? (size_t)left : WINDOW;
        if (!dataset_read(walk->source, walk->path, offset, walk->window, walk->bytes, "a record", walk->err))
            return false;
    }
    *header = walk->window + (offset - walk->at);
    return true;
}

static bool damaged(const struct walk *walk, int64_t offset, const char *what)
{
    return error_set(walk->err, ERROR_INPUT, "%s: record at byte %" PRId64 ": %s", walk->path, offset, what);
}

static bool walk_records(struct walk *walk, struct dataset_builder *builder)
{
    int64_t size = walk->source->size;
    for (int64_t offset = 0; offset < size;) {
        const unsigned char *header;
        if (size - offset < TFRECORD_FRAME)
            return damaged(walk, offset, "the file ends within it");
        if (!look(walk, offset, &header))
            return false;
        uint64_t length = dataset_little(header, 8);
        if (dataset_little(header + 8, 4) != tfrecord_mask(dataset_crc32c(0, header, 8)))
            return damaged(walk, offset, "wrong checksum of its length");
        if (length > (uint64_t)(size - offset - TFRECORD_FRAME))
            return damaged(walk, offset, "the file ends within it");
        if (!dataset_index_add(builder, offset, (int64_t)length + TFRECORD_FRAME, walk->err))
            return false;
        offset += (int64_t)length + TFRECORD_FRAME;
    }
    return true;
}

/* A field of a message of protocol buffers. */
struct field {
    unsigned number, type;
    uint64_t value; /* type 0; or of 1 and 5 */
    const unsigned char *bytes;
    size_t length; /* type 2 */
};

static bool take_number(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = *(*at)++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static bool take_field(const unsigned char **at, const unsigned char *end, struct field *field)
{
    uint64_t key;
    *field = (struct field){0};
    if (!take_number(at, end, &key) || key >> 3 == 0 || key >> 3 > 0x1fffffff)
        return false;
    field->number = (unsigned)(key >> 3);
    field->type = (unsigned)(key & 7);
    if (field->type == 0)
        return take_number(at, end, &field->value);
    uint64_t length = field->type == 1 ? 8 : 4;
    if (field->type == 2 ? !take_number(at, end, &length) : field->type != 1 && field->type != 5)
        return false;
    if (length > (uint64_t)(end - *at))
        return false;
    field->bytes = *at;
    field->length = (size_t)length;
    *at += length;
    return true;
}

/* Finds the first field of this number that has a length; false if there is none or the message is
 * damaged. */
static bool find_field(const unsigned char *message, size_t length, unsigned number, struct field *field)
{
    const unsigned char *at = message, *end = message + length;
    while (at < end) {
        if (!take_field(&at, end, field))
            return false;
        if (field->number == number && field->type == 2)
            return true;
    }
    return false;
}

/* Finds the bytes of feature `name` in an Example: features (1) → entries (1) of key (1) and value (2) →
 * bytes list (1) → value (1). */
static bool find_feature(const unsigned char *example, size_t length, const char *name, struct field *found)
{
    struct field features, entry, key, value;
    if (!find_field(example, length, 1, &features))
        return false;
    const unsigned char *at = features.bytes, *end = at + features.length;
    while (at < end && take_field(&at, end, &entry)) {
        if (entry.number != 1 || entry.type != 2 || !find_field(entry.bytes, entry.length, 1, &key) ||
            key.length != strlen(name) || memcmp(key.bytes, name, key.length) != 0)
            continue;
        return find_field(entry.bytes, entry.length, 2, &value) &&
               find_field(value.bytes, value.length, 1, &value) &&
               find_field(value.bytes, value.length, 1, found);
    }
    return false;
}

/* Finds the bytes that are decoded of a record: its image, or all of an Example of another kind. */
static void image_of(const unsigned char *data, size_t length, const unsigned char **image,
                     size_t *image_length)
{
    struct field found;
    *image = data;
    *image_length = length;
    if (find_feature(data, length, "image", &found)) {
        *image = found.bytes;
        *image_length = found.length;
    }
}

/* Sets the size of samples: of the first image if all records are alike, else the maximum that one can
 * have. */
static bool set_shape(struct dataset_index *index, const struct dataset_source *source, const char *path,
                      struct error *err)
{
    const unsigned char *image;
    size_t image_length;
    int64_t max = dataset_index_longest(index) - TFRECORD_FRAME;
    index->sample_bytes = max;
    if (!index->extents) {
        unsigned char *data =
            dataset_load(source, path, index->first + TFRECORD_HEADER, (size_t)max, "a record", err);
        if (!data)
            return false;
        image_of(data, (size_t)max, &image, &image_length);
        index->sample_bytes = (int64_t)image_length;
        free(data);
    }
    index->dims_count = 1;
    index->dims[0] = index->sample_bytes;
    return true;
}

bool tfrecord_locate(struct dataset_index *index, const char *path, const struct dataset_source *const *parts,
                     struct error *err)
{
    struct dataset_builder builder = {.index = index};
    struct walk walk = {.source = parts[0], .path = path, .err = err, .window = malloc(WINDOW)};
    if (!walk.window)
        return error_memory(err);
    bool walked = walk_records(&walk, &builder);
    free(walk.window);
    if (!walked)
        return false;
    if (index->samples == 0)
        return error_set(err, ERROR_INPUT, "%s: no records", path);
    return set_shape(index, parts[0], path, err);
}

bool tfrecord_decode(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                     size_t raw_length, unsigned char *to, size_t capacity, size_t *length, struct error *err)
{
    const unsigned char *image;
    (void)index;
    if (raw_length < TFRECORD_FRAME || dataset_little(raw, 8) != raw_length - TFRECORD_FRAME)
        return error_set(err, ERROR_INPUT, "record %" PRId64 ": wrong length", sample);
    if (dataset_little(raw + 8, 4) != tfrecord_mask(dataset_crc32c(0, raw, 8)))
        return error_set(err, ERROR_INPUT, "record %" PRId64 ": wrong checksum of its length", sample);
    size_t data = raw_length - TFRECORD_FRAME;
    if (dataset_little(raw + TFRECORD_HEADER + data, 4) !=
        tfrecord_mask(dataset_crc32c(0, raw + TFRECORD_HEADER, data)))
        return error_set(err, ERROR_INPUT, "record %" PRId64 ": wrong checksum of its data", sample);
    image_of(raw + TFRECORD_HEADER, data, &image, length);
    if (*length > capacity)
        return error_set(err, ERROR_FAILED, "record %" PRId64 " has %zu bytes, there is room for %zu", sample,
                         *length, capacity);
    memcpy(to, image, *length);
    return true;
}
