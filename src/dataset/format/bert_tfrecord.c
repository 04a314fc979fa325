/* The BERT data of the VLDB study: TFRecords part-00027-of-00500 and on, of 260,461 tf.train.Examples each
 * with the seven features of BERT's pre-training. A text has 0 to 511 tokens (ids below 30,522), of which 15 per cent
 * are masked; all is padded with zeros to 512 and 76.
 *
 * The bytes that a number takes in an Example depend on it. So that sizes are known without making the texts,
 * a text's length says them: ids of even places take two bytes (128 to 16,383) and those of odd places three,
 * about as evenly as the study's; masked places lie spread over the text. For total_bytes there are as many
 * records as fit; what is missing is less than one. */
#include "dataset/format/tfrecord.h"
#include "dataset/units.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <string.h>

#define TOKENS      512
#define MASKED      76
#define VOCABULARY  30522
#define RECORDS     260461 /* per file */
#define FIRST_PART  27
#define SHARE       15  /* per cent of the tokens that are masked */
#define TWO_BYTES   128 /* the least number that takes two in an Example, and three */
#define THREE_BYTES 16384
#define MAX_EXAMPLE                                                                                          \
    4096 /* bytes of an Example, 3.2 kB at most, rounded up; also between random bytes of two */
#define RANDOM        1280               /* of these are used */
#define LENGTH_STREAM 16                 /* of dataset_draw_bits; one more for each file */
#define MAX_FILES     ((int64_t)1 << 20) /* that total_bytes may take */

enum { IDS, MASK, SEGMENTS, POSITIONS, MASKED_IDS, WEIGHTS, NEXT, FEATURES };

static const char *const names[FEATURES] = {
    "input_ids",     "input_mask",        "segment_ids",          "masked_lm_positions",
    "masked_lm_ids", "masked_lm_weights", "next_sentence_labels",
};

static int tokens_of(const struct dataset_file *file, int64_t record)
{
    uint64_t stream = LENGTH_STREAM + (uint64_t)file->number;
    return (int)(dataset_draw_bits(file->layout->seed, stream, (uint64_t)record) >> 55);
}

static int masked_of(int tokens)
{
    return tokens * SHARE / 100;
}

/* Returns the place of the masked token j of k, before it is moved to another place whose number and id take
 * as many bytes. */
static int position_of(int j, int k, int tokens)
{
    return j * tokens / k;
}

/* Sets the bytes of the values of each feature. */
static void value_bytes(int tokens, size_t bytes[FEATURES])
{
    int masked = masked_of(tokens);
    bytes[IDS] = (size_t)(TOKENS - tokens + (tokens + 1) / 2 * 2 + tokens / 2 * 3);
    bytes[MASK] = bytes[SEGMENTS] = TOKENS;
    bytes[POSITIONS] = bytes[MASKED_IDS] = (size_t)(MASKED - masked);
    for (int j = 0; j < masked; j++) {
        int position = position_of(j, masked, tokens);
        bytes[POSITIONS] += position < TWO_BYTES ? 1 : 2;
        bytes[MASKED_IDS] += position % 2 ? 3 : 2;
    }
    bytes[WEIGHTS] = sizeof(float) * MASKED;
    bytes[NEXT] = 1;
}

static size_t features_bytes(const size_t values[FEATURES])
{
    size_t bytes = 0;
    for (int i = 0; i < FEATURES; i++)
        bytes += protobuf_field_bytes(example_entry_bytes(names[i], values[i]));
    return bytes;
}

static unsigned char *put_feature(unsigned char *to, int feature, size_t values)
{
    return example_put_entry(to, names[feature], feature == WEIGHTS ? EXAMPLE_FLOATS : EXAMPLE_NUMBERS,
                             values);
}

static unsigned random_at(const unsigned char *random, int i, unsigned range)
{
    return (unsigned)dataset_little(random + 2 * (size_t)i, 2) * range >> 16;
}

