/* Which files a data set has: their names, shapes and sizes, computed and never listed.
 *
 * Names are DLIO's: {train|valid}/[subfolder/]PREFIX_I_of_FILES.EXTENSION, relative to the data folder. */
#ifndef REHEARSE_DATASET_LAYOUT_H
#define REHEARSE_DATASET_LAYOUT_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATASET_MAX_DIMS   8
#define DATASET_MAX_FILES  ((int64_t)1 << 40)
#define DATASET_MAX_RECORD ((int64_t)1 << 42) /* bytes of one sample */

enum dataset_element {
    DATASET_UINT8,
    DATASET_INT8,
    DATASET_UINT16,
    DATASET_INT16,
    DATASET_UINT32,
    DATASET_INT32,
    DATASET_UINT64,
    DATASET_INT64,
    DATASET_FLOAT16,
    DATASET_FLOAT32,
    DATASET_FLOAT64,
    DATASET_ELEMENTS
};

enum dataset_compression {
    DATASET_NONE,
    DATASET_GZIP,
    DATASET_LZF,
    DATASET_BZ2,
    DATASET_ZIP,
    DATASET_XZ,
    DATASET_COMPRESSIONS
};

struct dataset_format; /* dataset/format.h */

/* Keys of DLIO's section `dataset`, in its words. Begin with dataset_layout_init. */
struct dataset_layout {
    const struct dataset_format *format;
    char prefix[128];
    int64_t files_train, files_eval;
    int64_t subfolders_train, subfolders_eval; /* 0 and 1: none */
    int64_t samples_per_file;

    /* Of a sample, rounded to whole bytes; with a deviation each file has its own. Not used when there are dims. */
    double record_bytes, record_bytes_stdev;
    int dims_count; /* 0: nearly square, of exactly the bytes asked for */
    int64_t dims[DATASET_MAX_DIMS];
    enum dataset_element element;

    enum dataset_compression compression;
    int compression_level; /* 0 to 9 */
    bool chunked;          /* HDF5 from here on */
    int64_t chunk_bytes;   /* 0: as the library likes */
    int chunk_dims_count;
    int64_t chunk_dims[DATASET_MAX_DIMS];
    int64_t records_per_sample;          /* data sets records_0, records_1, … */
    int max_shape_count;                 /* 0: data sets do not grow */
    int64_t max_shape[DATASET_MAX_DIMS]; /* of a sample's part in a data set; -1: without limit */

    /* The formats of the VLDB study: training files of so many bytes in all, whatever counts say; 0: as counts say. */
    int64_t total_bytes;
    int64_t last
        [2]; /* set by dataset_layout_check: what is left for the last of them, in the format's own terms */

    uint64_t seed;
    double compressibility; /* 0 to 1: dataset/bytes.h */

    /* Sizes as DLIO makes them: int(sqrt(record_bytes)) squared and, with a standard deviation, two normal draws per
     * file from numpy's legacy generator seeded with 10. */
    bool dlio_sizes;
    int32_t *dlio_dims; /* two per file; made by dataset_layout_check, NULL where there is no deviation */
};

/* One file of it. */
struct dataset_file {
    const struct dataset_layout *layout;
    /* Of all: files_train training files, then files_eval evaluation files; its stream of bytes. */
    int64_t number;
    bool eval;
    int64_t index; /* in train/ or valid/ */
    int64_t samples;
    enum dataset_element element;
    int dims_count; /* of one sample */
    int64_t dims[DATASET_MAX_DIMS];
    int64_t record_bytes;  /* of one sample: product of dims × bytes of an element */
    int64_t payload_bytes; /* samples × record_bytes */
    int64_t file_bytes;    /* that a format pads the file to; 0: as many as it takes */
};

/* DLIO's defaults: 8 training files tfrecord of one sample of 64 KiB, prefix img, seed 123. */
void dataset_layout_init(struct dataset_layout *layout);

/* Is it one that can be made? Sizes in their ranges, the format knows the elements and the compression and is in this
 * build. Call it once after the fields are set and before all that follows; then dataset_layout_release ends it. */
bool dataset_layout_check(struct dataset_layout *layout, struct error *err);
void dataset_layout_release(struct dataset_layout *layout);

int64_t dataset_files(const struct dataset_layout *layout);

/* File `number` of a checked layout. */
void dataset_file_init(struct dataset_file *file, const struct dataset_layout *layout, int64_t number);

/* Its parts: 0 is the data, others lie beside it (an index). Each has a path relative to the data folder, and a size
 * in bytes that is exact, or -1: only known once written, as it is compressed. */
int dataset_file_parts(const struct dataset_file *file);
bool dataset_file_path(const struct dataset_file *file, int part, struct text *path); /* false: no memory */
int64_t dataset_file_bytes(const struct dataset_file *file, int part);

/* All parts of all files; -1 where one is only known once written. Where files differ and are more than 2^20, it is as
 * many times the mean of 2^20 of them. */
int64_t dataset_layout_bytes(const struct dataset_layout *layout);

const char *dataset_element_name(enum dataset_element element); /* as numpy calls it: "uint8" */
bool dataset_element_find(const char *name, enum dataset_element *element);
int64_t dataset_element_bytes(enum dataset_element element);

const char *dataset_compression_name(enum dataset_compression compression); /* as DLIO calls it */
bool dataset_compression_find(const char *name, enum dataset_compression *compression);

/* Two factors of n > 0, the nearest to each other: *small × *large = n. A prime is 1 × n. */
void dataset_square(int64_t n, int64_t *small, int64_t *large);

/* The layout as JSON (dataset.json in the data folder), and back. `path` is for messages; the caller ends a layout
 * that was read with dataset_layout_release. */
#define DATASET_MANIFEST "dataset.json"
bool dataset_layout_write(const struct dataset_layout *layout, struct text *json, struct error *err);
bool dataset_layout_read(struct dataset_layout *layout, const char *path, const char *json, size_t length,
                         struct error *err);

#endif
