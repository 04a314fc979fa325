#include "dataset/layout.h"

#include "dataset/codec.h"
#include "dataset/format.h"
#include "dataset/format/numpy.h"
#include "dataset/pack.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SAMPLES ((int64_t)1 << 40)
#define MAX_PAYLOAD ((int64_t)1 << 50)  /* bytes of one file */
#define MAX_SEED    ((uint64_t)1 << 53) /* whole in a JSON number */
#define MAX_NORMAL  9                   /* no draw is further from the mean, in standard deviations */
#define DLIO_SEED   10
#define MAX_COUNTED ((int64_t)1 << 20) /* files whose sizes are added up one by one */

#define SIZE_STREAM 1 /* of dataset_draw_normal */

void dataset_layout_init(struct dataset_layout *layout)
{
    *layout = (struct dataset_layout){
        .format = dataset_format_find("tfrecord"),
        .prefix = "img",
        .files_train = 8,
        .samples_per_file = 1,
        .record_bytes = 65536,
        .compression_level = 4,
        .records_per_sample = 1,
        .seed = 123,
    };
}

static bool check_counts(const struct dataset_layout *layout, struct error *err)
{
    const struct {
        const char *name;
        int64_t value, min, max;
    } counts[] = {
        {"num_files_train", layout->files_train, 0, DATASET_MAX_FILES},
        {"num_files_eval", layout->files_eval, 0, DATASET_MAX_FILES},
        {"num_subfolders_train", layout->subfolders_train, 0, DATASET_MAX_FILES},
        {"num_subfolders_eval", layout->subfolders_eval, 0, DATASET_MAX_FILES},
        {"num_samples_per_file", layout->samples_per_file, 1, MAX_SAMPLES},
        {"eval_num_samples_per_file", layout->eval_samples_per_file, 0, MAX_SAMPLES},
        {"compression_level", layout->compression_level, 0, 9},
        {"chunk_size", layout->chunk_bytes, 0, DATASET_MAX_RECORD},
        {"num_dset_per_record", layout->records_per_sample, 1, 65536},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].value < counts[i].min || counts[i].value > counts[i].max)
            return error_set(err, ERROR_INPUT,
                             "dataset.%s: expected a number from %" PRId64 " to %" PRId64 ", found %" PRId64,
                             counts[i].name, counts[i].min, counts[i].max, counts[i].value);
    return true;
}

static bool check_dims(const char *name, const int64_t *dims, int count, int64_t unit, struct error *err)
{
    int64_t product = unit;
    if (count < 0 || count > DATASET_MAX_DIMS)
        return error_set(err, ERROR_INPUT, "dataset.%s: expected at most %d numbers, found %d", name,
                         DATASET_MAX_DIMS, count);
    for (int i = 0; i < count; i++) {
        if (dims[i] < 1)
            return error_set(err, ERROR_INPUT, "dataset.%s[%d]: expected a positive number, found %" PRId64,
                             name, i, dims[i]);
        if (dims[i] > DATASET_MAX_RECORD / product)
            return error_set(err, ERROR_INPUT, "dataset.%s: a sample would have more than %" PRId64 " bytes",
                             name, DATASET_MAX_RECORD);
        product *= dims[i];
    }
    return true;
}

/* Finds the normal distribution of a side whose squares have the wanted mean and deviation, much as in DLIO:
 * no draw is below 0. A square has mean m = mu^2 + sigma^2 and variance v = 4 mu^2 sigma^2 + 2 sigma^4,
 * solved for mu and sigma. */
static void side_of(const struct dataset_layout *layout, double *mean, double *deviation)
{
    double m = layout->record_bytes, v = layout->record_bytes_stdev * layout->record_bytes_stdev;
    double square = m - sqrt(fmax(m * m - v / 2, 0));
    *deviation = sqrt(square);
    *mean = sqrt(m - square);
}

/* Returns the maximum bytes of a sample. */
static double max_bytes(const struct dataset_layout *layout)
{
    double max = (double)dataset_element_bytes(layout->element), mean, deviation;
    for (int i = 0; i < layout->dims_count; i++)
        max *= (double)layout->dims[i];
    if (layout->dims_count > 0)
        return max;
    side_of(layout, &mean, &deviation);
    max = pow(mean + MAX_NORMAL * deviation, 2) + 8;
    return layout->dlio_sizes ? max * (double)dataset_element_bytes(layout->element) : max;
}