static unsigned id_at(const unsigned char *random, int position)
{
    if (position % 2)
        return THREE_BYTES + random_at(random, position, VOCABULARY - THREE_BYTES);
    return TWO_BYTES + random_at(random, position, THREE_BYTES - TWO_BYTES);
}

static unsigned char *put_id(unsigned char *to, unsigned id, int position)
{
    *to++ = (unsigned char)(id | 128);
    *to++ = (unsigned char)(position % 2 ? id >> 7 | 128 : id >> 7);
    if (position % 2)
        *to++ = (unsigned char)(id >> 14);
    return to;
}

static unsigned char *put_ids(unsigned char *to, const unsigned char *random, int tokens)
{
    for (int i = 0; i < tokens; i++)
        to = put_id(to, id_at(random, i), i);
    memset(to, 0, (size_t)(TOKENS - tokens));
    return to + TOKENS - tokens;
}

/* Moves each masked place to a random one of as many bytes. */
static void move_positions(int positions[MASKED], const unsigned char *random, int tokens)
{
    int masked = masked_of(tokens);
    for (int j = 0; j < masked; j++) {
        int at = position_of(j, masked, tokens);
        int begin = at < TWO_BYTES ? 0 : TWO_BYTES,
            end = at < TWO_BYTES && tokens > TWO_BYTES ? TWO_BYTES : tokens;
        unsigned places = (unsigned)(end - begin + (at % 2 ? 0 : 1)) / 2;
        positions[j] = begin + at % 2 + 2 * (int)random_at(random, TOKENS + j, places);
    }
}

static size_t make_example(unsigned char *example, const unsigned char *random, int tokens)
{
    static const unsigned char one[4] = {0, 0, 0x80, 0x3f}; /* as a float */
    size_t values[FEATURES];
    int positions[MASKED], masked = masked_of(tokens);
    int second =
        (int)random_at(random, TOKENS + MASKED, (unsigned)tokens + 1); /* where the second text begins */
    value_bytes(tokens, values);
    move_positions(positions, random, tokens);
    unsigned char *at = protobuf_put_field(example, 1, features_bytes(values));
    at = put_feature(at, IDS, values[IDS]);
    at = put_ids(at, random, tokens);
    at = put_feature(at, MASK, TOKENS);
    memset(at, 1, (size_t)tokens);
    memset(at + tokens, 0, (size_t)(TOKENS - tokens));
    at = put_feature(at + TOKENS, SEGMENTS, TOKENS);
    memset(at, 0, TOKENS);
    memset(at + second, 1, (size_t)(tokens - second));
    at = put_feature(at + TOKENS, POSITIONS, values[POSITIONS]);
    for (int j = 0; j < MASKED; j++)
        at = protobuf_put_number(at, j < masked ? (size_t)positions[j] : 0);
    at = put_feature(at, MASKED_IDS, values[MASKED_IDS]);
    for (int j = 0; j < masked; j++)
        at = put_id(at, id_at(random, positions[j]), positions[j]);
    memset(at, 0, (size_t)(MASKED - masked));
    at = put_feature(at + MASKED - masked, WEIGHTS, values[WEIGHTS]);
    memset(at, 0, values[WEIGHTS]);
    for (int j = 0; j < masked; j++)
        memcpy(at + 4 * (size_t)j, one, 4);
    at = put_feature(at + values[WEIGHTS], NEXT, 1);
    *at++ = (unsigned char)random_at(random, TOKENS + MASKED + 1, 2);
    return (size_t)(at - example);
}

/* Sets the bytes of a record with its frame, for each length of its text. */
static void record_bytes(int64_t bytes[TOKENS])
{
    for (int tokens = 0; tokens < TOKENS; tokens++) {
        size_t values[FEATURES];
        value_bytes(tokens, values);
        bytes[tokens] = TFRECORD_FRAME + (int64_t)protobuf_field_bytes(features_bytes(values));
    }
}

