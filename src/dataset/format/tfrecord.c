/* TFRecord as DLIO writes it: a tf.train.Example {image: bytes, size: int64} per sample, and DALI's index of offsets and
 * lengths in index/{train,valid}/. */
#include "dataset/format/tfrecord.h"

#include "dataset/sum.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DATA, INDEX, PARTS };

#define MAX_HEAD 96

/* An Example of a size: what comes before the bytes of the image, and after. Protocol buffers: a key (field × 8 + type),
 * then the length or the number, seven bits per byte. */
struct example {
    unsigned char head[MAX_HEAD], tail[MAX_HEAD];
    size_t head_bytes, tail_bytes;
    int64_t bytes; /* of all */
};

static size_t put_number(unsigned char *to, uint64_t value)
{
    size_t n = 0;
    for (; value >= 128; value >>= 7)
        to[n++] = (unsigned char)(value | 128);
    to[n++] = (unsigned char)value;
    return n;
}

static size_t number_bytes(uint64_t value)
{
    unsigned char bytes[10];
    return put_number(bytes, value);
}

/* Key of a field that has a length, and the length. */
static size_t put_field(unsigned char *to, int field, uint64_t length)
{
    to[0] = (unsigned char)(field << 3 | 2);
    return 1 + put_number(to + 1, length);
}

static uint64_t field_bytes(uint64_t length)
{
    return 1 + number_bytes(length) + length;
}

static size_t put_name(unsigned char *to, const char *name)
{
    size_t n = put_field(to, 1, strlen(name));
    while (*name)
        to[n++] = (unsigned char)*name++;
    return n;
}

static void make_example(struct example *example, int64_t image)
{
    uint64_t bytes = (uint64_t)image;
    uint64_t image_list = field_bytes(bytes), image_feature = field_bytes(image_list);
    uint64_t image_entry = field_bytes(5) + field_bytes(image_feature);
    uint64_t size_list = field_bytes(number_bytes(bytes)), size_feature = field_bytes(size_list);
    uint64_t size_entry = field_bytes(4) + field_bytes(size_feature);
    uint64_t features = field_bytes(image_entry) + field_bytes(size_entry);
    unsigned char *at = example->head;
    at += put_field(at, 1, features);
    at += put_field(at, 1, image_entry);
    at += put_name(at, "image");
    at += put_field(at, 2, image_feature);
    at += put_field(at, 1, image_list);
    at += put_field(at, 1, bytes);
    example->head_bytes = (size_t)(at - example->head);
    at = example->tail;
    at += put_field(at, 1, size_entry);
    at += put_name(at, "size");
    at += put_field(at, 2, size_feature);
    at += put_field(at, 3, size_list);
    at += put_field(at, 1, number_bytes(bytes));
    at += put_number(at, bytes);
    example->tail_bytes = (size_t)(at - example->tail);
    example->bytes = (int64_t)field_bytes(features);
}

static int64_t frame_bytes(const struct dataset_file *file)
{
    struct example example;
    make_example(&example, file->record_bytes);
    return example.bytes + TFRECORD_FRAME;
}

/* Characters of the numbers 0, step, 2 × step, … (count of them), in decimals. */
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

static int64_t tfrecord_bytes(const struct dataset_file *file, int part)
{
    int64_t frame = frame_bytes(file);
    if (part == DATA)
        return file->samples * frame;
    return digits_of(frame, file->samples) + file->samples * (2 + snprintf(NULL, 0, "%" PRId64, frame));
}

static void tfrecord_path(const struct dataset_file *file, int part, struct text *path)
{
    struct text usual = {0};
    if (part == DATA) {
        dataset_usual_path(file, part, path);
        return;
    }
    dataset_usual_path(file, part, &usual);
    path->failed = path->failed || usual.failed;
    if (!usual.failed)
        text_format(path, "index/%s/%s.idx", file->eval ? "valid" : "train", strrchr(usual.data, '/') + 1);
    text_release(&usual);
}

static void put_record(struct dataset_writer *writer, const struct example *example,
                       const struct dataset_content *content, int64_t offset, int64_t bytes)
{
    unsigned char length[8];
    dataset_set_little(length, 8, (uint64_t)example->bytes);
    dataset_put(writer, length, 8);
    dataset_put_u32(writer, tfrecord_mask(dataset_crc32c(0, length, 8)));
    writer->sum = 0;
    writer->sum_of = dataset_crc32c;
    dataset_put(writer, example->head, example->head_bytes);
    dataset_put_content(writer, content, offset, bytes);
    dataset_put(writer, example->tail, example->tail_bytes);
    writer->sum_of = NULL;
    dataset_put_u32(writer, tfrecord_mask(writer->sum));
}

static bool tfrecord_write(const struct dataset_file *file, int part, const struct dataset_content *content,
                           const struct dataset_sink *sink, struct error *err)
{
    struct dataset_writer writer;
    struct example example;
    char line[64];
    if (!dataset_writer_init(&writer, sink, err))
        return false;
    make_example(&example, file->record_bytes);
    int64_t frame = example.bytes + TFRECORD_FRAME;
    for (int64_t i = 0; i < file->samples && !writer.failed; i++) {
        if (part == DATA) {
            put_record(&writer, &example, content, i * file->record_bytes, file->record_bytes);
        } else {
            snprintf(line, sizeof line, "%" PRId64 " %" PRId64 "\n", i * frame, frame);
            dataset_put_text(&writer, line);
        }
    }
    return dataset_writer_end(&writer);
}

static bool tfrecord_expect(const struct dataset_file *file, struct dataset_index *index)
{
    dataset_index_shape(index, file);
    index->stride = index->length = frame_bytes(file);
    return true;
}

const struct dataset_format dataset_format_tfrecord = {
    .name = "tfrecord",
    .extension = "tfrecord",
    .parts = PARTS,
    .path = tfrecord_path,
    .bytes = tfrecord_bytes,
    .write = tfrecord_write,
    .expect = tfrecord_expect,
    .locate = tfrecord_locate,
    .decode = tfrecord_decode,
    .exact = true,
};