static bool check_record(const struct dataset_layout *layout, struct error *err)
{
    int64_t unit = dataset_element_bytes(layout->element);
    if (!check_dims("record_dims", layout->dims, layout->dims_count, unit, err) ||
        !check_dims("hdf5.chunk_dims", layout->chunk_dims, layout->chunk_dims_count, unit, err))
        return false;
    if (layout->dims_count > 0 && layout->record_bytes_stdev > 0)
        return error_set(err, ERROR_INPUT,
                         "dataset.record_dims and dataset.record_length_bytes_stdev exclude each other");
    if (layout->record_bytes_stdev > layout->record_bytes)
        return error_set(err, ERROR_INPUT,
                         "dataset.record_length_bytes_stdev: expected at most the length of %g, found %g",
                         layout->record_bytes, layout->record_bytes_stdev);
    if (!(layout->record_bytes_stdev >= 0) || !(layout->record_bytes >= 1) ||
        !(max_bytes(layout) <= (double)DATASET_MAX_RECORD))
        return error_set(err, ERROR_INPUT,
                         "dataset.record_length_bytes: expected 1 to %" PRId64
                         " bytes, found %g (deviation %g)",
                         DATASET_MAX_RECORD, layout->record_bytes, layout->record_bytes_stdev);
    if (layout->dims_count == 0 && !layout->dlio_sizes && layout->record_bytes_stdev == 0 &&
        llround(layout->record_bytes) % unit != 0)
        return error_set(err, ERROR_INPUT,
                         "dataset.record_length_bytes: %lld is not a multiple of the %" PRId64 " bytes of %s",
                         llround(layout->record_bytes), unit, dataset_element_words[layout->element]);
    double train = (double)dataset_samples_per_file(layout, false),
           eval = (double)dataset_samples_per_file(layout, true);
    if (max_bytes(layout) * fmax(train, layout->files_eval > 0 ? eval : 0) > (double)MAX_PAYLOAD)
        return error_set(err, ERROR_INPUT, "dataset: a file would have more than %" PRId64 " bytes",
                         MAX_PAYLOAD);
    if (max_bytes(layout) * (train * (double)layout->files_train + eval * (double)layout->files_eval) >
        0x1p60)
        return error_set(err, ERROR_INPUT, "dataset: it would have more than 2^60 bytes");
    return true;
}

static bool check_format(const struct dataset_layout *layout, struct error *err)
{
    const struct dataset_format *format = layout->format;
    if (format->missing)
        return error_set(err, ERROR_FAILED, "this rehearse was built without %s, which %s files need",
                         format->missing, format->name);
    if (layout->prefix[0] == '\0' || strchr(layout->prefix, '/') ||
        text_valid_utf8(layout->prefix, strlen(layout->prefix)) < strlen(layout->prefix))
        return error_set(err, ERROR_INPUT,
                         "dataset.file_prefix: expected the beginning of a file name, found '%s'",
                         layout->prefix);
    if (!(layout->compressibility >= 0 && layout->compressibility <= 1))
        return error_set(err, ERROR_INPUT, "compressibility: expected a number from 0 to 1, found %g",
                         layout->compressibility);
    if (layout->seed > MAX_SEED)
        return error_set(err, ERROR_INPUT, "seed: expected at most %" PRIu64 ", found %" PRIu64, MAX_SEED,
                         layout->seed);
    if (format->codecs) {
        const char *package = dataset_codec_missing(layout->compression);
        if (layout->compression != DATASET_NONE && layout->compression != DATASET_GZIP &&
            layout->compression != DATASET_SNAPPY && layout->compression != DATASET_ZSTD)
            return error_set(
                err, ERROR_INPUT,
                "dataset.compression: %s files are compressed with gzip, snappy or zstd, found '%s'",
                format->name, dataset_compression_words[layout->compression]);
        if (package)
            return error_set(
                err, ERROR_FAILED,
                "dataset.compression: this rehearse was built without %s: install %s and build again",
                dataset_compression_words[layout->compression], package);
    } else if (layout->compression != DATASET_NONE && layout->compression != format->compression)
        return error_set(err, ERROR_INPUT, "dataset.compression: %s files are %s%s, found '%s'", format->name,
                         format->compression ? "compressed with " : "not compressed",
                         format->compression ? dataset_compression_words[format->compression] : "",
                         dataset_compression_words[layout->compression]);
    if (!format->codecs && layout->compression != DATASET_NONE && dataset_pack_missing())
        return error_set(err, ERROR_FAILED,
                         "this rehearse was built without %s, which compressed %s files need",
                         dataset_pack_missing(), format->name);
    return !format->check || format->check(layout, err);
}

static bool check_total(struct dataset_layout *layout, struct error *err)
{
    if (layout->total_bytes == 0)
        return true;
    if (layout->total_bytes < 0 || layout->total_bytes > MAX_PAYLOAD)
        return error_set(err, ERROR_INPUT, "total_bytes: expected at most %" PRId64 " bytes, found %" PRId64,
                         MAX_PAYLOAD, layout->total_bytes);
    if (!layout->format->fit)
        return error_set(err, ERROR_INPUT,
                         "total_bytes: not for %s files, whose size is num_files_train x record_length_bytes",
                         layout->format->name);
    return layout->format->fit(layout, err);
}