static void bert_shape(struct dataset_file *file)
{
    file->element = DATASET_UINT8;
    if (units_is_last(file))
        file->samples = file->layout->last[0];
    units_shape(file, MAX_EXAMPLE);
}

/* Counts the records of the file that fit into `left` bytes, and takes their bytes from it. */
static int64_t fit_records(const struct dataset_file *file, int64_t *left)
{
    int64_t bytes[TOKENS], count = 0;
    record_bytes(bytes);
    for (; count < file->layout->samples_per_file; count++) {
        int64_t record = bytes[tokens_of(file, count)];
        if (record > *left)
            break;
        *left -= record;
    }
    return count;
}

static bool bert_fit(struct dataset_layout *layout, struct error *err)
{
    struct dataset_file file = {.layout = layout};
    int64_t left = layout->total_bytes;
    if (layout->samples_per_file == 1)
        layout->samples_per_file = RECORDS;
    for (layout->files_train = 0; layout->files_train < MAX_FILES; layout->files_train++) {
        file.number = layout->files_train;
        int64_t records = fit_records(&file, &left);
        if (records > 0)
            layout->last[0] = records;
        else
            break;
    }
    if (layout->files_train == 0)
        return error_set(err, ERROR_INPUT, "total_bytes: %" PRId64 " bytes are too few for one record",
                         layout->total_bytes);
    return layout->files_train < MAX_FILES ||
           error_set(err, ERROR_INPUT, "total_bytes: more than %" PRId64 " files", MAX_FILES);
}

static void bert_path(const struct dataset_file *file, struct text *path)
{
    text_format(path, "part-%05" PRId64 "-of-00500", FIRST_PART + file->number);
}

static int64_t bert_bytes(const struct dataset_file *file)
{
    int64_t bytes[TOKENS], sum = 0;
    record_bytes(bytes);
    for (int64_t i = 0; i < file->samples; i++)
        sum += bytes[tokens_of(file, i)];
    return sum;
}

static void bert_write(const struct dataset_file *file, const struct dataset_content *content,
                       struct dataset_writer *writer)
{
    unsigned char random[RANDOM], example[MAX_EXAMPLE];
    for (int64_t i = 0; i < file->samples && !writer->failed; i++) {
        content->fill(content->context, i * MAX_EXAMPLE, random, sizeof random);
        size_t length = make_example(example, random, tokens_of(file, i));
        tfrecord_begin(writer, length);
        dataset_put(writer, example, length);
        tfrecord_end(writer);
    }
}

static size_t bert_sample(const struct dataset_file *file, const struct dataset_content *random,
                          int64_t sample, unsigned char *to)
{
    unsigned char bytes[RANDOM];
    random->fill(random->context, sample * MAX_EXAMPLE, bytes, sizeof bytes);
    return make_example(to, bytes, tokens_of(file, sample));
}

static bool bert_expect(const struct dataset_file *file, struct dataset_index *index)
{
    struct dataset_builder builder = {.index = index};
    int64_t bytes[TOKENS], offset = 0, max = 0;
    struct error err;
    *index = (struct dataset_index){0};
    record_bytes(bytes);
    for (int64_t i = 0; i < file->samples; i++) {
        int64_t length = bytes[tokens_of(file, i)];
        if (!dataset_index_add(&builder, offset, length, &err)) {
            dataset_index_release(index);
            return false;
        }
        offset += length;
        max = length > max ? length : max;
    }
    index->sample_bytes = index->dims[0] = max - TFRECORD_FRAME;
    index->dims_count = 1;
    return true;
}

const struct dataset_format dataset_format_bert_tfrecord = {
    .name = "bert_tfrecord",
    .extension = "tfrecord",
    .parts = 1,
    .check = units_check,
    .fit = bert_fit,
    .shape = bert_shape,
    .path = bert_path,
    .bytes = bert_bytes,
    .write = bert_write,
    .expect = bert_expect,
    .locate = tfrecord_locate,
    .decode = tfrecord_decode,
    .sample = bert_sample,
    .exact = true,
};
