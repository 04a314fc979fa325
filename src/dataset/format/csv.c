/* CSV as DLIO writes it: no header, a row of whole numbers per sample. Generated numbers lie in 128 … 255, so
 * that every row has the same length and sizes are known before anything is written. */
#include "dataset/pack.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES 4 /* three digits and what ends the value */
#define PIECE       16384
#define MAX_FILE    ((int64_t)4 << 30) /* that is read; also uncompressed */
#define EXPANSION   1032               /* the most of deflate */

/* Text has no types: a number below 256 for every element. */
static void csv_shape(struct dataset_file *file)
{
    file->record_bytes /= dataset_element_bytes(file->element);
    file->element = DATASET_UINT8;
}

static void csv_mask(const struct dataset_file *file, struct dataset_bytes *bytes)
{
    (void)file;
    bytes->keep = 0x7f7f7f7f7f7f7f7fu;
    bytes->set = 0x8080808080808080u;
}

static void csv_path(const struct dataset_file *file, struct text *path)
{
    dataset_usual_path(file, path);
    if (file->layout->compression == DATASET_GZIP)
        text_add(path, ".gz");
}

static int64_t csv_bytes(const struct dataset_file *file)
{
    return file->layout->compression == DATASET_NONE ? VALUE_BYTES * file->payload_bytes : -1;
}

struct digits {
    char text[VALUE_BYTES + 1]; /* with a comma behind */
    int length;
};

static void make_digits(struct digits digits[256])
{
    for (unsigned i = 0; i < 256; i++)
        digits[i].length = snprintf(digits[i].text, sizeof digits->text, "%u,", i & 255);
}

struct row {
    struct dataset_writer *writer;
    const struct dataset_content *content;
    struct digits digits[256];
    unsigned char values[PIECE];
    char text[PIECE * VALUE_BYTES + VALUE_BYTES];
};

static void put_row(struct row *row, int64_t offset, int64_t count)
{
    while (count > 0 && !row->writer->failed) {
        size_t now = count < PIECE ? (size_t)count : PIECE;
        char *at = row->text;
        row->content->fill(row->content->context, offset, row->values, now);
        for (size_t i = 0; i < now; i++) {
            const struct digits *digits = &row->digits[row->values[i]];
            memcpy(at, digits->text, VALUE_BYTES); /* also where the value is shorter */
            at += digits->length;
        }
        offset += (int64_t)now;
        count -= (int64_t)now;
        if (count == 0)
            at[-1] = '\n';
        dataset_put(row->writer, row->text, (size_t)(at - row->text));
    }
}

static void put_rows(const struct dataset_file *file, const struct dataset_content *content,
                     struct dataset_writer *writer)
{
    struct row *row = malloc(sizeof *row);
    if (!row) {
        writer->failed = !error_memory(writer->err);
        return;
    }
    row->writer = writer;
    row->content = content;
    make_digits(row->digits);
    for (int64_t i = 0; i < file->samples && !writer->failed; i++)
        put_row(row, i * file->record_bytes, file->record_bytes);
    free(row);
}

static void csv_write(const struct dataset_file *file, const struct dataset_content *content,
                      struct dataset_writer *writer)
{
    struct dataset_packing packing;
    if (file->layout->compression == DATASET_NONE) {
        put_rows(file, content, writer);
        return;
    }
    if (dataset_pack_begin(&packing, writer, file->layout->compression_level, DATASET_WRAP_GZIP)) {
        put_rows(file, content, &packing.writer);
        writer->failed = writer->failed || packing.writer.failed;
    }
    dataset_pack_end(&packing);
}

/* Readers take a whole file at once. */
static bool csv_expect(const struct dataset_file *file, struct dataset_index *index)
{
    dataset_index_shape(index, file);
    index->length = csv_bytes(file);
    return index->length >= 0;
}

/* Finds the whole text: `raw` itself or, if that is compressed, *made, which the caller frees. */
static bool text_of(const char *path, const unsigned char *raw, size_t raw_length, const char **text,
                    size_t *length, unsigned char **made, struct error *err)
{
    *made = NULL;
    *text = (const char *)raw;
    *length = raw_length;
    if (raw_length < 18 || raw[0] != 0x1f || raw[1] != 0x8b)
        return true;
    size_t unpacked = (size_t)dataset_little(raw + raw_length - 4, 4);
    if (unpacked / EXPANSION > raw_length)
        return error_set(err, ERROR_INPUT, "%s: compressed data cannot expand to %zu bytes", path, unpacked);
    *made = malloc(unpacked + 1);
    if (!*made)
        return error_memory(err);
    *text = (const char *)*made;
    return dataset_unpack(path, raw, raw_length, DATASET_WRAP_GZIP, *made, unpacked, true, length, err);
}