/* Makes DLIO's draws for the sides of a sample's square: the deviation of a side is that of its square
 * divided by the derivative. */
static bool draw_dlio_dims(struct dataset_layout *layout, struct error *err)
{
    struct numpy_random random;
    int64_t count = 2 * dataset_files(layout);
    double side = floor(sqrt(layout->record_bytes));
    double deviation = layout->record_bytes_stdev / 2 / sqrt(layout->record_bytes);
    layout->dlio_dims = malloc((size_t)(count > 0 ? count : 1) * sizeof *layout->dlio_dims);
    if (!layout->dlio_dims)
        return error_memory(err);
    numpy_random_init(&random, DLIO_SEED);
    for (int64_t i = 0; i < count; i++) {
        double drawn = numpy_random_normal(&random, side, deviation);
        layout->dlio_dims[i] = drawn < 1 ? 1 : (int32_t)drawn;
    }
    return true;
}

/* A record is its columns, whatever its length is said to be. */
static bool take_columns(struct dataset_layout *layout, struct error *err)
{
    double bytes = 0;
    for (int i = 0; i < layout->column_count; i++)
        bytes += (double)layout->columns[i].size * (double)layout->columns[i].count *
                 (double)dataset_element_bytes(layout->columns[i].element);
    if (layout->dims_count > 0)
        return error_set(err, ERROR_INPUT,
                         "dataset.record_dims and dataset.parquet.columns exclude each other");
    layout->record_bytes = bytes;
    layout->element = DATASET_UINT8;
    return true;
}

static bool prepare(struct dataset_layout *layout, struct error *err)
{
    struct dataset_file file;
    for (int eval = 0; layout->format->prepare && eval < 2; eval++) {
        dataset_file_init(&file, layout, eval ? layout->files_train : 0);
        file.samples = dataset_samples_per_file(layout, eval);
        if (!layout->format->prepare(&file, &layout->footer_bytes[eval], err))
            return false;
    }
    return true;
}

bool dataset_layout_check(struct dataset_layout *layout, struct error *err)
{
    layout->dlio_dims = NULL;
    if (!layout->format)
        return error_set(err, ERROR_INPUT, "dataset.format is missing");
    if (layout->column_count > 0 && !take_columns(layout, err))
        return false;
    if (!check_counts(layout, err) || !check_total(layout, err) || !check_record(layout, err) ||
        !check_format(layout, err) || !prepare(layout, err))
        return false;
    if (layout->dlio_sizes && layout->dims_count == 0 && layout->record_bytes_stdev > 0)
        return draw_dlio_dims(layout, err);
    return true;
}

void dataset_layout_release(struct dataset_layout *layout)
{
    free(layout->dlio_dims);
    layout->dlio_dims = NULL;
    free(layout->columns);
    layout->columns = NULL;
    layout->column_count = 0;
}

bool dataset_layout_choose(struct dataset_layout *layout, const struct dataset_layout *wanted,
                           struct error *err)
{
    layout->read_whole = wanted->read_whole;
    for (int i = 0; i < layout->column_count; i++)
        layout->columns[i].read = wanted->column_count == 0;
    for (int i = 0; i < wanted->column_count; i++) {
        const struct dataset_column *column = &wanted->columns[i];
        int at = 0;
        while (at < layout->column_count && strcmp(layout->columns[at].name, column->name) != 0)
            at++;
        if (at == layout->column_count)
            return error_set(
                err, ERROR_INPUT,
                "dataset.parquet.columns: the data set has no column '%s' (see its " DATASET_MANIFEST
                "): name its own, or make it again",
                column->name);
        layout->columns[at].read = column->read;
    }
    return true;
}

int64_t dataset_files(const struct dataset_layout *layout)
{
    return layout->files_train + layout->files_eval;
}

int64_t dataset_samples_per_file(const struct dataset_layout *layout, bool eval)
{
    return eval && layout->eval_samples_per_file > 0 ? layout->eval_samples_per_file
                                                     : layout->samples_per_file;
}

void dataset_square(int64_t n, int64_t *small, int64_t *large)
{
    int64_t side = (int64_t)sqrt((double)n);
    while (side * side > n)
        side--;
    while (n % side)
        side--;
    *small = side;
    *large = n / side;
}

/* Returns the bytes of each sample of a file, unless the sizes are DLIO's. */
static int64_t record_bytes_of(const struct dataset_layout *layout, int64_t number)
{
    int64_t unit = dataset_element_bytes(layout->element);
    double mean, deviation;
    if (layout->record_bytes_stdev == 0)
        return llround(layout->record_bytes);
    side_of(layout, &mean, &deviation);
    double side = mean + deviation * dataset_draw_normal(layout->seed, SIZE_STREAM, (uint64_t)number);
    int64_t count = llround(side * side / (double)unit);
    return (count < 1 ? 1 : count) * unit;
}

