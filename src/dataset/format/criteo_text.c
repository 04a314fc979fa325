/* Criteo's text as DLRM reads it: rows of a label, 13 numbers and 26 categories of eight hexadecimal digits,
 * tab separated; in train.txt, or, where there are several, day_0, day_1, …, and in test.txt.
 *
 * Numbers have as many digits as their column says, so that rows are of one length and any of them is made
 * alone. For total_bytes the sizes are exact: the last four rows of a file have longer numbers, which take up
 * what is left. These four fill the file and are no samples. */
#include "dataset/units.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS    13
#define COLUMNS    (1 + NUMBERS + CRITEO_CATEGORIES)
#define MAX_DIGITS 7   /* of a number: as many as 2,557,264 has, the most of the real data */
#define ROW        269 /* bytes */
#define LAST       4   /* rows that fill a file up */
#define BLOCK      256 /* rows whose random bytes are made at once */
#define WINDOW     ((size_t)1 << 20)
#define MAX_ROWS   ((int64_t)1 << 28) /* of a file that is looked through */

static const unsigned char digits[NUMBERS] = {1, 2, 2, 1, 3, 2, 1, 2, 2, 1, 1, 1, 1};

static bool criteo_check(const struct dataset_layout *layout, struct error *err)
{
    if (layout->files_eval > 1)
        return error_set(err, ERROR_INPUT,
                         "dataset.num_files_eval: criteo_text has one evaluation file, found %" PRId64,
                         layout->files_eval);
    return units_check(layout, err);
}

/* Returns the bytes of a training file: an equal share of total_bytes. */
static int64_t share_of(const struct dataset_layout *layout, int64_t index)
{
    int64_t whole = layout->total_bytes / layout->files_train,
            rest = layout->total_bytes % layout->files_train;
    return whole + (index < rest ? 1 : 0);
}

static bool criteo_fit(struct dataset_layout *layout, struct error *err)
{
    if (layout->files_train == 0 || share_of(layout, layout->files_train - 1) < (int64_t)LAST * ROW)
        return error_set(err, ERROR_INPUT, "total_bytes: a file has at least %d bytes", LAST * ROW);
    return true;
}

/* Sets the samples: all rows but those that fill up. */
static void criteo_shape(struct dataset_file *file)
{
    file->element = DATASET_UINT8;
    if (file->layout->total_bytes > 0 && !file->eval) {
        file->file_bytes = share_of(file->layout, file->index);
        file->samples = file->file_bytes / ROW - (file->file_bytes % ROW ? LAST : 0);
    }
    units_shape(file, ROW);
}

static void criteo_path(const struct dataset_file *file, struct text *path)
{
    if (file->eval)
        text_add(path, "test.txt");
    else if (file->layout->files_train == 1)
        text_add(path, "train.txt");
    else
        text_format(path, "day_%" PRId64, file->index);
}

static int64_t criteo_bytes(const struct dataset_file *file)
{
    return file->file_bytes > 0 ? file->file_bytes : file->payload_bytes;
}

static const uint32_t powers[MAX_DIGITS + 1] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};

/* Puts a number of exactly n digits; one digit may be 0. */
static char *put_decimal(char *to, uint32_t random, int n)
{
    uint32_t min = n > 1 ? powers[n - 1] : 0;
    uint32_t value = min + (uint32_t)((uint64_t)random * (powers[n] - min) >> 32);
    for (int i = n - 1; i >= 0; i--, value /= 10)
        to[i] = (char)('0' + value % 10);
    return to + n;
}

/* Returns the word of a category: always the same one, in no visible order. */
static uint32_t word_of(uint32_t category, uint32_t column)
{
    uint32_t z = category + column * 0x9e3779b9u;
    z = (z ^ z >> 16) * 0x85ebca6bu; /* the finalizer of MurmurHash3 */
    z = (z ^ z >> 13) * 0xc2b2ae35u;
    return z ^ z >> 16;
}

static uint64_t spread(uint32_t word)
{
    uint64_t z = word;
    z = (z << 16 | z) & 0x0000ffff0000ffffu;
    z = (z << 8 | z) & 0x00ff00ff00ff00ffu;
    return (z << 4 | z) & 0x0f0f0f0f0f0f0f0fu;
}