/* Takes the next line of text, without its end; false after the last. */
static bool next_line(const char **at, const char *end, const char **line, size_t *length)
{
    if (*at == end)
        return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    *line = *at;
    *at = stop ? stop + 1 : end;
    *length = (size_t)((stop ? stop : end) - *line);
    if (*length > 0 && (*line)[*length - 1] == '\r')
        --*length;
    return true;
}

static int64_t count_values(const char *line, size_t length)
{
    int64_t count = 1;
    for (size_t i = 0; i < length; i++)
        count += line[i] == ',';
    return count;
}

static bool count_rows(struct dataset_index *index, const char *path, const char *text, size_t length,
                       struct error *err)
{
    const char *at = text, *line;
    size_t line_length;
    while (next_line(&at, text + length, &line, &line_length)) {
        int64_t values = count_values(line, line_length);
        if (index->samples++ == 0)
            index->sample_bytes = values;
        else if (values != index->sample_bytes)
            return error_set(err, ERROR_INPUT,
                             "%s: row %" PRId64 " has %" PRId64 " values, the first has %" PRId64, path,
                             index->samples, values, index->sample_bytes);
    }
    if (index->samples == 0)
        return error_set(err, ERROR_INPUT, "%s: no rows", path);
    index->per_sample = 1;
    index->dims_count = 1;
    index->dims[0] = index->sample_bytes;
    return true;
}

static bool csv_locate(struct dataset_index *index, const char *path,
                       const struct dataset_source *const *parts, struct error *err)
{
    int64_t size = parts[0]->size;
    const char *text;
    unsigned char *made = NULL;
    size_t length;
    if (size > MAX_FILE)
        return error_set(err, ERROR_INPUT, "%s: a csv file over the limit of %" PRId64 " bytes", path,
                         MAX_FILE);
    unsigned char *raw = dataset_load(parts[0], path, 0, (size_t)size, "its rows", err);
    bool located = raw && text_of(path, raw, (size_t)size, &text, &length, &made, err) &&
                   count_rows(index, path, text, length, err);
    index->length = size;
    free(made);
    free(raw);
    return located;
}

static bool parse_row(int64_t row, const char *line, size_t length, unsigned char *to, size_t capacity,
                      size_t *count, struct error *err)
{
    const char *end = line + length;
    *count = 0;
    for (const char *at = line; at <= end; at++) {
        unsigned value = 0;
        const char *from = at;
        for (; at < end && *at >= '0' && *at <= '9' && at - from < 3; at++)
            value = 10 * value + (unsigned)(*at - '0');
        if (at == from || value > 255 || (at < end && *at != ','))
            return error_set(err, ERROR_INPUT,
                             "row %" PRId64 ", value %zu: expected a whole number from 0 to 255", row + 1,
                             *count + 1);
        if (*count == capacity)
            return error_set(err, ERROR_FAILED, "row %" PRId64 ": more than %zu values", row + 1, capacity);
        to[(*count)++] = (unsigned char)value;
    }
    return true;
}

static bool csv_decode(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                       size_t raw_length, unsigned char *to, size_t capacity, size_t *length,
                       struct error *err)
{
    const char *text, *line = NULL;
    unsigned char *made;
    size_t text_length, line_length = 0;
    bool done = text_of("csv", raw, raw_length, &text, &text_length, &made, err);
    if (done) {
        const char *at = text;
        for (int64_t i = 0; i <= sample && done; i++)
            done = next_line(&at, text + text_length, &line, &line_length);
        if (!done)
            error_set(err, ERROR_INPUT, "there is no row %" PRId64, sample + 1);
    }
    done = done && parse_row(sample, line, line_length, to, capacity, length, err);
    if (done && *length != (size_t)index->sample_bytes)
        done = error_set(err, ERROR_INPUT, "row %" PRId64 " has %zu values, expected %" PRId64, sample + 1,
                         *length, index->sample_bytes);
    free(made);
    return done;
}

const struct dataset_format dataset_format_csv = {
    DATASET_FORMAT_OF(csv), .parts = 1,       .compression = DATASET_GZIP, .shape = csv_shape,
    .path = csv_path,       .mask = csv_mask, .decode = csv_decode,        .exact = true,
};