static void shape(struct dataset_file *file)
{
    const struct dataset_layout *layout = file->layout;
    file->element = layout->element;
    file->dims_count = 2;
    if (layout->dims_count > 0) {
        file->dims_count = layout->dims_count;
        memcpy(file->dims, layout->dims, sizeof file->dims);
    } else if (layout->dlio_dims) {
        file->dims[0] = layout->dlio_dims[2 * file->number];
        file->dims[1] = layout->dlio_dims[2 * file->number + 1];
    } else if (layout->dlio_sizes) {
        file->dims[0] = file->dims[1] = (int64_t)sqrt(layout->record_bytes);
    } else {
        int64_t bytes = record_bytes_of(layout, file->number);
        dataset_square(bytes / dataset_element_bytes(layout->element), &file->dims[0], &file->dims[1]);
    }
    file->record_bytes = dataset_element_bytes(file->element);
    for (int i = 0; i < file->dims_count; i++)
        file->record_bytes *= file->dims[i];
}

void dataset_file_init(struct dataset_file *file, const struct dataset_layout *layout, int64_t number)
{
    *file = (struct dataset_file){
        .layout = layout,
        .number = number,
        .eval = number >= layout->files_train,
    };
    file->samples = dataset_samples_per_file(layout, file->eval);
    file->index = file->eval ? number - layout->files_train : number;
    shape(file);
    if (layout->format->shape)
        layout->format->shape(file);
    file->payload_bytes = file->samples * file->record_bytes;
}

int dataset_file_parts(const struct dataset_file *file)
{
    if (file->layout->format->part_count)
        return file->layout->format->part_count(file);
    return file->layout->format->parts;
}

static int digits(int64_t value)
{
    return snprintf(NULL, 0, "%" PRId64, value);
}

void dataset_usual_path(const struct dataset_file *file, struct text *path)
{
    const struct dataset_layout *layout = file->layout;
    const char *suffix = layout->format->part_suffix[file->part];
    int64_t files = file->eval ? layout->files_eval : layout->files_train;
    int64_t folders = file->eval ? layout->subfolders_eval : layout->subfolders_train;
    text_add(path, file->eval ? "valid/" : "train/");
    if (folders > 1)
        text_format(path, "%0*" PRId64 "/", digits(folders), file->index % folders);
    text_format(path, "%s_%0*" PRId64 "_of_%" PRId64 ".%s%s", layout->prefix, digits(files), file->index,
                files, layout->format->extension, suffix ? suffix : "");
}

bool dataset_file_path(const struct dataset_file *file, int part, struct text *path)
{
    struct dataset_file of = *file;
    of.part = part;
    path->length = 0;
    (file->layout->format->path ? file->layout->format->path : dataset_usual_path)(&of, path);
    return !path->failed;
}

int64_t dataset_file_bytes(const struct dataset_file *file, int part)
{
    struct dataset_file of = *file;
    of.part = part;
    return file->layout->format->bytes(&of);
}

static int64_t bytes_of(const struct dataset_layout *layout, int64_t number)
{
    struct dataset_file file;
    int64_t sum = 0;
    dataset_file_init(&file, layout, number);
    for (int part = 0; part < dataset_file_parts(&file); part++) {
        int64_t bytes = dataset_file_bytes(&file, part);
        if (bytes < 0)
            return -1;
        sum += bytes;
    }
    return sum;
}

int64_t dataset_layout_bytes(const struct dataset_layout *layout)
{
    int64_t files = dataset_files(layout), sum = 0;
    bool alike = layout->dims_count > 0 || layout->record_bytes_stdev == 0;
    if (files == 0)
        return 0;
    int64_t first = bytes_of(layout, 0);
    if (first < 0)
        return -1;
    /* Formats with shapes of their own draw sizes from a file's number. */
    if (alike && !layout->format->shape && first == bytes_of(layout, files - 1) &&
        (layout->files_train == 0 || first == bytes_of(layout, layout->files_train - 1)))
        return files * first;
    if (files <= MAX_COUNTED) {
        for (int64_t i = 0; i < files; i++)
            sum += bytes_of(layout, i);
        return sum;
    }
    /* The sampled files are evenly spread, so that training and evaluation files have their shares. */
    double some = 0;
    for (int64_t i = 0; i < MAX_COUNTED; i++)
        some += (double)bytes_of(layout, (int64_t)((double)files / (double)MAX_COUNTED * (double)i));
    double all = some / (double)MAX_COUNTED * (double)files;
    return all < 0x1p62 ? (int64_t)all : INT64_MAX / 2;
}