/* Eight digits at once: those above 9 are 39 further on. */
static char *put_hexadecimal(char *to, uint32_t word)
{
    uint64_t z = spread(word);
    uint64_t above = (z + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
    z = __builtin_bswap64(z + 0x3030303030303030u + above * 39);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    z = __builtin_bswap64(z);
#endif
    memcpy(to, &z, 8);
    return to + 8;
}

static uint32_t random_at(const unsigned char *random, int column)
{
    return (uint32_t)dataset_little(random + 4 * (size_t)column, 4);
}

/* A row whose numbers have `more` digits in all beyond those of their columns; returns its end. */
static char *make_row(char *to, const unsigned char *random, int more)
{
    *to++ = (char)('0' + (random[3] >> 7));
    for (int i = 0; i < NUMBERS; i++) {
        int longer = MAX_DIGITS - digits[i] < more ? MAX_DIGITS - digits[i] : more;
        *to++ = '\t';
        to = put_decimal(to, random_at(random, 1 + i), digits[i] + longer);
        more -= longer;
    }
    for (int i = 0; i < CRITEO_CATEGORIES; i++) {
        uint32_t value = random_at(random, 1 + NUMBERS + i);
        *to++ = '\t';
        to = put_hexadecimal(to,
                             word_of((uint32_t)((uint64_t)value * criteo_categories[i] >> 32), (uint32_t)i));
    }
    *to++ = '\n';
    return to;
}

static void make_rows(const void *context, int64_t first, size_t count, unsigned char *to)
{
    const struct dataset_content *random = context;
    unsigned char bytes[BLOCK * 4 * COLUMNS];
    while (count > 0) {
        size_t now = count < BLOCK ? count : BLOCK;
        random->fill(random->context, first * 4 * COLUMNS, bytes, now * 4 * COLUMNS);
        for (size_t i = 0; i < now; i++, to += ROW)
            make_row((char *)to, bytes + i * 4 * COLUMNS, 0);
        first += (int64_t)now;
        count -= now;
    }
}

static void put_last(struct dataset_writer *writer, const struct dataset_file *file,
                     const struct dataset_content *content)
{
    int left = (int)(file->file_bytes % ROW);
    for (int i = 0; i < LAST; i++) {
        unsigned char random[4 * COLUMNS];
        char row[ROW + NUMBERS * MAX_DIGITS];
        int more = left / (LAST - i);
        content->fill(content->context, (file->samples + i) * 4 * COLUMNS, random, sizeof random);
        dataset_put(writer, row, (size_t)(make_row(row, random, more) - row));
        left -= more;
    }
}

static void criteo_write(const struct dataset_file *file, const struct dataset_content *content,
                         struct dataset_writer *writer)
{
    const struct units units = {content, ROW, make_rows};
    const struct dataset_content rows = units_content(&units);
    dataset_put_content(writer, &rows, 0, file->payload_bytes);
    if (file->file_bytes % ROW)
        put_last(writer, file, content);
}

static size_t criteo_sample(const struct dataset_file *file, const struct dataset_content *random,
                            int64_t sample, unsigned char *to)
{
    (void)file;
    make_rows(random, sample, 1, to);
    return ROW;
}

static bool criteo_expect(const struct dataset_file *file, struct dataset_index *index)
{
    dataset_index_shape(index, file);
    index->stride = index->length = ROW;
    return file->samples > 0;
}

/* Adds the lines that end in these bytes; *begin is the start of the line that has not ended yet. */
static bool add_lines(struct dataset_builder *builder, const char *path, const unsigned char *bytes, size_t n,
                      int64_t offset, int64_t *begin, struct error *err)
{
    const unsigned char *at = bytes, *end = bytes + n;
    for (const unsigned char *stop; at < end && (stop = memchr(at, '\n', (size_t)(end - at)));
         at = stop + 1) {
        int64_t next = offset + (stop + 1 - bytes);
        if (!dataset_index_add(builder, *begin, next - *begin, err))
            return false;
        *begin = next;
        if (builder->index->samples > MAX_ROWS)
            return error_set(err, ERROR_INPUT, "%s: over the limit of %" PRId64 " rows", path, MAX_ROWS);
    }
    return true;
}

static bool walk_lines(struct dataset_builder *builder, const char *path, const struct dataset_source *source,
                       unsigned char *window, struct error *err)
{
    int64_t begin = 0;
    for (int64_t offset = 0; offset < source->size; offset += (int64_t)WINDOW) {
        int64_t left = source->size - offset;
        size_t n = left < (int64_t)WINDOW ? (size_t)left : WINDOW;
        if (!dataset_read(source, path, offset, window, n, "its rows", err) ||
            !add_lines(builder, path, window, n, offset, &begin, err))
            return false;
    }
    return begin == source->size || dataset_index_add(builder, begin, source->size - begin, err);
}

static bool criteo_locate(struct dataset_index *index, const char *path,
                          const struct dataset_source *const *parts, struct error *err)
{
    struct dataset_builder builder = {.index = index};
    unsigned char *window = malloc(WINDOW);
    if (!window)
        return error_memory(err);
    bool walked = walk_lines(&builder, path, parts[0], window, err);
    free(window);
    if (!walked)
        return false;
    if (index->samples == 0)
        return error_set(err, ERROR_INPUT, "%s: no rows", path);
    index->sample_bytes = index->dims[0] = dataset_index_longest(index);
    index->dims_count = 1;
    return true;
}

const struct dataset_format dataset_format_criteo_text = {
    .name = "criteo_text",
    .extension = "txt",
    .parts = 1,
    .check = criteo_check,
    .fit = criteo_fit,
    .shape = criteo_shape,
    .path = criteo_path,
    .bytes = criteo_bytes,
    .write = criteo_write,
    .expect = criteo_expect,
    .locate = criteo_locate,
    .decode = dataset_decode_copy,
    .sample = criteo_sample,
    .exact = true,
};
