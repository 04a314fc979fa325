/* TFRecord as DLIO writes it: a tf.train.Example {image: bytes, size: int64} per sample, and DALI's index of
 * offsets and lengths in index/{train,valid}/. */
#include "dataset/format/tfrecord.h"

#include "dataset/sum.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DATA, INDEX, PARTS };

#define MAX_HEAD 96

/* An Example of a size: the bytes before those of the image, and behind them. */
struct example {
    unsigned char head[MAX_HEAD], tail[MAX_HEAD];
    size_t head_bytes, tail_bytes;
    int64_t bytes; /* of all */
};

void tfrecord_begin(struct dataset_writer *writer, uint64_t length)
{
    unsigned char bytes[8];
    dataset_set_little(bytes, 8, length);
    dataset_put(writer, bytes, 8);
    dataset_put_u32(writer, tfrecord_mask(dataset_crc32c(0, bytes, 8)));
    writer->sum = 0;
    writer->sum_of = dataset_crc32c;
}

void tfrecord_end(struct dataset_writer *writer)
{
    writer->sum_of = NULL;
    dataset_put_u32(writer, tfrecord_mask(writer->sum));
}

unsigned char *protobuf_put_number(unsigned char *to, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        *to++ = (unsigned char)(value | 128);
    *to++ = (unsigned char)value;
    return to;
}

static size_t protobuf_number_bytes(uint64_t value)
{
    unsigned char bytes[10];
    return (size_t)(protobuf_put_number(bytes, value) - bytes);
}

unsigned char *protobuf_put_field(unsigned char *to, int field, uint64_t length)
{
    *to++ = (unsigned char)(field << 3 | 2);
    return protobuf_put_number(to, length);
}

size_t protobuf_field_bytes(uint64_t length)
{
    return 1 + protobuf_number_bytes(length) + (size_t)length;
}

/* A value is a feature, which is a list, which has the values. */
static size_t feature_bytes(uint64_t values)
{
    return protobuf_field_bytes(protobuf_field_bytes(values));
}

size_t example_entry_bytes(const char *name, uint64_t values)
{
    return protobuf_field_bytes(strlen(name)) + protobuf_field_bytes(feature_bytes(values));
}

unsigned char *example_put_entry(unsigned char *to, const char *name, int list, uint64_t values)
{
    size_t length = strlen(name);
    to = protobuf_put_field(to, 1, example_entry_bytes(name, values));
    to = protobuf_put_field(to, 1, length);
    to = mempcpy(to, name, length);
    to = protobuf_put_field(to, 2, feature_bytes(values));
    to = protobuf_put_field(to, list, protobuf_field_bytes(values));
    return protobuf_put_field(to, 1, values);
}

static void make_example(struct example *example, int64_t image)
{
    uint64_t bytes = (uint64_t)image, size = protobuf_number_bytes(bytes);
    uint64_t features = protobuf_field_bytes(example_entry_bytes("image", bytes)) +
                        protobuf_field_bytes(example_entry_bytes("size", size));
    unsigned char *head = protobuf_put_field(example->head, 1, features);
    head = example_put_entry(head, "image", EXAMPLE_BYTES, bytes);
    unsigned char *tail = example_put_entry(example->tail, "size", EXAMPLE_NUMBERS, size);
    tail = protobuf_put_number(tail, bytes);
    example->head_bytes = (size_t)(head - example->head);
    example->tail_bytes = (size_t)(tail - example->tail);
    example->bytes = (int64_t)protobuf_field_bytes(features);
}

static int64_t frame_bytes(const struct dataset_file *file)
{
    struct example example;
    make_example(&example, file->record_bytes);
    return example.bytes + TFRECORD_FRAME;
}

/* Counts the characters of the numbers 0, step, 2 × step, … (count of them), in decimals. */
static int64_t digits_of(int64_t step, int64_t count)
{
    int64_t sum = count, limit = 1;
    for (int digits = 1; digits < 19; digits++) {
        limit *= 10;
        int64_t below = (limit - 1) / step + 1; /* multiples of step below the limit */
        if (below >= count)
            break;
        sum += count - below;
    }
    return sum;
}

static int64_t tfrecord_bytes(const struct dataset_file *file)
{
    int64_t frame = frame_bytes(file);
    if (file->part == DATA)
        return file->samples * frame;
    return digits_of(frame, file->samples) + file->samples * (2 + snprintf(NULL, 0, "%" PRId64, frame));
}

static void tfrecord_path(const struct dataset_file *file, struct text *path)
{
    struct text usual = {0};
    if (file->part == DATA) {
        dataset_usual_path(file, path);
        return;
    }
    dataset_usual_path(file, &usual);
    path->failed = path->failed || usual.failed;
    if (!usual.failed)
        text_format(path, "index/%s/%s.idx", file->eval ? "valid" : "train", strrchr(usual.data, '/') + 1);
    text_release(&usual);
}

static void tfrecord_write(const struct dataset_file *file, const struct dataset_content *content,
                           struct dataset_writer *writer)
{
    struct example example;
    char line[64];
    make_example(&example, file->record_bytes);
    int64_t frame = example.bytes + TFRECORD_FRAME;
    for (int64_t i = 0; i < file->samples && !writer->failed; i++) {
        if (file->part == DATA) {
            tfrecord_begin(writer, (uint64_t)example.bytes);
            dataset_put(writer, example.head, example.head_bytes);
            dataset_put_content(writer, content, i * file->record_bytes, file->record_bytes);
            dataset_put(writer, example.tail, example.tail_bytes);
            tfrecord_end(writer);
        } else {
            snprintf(line, sizeof line, "%" PRId64 " %" PRId64 "\n", i * frame, frame);
            dataset_put_text(writer, line);
        }
    }
}

static bool tfrecord_expect(const struct dataset_file *file, struct dataset_index *index)
{
    dataset_index_shape(index, file);
    index->stride = index->length = frame_bytes(file);
    return true;
}

const struct dataset_format dataset_format_tfrecord = {
    DATASET_FORMAT_OF(tfrecord), .parts = PARTS, .path = tfrecord_path,
    .decode = tfrecord_decode,   .exact = true,
};
