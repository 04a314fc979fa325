/* The DLRM data of the VLDB study: rows of 40 int32 (a label, 13 numbers, 26 categories) in
 * terabyte_processed_train.bin and terabyte_processed_test.bin, and the numbers of categories in
 * day_fea_count.npz. */
#include "dataset/format/numpy.h"
#include "dataset/format/zip.h"
#include "dataset/sum.h"
#include "dataset/units.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <string.h>

enum { ROWS, COUNTS, PARTS };

#define COLUMNS    40
#define ROW        160     /* bytes */
#define BLOCK      6548660 /* rows that the study writes at once: those of the test file */
#define MAX_NUMBER 2557264 /* of the real data */
#define COUNTS_MAX (sizeof(int64_t) * CRITEO_CATEGORIES)

/* Values of a column are below: of the label, the numbers, the categories. */
static uint32_t range_of(size_t column)
{
    size_t numbers = COLUMNS - CRITEO_CATEGORIES;
    return column == 0 ? 2 : column < numbers ? MAX_NUMBER : criteo_categories[column - numbers];
}

static bool dlrm_check(const struct dataset_layout *layout, struct error *err)
{
    if (layout->files_train > 1 || layout->files_eval > 1)
        return error_set(err, ERROR_INPUT,
                         "dataset: dlrm_binary has one training file and at most one evaluation file, found "
                         "%" PRId64 " and %" PRId64,
                         layout->files_train, layout->files_eval);
    return units_check(layout, err);
}

/* The study's own generator adds the size of the whole file for each block, and ends far too early. */
static bool dlrm_fit(struct dataset_layout *layout, struct error *err)
{
    layout->files_train = 1;
    layout->last[0] = layout->total_bytes / ROW;
    if (layout->samples_per_file == 1)
        layout->samples_per_file = BLOCK;
    return layout->last[0] > 0 ||
           error_set(err, ERROR_INPUT, "total_bytes: less than one row of %d bytes", ROW);
}

static void dlrm_shape(struct dataset_file *file)
{
    file->element = DATASET_INT32;
    if (units_is_last(file))
        file->samples = file->layout->last[0];
    units_shape(file, ROW);
}

static int dlrm_part_count(const struct dataset_file *file)
{
    return file->number == 0 ? PARTS : 1;
}

static void dlrm_path(const struct dataset_file *file, struct text *path)
{
    text_add(path, file->part == COUNTS ? "day_fea_count.npz"
                   : file->eval         ? "terabyte_processed_test.bin"
                                        : "terabyte_processed_train.bin");
}

static void make_rows(const void *context, int64_t first, size_t count, unsigned char *to)
{
    const struct dataset_content *random = context;
    uint32_t ranges[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++)
        ranges[c] = range_of(c);
    random->fill(random->context, ROW * first, to, ROW * count);
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < COLUMNS; c++) {
            uint32_t value;
            memcpy(&value, to + ROW * i + 4 * c, 4);
            value = (uint32_t)((uint64_t)value * ranges[c] >> 32);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
            value = __builtin_bswap32(value);
#endif
            memcpy(to + ROW * i + 4 * c, &value, 4);
        }
    }
}

/* The archive of the counts: counts.npy alone. */
struct counts {
    unsigned char bytes[NUMPY_MAX_HEADER + COUNTS_MAX];
    size_t length;
    struct zip_member member;
    int64_t directory;
};

static void make_counts(struct counts *counts)
{
    struct numpy_array array = {
        .element = DATASET_INT64, .dims_count = 1, .dims = {CRITEO_CATEGORIES}, .bytes = COUNTS_MAX};
    numpy_header_write(&array);
    counts->length = (size_t)array.header_bytes;
    memcpy(counts->bytes, array.header, counts->length);
    for (int i = 0; i < CRITEO_CATEGORIES; i++, counts->length += 8)
        dataset_set_little(counts->bytes + counts->length, 8, criteo_categories[i]);
    counts->member = (struct zip_member){
        .name = "counts.npy",
        .sum = dataset_crc32(0, counts->bytes, counts->length),
        .size = (int64_t)counts->length,
        .packed = (int64_t)counts->length,
    };
    counts->directory = zip_place(&counts->member, 0);
}

static int64_t dlrm_bytes(const struct dataset_file *file)
{
    struct counts counts;
    if (file->part == ROWS)
        return file->payload_bytes;
    make_counts(&counts);
    return counts.directory + zip_tail_bytes(&counts.member, 1, counts.directory);
}

static void put_counts(struct dataset_writer *writer)
{
    struct counts counts;
    make_counts(&counts);
    zip_put_header(writer, &counts.member);
    dataset_put(writer, counts.bytes, counts.length);
    zip_put_tail(writer, &counts.member, 1, counts.directory);
}

static void dlrm_write(const struct dataset_file *file, const struct dataset_content *content,
                       struct dataset_writer *writer)
{
    const struct units units = {content, ROW, make_rows};
    const struct dataset_content rows = units_content(&units);
    if (file->part == COUNTS)
        put_counts(writer);
    else
        dataset_put_content(writer, &rows, 0, file->payload_bytes);
}

static size_t dlrm_sample(const struct dataset_file *file, const struct dataset_content *random,
                          int64_t sample, unsigned char *to)
{
    (void)file;
    make_rows(random, sample, 1, to);
    return ROW;
}

static bool dlrm_expect(const struct dataset_file *file, struct dataset_index *index)
{
    dataset_index_shape(index, file);
    index->stride = index->length = ROW;
    return true;
}

static bool dlrm_locate(struct dataset_index *index, const char *path,
                        const struct dataset_source *const *parts, struct error *err)
{
    int64_t size = parts[0]->size;
    if (size == 0 || size % ROW != 0)
        return error_set(err, ERROR_INPUT, "%s: %" PRId64 " bytes are not a whole number of %d-byte rows",
                         path, size, ROW);
    dataset_index_bytes(index, ROW);
    index->element = DATASET_INT32;
    index->dims[0] = COLUMNS;
    index->samples = size / ROW;
    index->stride = ROW;
    return true;
}

const struct dataset_format dataset_format_dlrm_binary = {
    .name = "dlrm_binary",
    .extension = "bin",
    .parts = PARTS,
    .part_count = dlrm_part_count,
    .check = dlrm_check,
    .fit = dlrm_fit,
    .shape = dlrm_shape,
    .path = dlrm_path,
    .bytes = dlrm_bytes,
    .write = dlrm_write,
    .expect = dlrm_expect,
    .locate = dlrm_locate,
    .decode = dataset_decode_copy,
    .sample = dlrm_sample,
    .exact = true,
};
