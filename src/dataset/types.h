/* A data set's layout, one of its files, and their element types, shared by layouts (dataset/layout.h) and
 * formats (dataset/format.h). */
#ifndef REHEARSE_DATASET_TYPES_H
#define REHEARSE_DATASET_TYPES_H

#include <stdbool.h>
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
    DATASET_SNAPPY,
    DATASET_ZSTD,
    DATASET_COMPRESSIONS
};

struct dataset_format; /* dataset/format.h */

#define DATASET_MAX_NAME 128

/* Equal columns of a Parquet file: NAME, or NAME_0, NAME_1, … if there are several. */
struct dataset_column {
    char name[DATASET_MAX_NAME];
    enum dataset_element element;
    int64_t size;  /* elements per row: a list if more than one */
    int64_t count; /* of such columns */
    bool read;     /* false: stored in the file but not read */
};

/* Keys of DLIO's section `dataset`, with its names. Initialise with dataset_layout_init. */
struct dataset_layout {
    const struct dataset_format *format;
    char prefix[128];
    int64_t files_train, files_eval;
    int64_t subfolders_train, subfolders_eval; /* 0 and 1: none */
    int64_t samples_per_file;
    int64_t eval_samples_per_file; /* of evaluation files; 0: as many */

    /* Bytes per sample, rounded; with a deviation each file has its own size. Unused if there are dims. */
    double record_bytes, record_bytes_stdev;
    int dims_count; /* 0: nearly square, of exactly the requested bytes */
    int64_t dims[DATASET_MAX_DIMS];
    enum dataset_element element;

    enum dataset_compression compression;
    int compression_level; /* 0 to 9 */
    bool chunked;          /* HDF5 from here on */
    int64_t chunk_bytes;   /* 0: the library's default */
    int chunk_dims_count;
    int64_t chunk_dims[DATASET_MAX_DIMS];
    int64_t records_per_sample;          /* data sets records_0, records_1, … */
    int max_shape_count;                 /* 0: fixed size */
    int64_t max_shape[DATASET_MAX_DIMS]; /* of a sample's part in a data set; -1: without limit */

    /* Parquet. Without columns there is one, `data`, of the record's bytes. */
    struct dataset_column *columns; /* owned */
    int column_count;
    int64_t row_group;       /* rows of a group; 0: DLIO's default of 1024 */
    bool read_whole;         /* all groups of a file are read together */
    int64_t footer_bytes[2]; /* of training and evaluation files; set by dataset_layout_check */

    /* VLDB study's formats: total bytes of the training files, overriding the counts; 0: use the counts. */
    int64_t total_bytes;
    int64_t last
        [2]; /* set by dataset_layout_check: what is left for the last of them, in the format's own terms */

    uint64_t seed;
    double compressibility; /* 0 to 1: dataset/bytes.h */

    /* Sizes as DLIO makes them: int(sqrt(record_bytes)) squared and, with a standard deviation, two normal
     * draws per file from numpy's legacy generator seeded with 10. */
    bool dlio_sizes;
    int32_t *dlio_dims; /* two per file; made by dataset_layout_check; NULL without a deviation */
};

/* One file of a data set. */
struct dataset_file {
    const struct dataset_layout *layout;
    /* Among files_train training files, then files_eval evaluation files; selects the stream of bytes. */
    int64_t number;
    int part; /* of the file that a format is asked for: see dataset_file_parts */
    bool eval;
    int64_t index; /* in train/ or valid/ */
    int64_t samples;
    enum dataset_element element;
    int dims_count; /* of one sample */
    int64_t dims[DATASET_MAX_DIMS];
    int64_t record_bytes;  /* of one sample: product of dims × bytes of an element */
    int64_t payload_bytes; /* samples × record_bytes */
    int64_t file_bytes;    /* the format pads the file to this size; 0: no padding */
};

extern const char *const dataset_element_words[]; /* numpy's names: "uint8" */
bool dataset_element_find(const char *name, enum dataset_element *element);
int64_t dataset_element_bytes(enum dataset_element element);

extern const char *const dataset_compression_words[]; /* DLIO's names */
bool dataset_compression_find(const char *name, enum dataset_compression *compression);

#endif
