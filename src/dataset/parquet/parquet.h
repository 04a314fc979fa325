/* Parquet (github.com/apache/parquet-format): layout.c says what a file has, write.c writes it, footer.c reads the
 * footer, index.c says what of a file is read, scan.c decodes pages. */
#ifndef REHEARSE_DATASET_PARQUET_PARQUET_H
#define REHEARSE_DATASET_PARQUET_PARQUET_H

#include "dataset/format.h"

#define PARQUET_MAGIC  4 /* bytes of "PAR1", first and last in a file */
#define PARQUET_TAIL   8 /* length of the footer, "PAR1" */
#define PARQUET_GROUP  1024
#define PARQUET_FOOTER ((int64_t)256 << 20) /* that is read or written */
#define PARQUET_DEPTH  64                   /* groups in groups */

/* Numbers of parquet.thrift. */
enum parquet_type {
    PARQUET_BOOLEAN,
    PARQUET_INT32,
    PARQUET_INT64,
    PARQUET_INT96,
    PARQUET_FLOAT,
    PARQUET_DOUBLE,
    PARQUET_BYTE_ARRAY,
    PARQUET_FIXED,
    PARQUET_TYPES
};
enum parquet_encoding {
    PARQUET_PLAIN,
    PARQUET_PLAIN_DICTIONARY = 2,
    PARQUET_RLE = 3,
    PARQUET_RLE_DICTIONARY = 8
};
enum parquet_page { PARQUET_DATA, PARQUET_INDEX_PAGE, PARQUET_DICTIONARY, PARQUET_DATA_2 };
enum parquet_codec { PARQUET_PLAIN_CODEC, PARQUET_SNAPPY, PARQUET_GZIP, PARQUET_ZSTD = 6 };

struct parquet_leaf {
    const char *name; /* of the column that it is, or is within */
    enum parquet_type type;
    int64_t width;              /* bytes of a value; 0: varies */
    int definition, repetition; /* maximum levels */
    bool read;
};

struct parquet_chunk {
    int64_t offset, bytes; /* with its dictionary */
    int64_t values;        /* with nulls */
    int codec;             /* of parquet.thrift */
};

/* What a footer says, in one allocation. */
struct parquet {
    int leaf_count;
    int64_t groups;
    struct parquet_leaf *leaves;
    struct parquet_chunk *chunks; /* [groups × leaf_count] */
    int64_t *starts;              /* [groups + 1] first row of each group */
    char *names;
};

/* Allocates it; free() ends it. NULL: no memory. */
struct parquet *parquet_new(int leaves, int64_t groups, size_t name_bytes);

/* Reads the footer; NULL on failure. */
struct parquet *parquet_read(const char *path, const struct dataset_source *source, int64_t *footer,
                             struct error *err);

/* A column of a layout. */
struct parquet_column {
    char name[DATASET_MAX_NAME + 24];
    enum dataset_element element;
    int64_t size, row_bytes; /* elements and bytes of generated content per row */
    bool read;
};

/* Gets the layout's column, counted from 0; false: there is none. */
bool parquet_column(const struct dataset_file *file, int64_t at, struct parquet_column *column);
int64_t parquet_columns(const struct dataset_layout *layout);
int64_t parquet_group_rows(const struct dataset_layout *layout);

/* Returns a chunk's bytes in an uncompressed file; its dictionary's are in *dictionary. */
int64_t parquet_chunk_bytes(const struct parquet_column *column, int64_t rows, int64_t *dictionary);
enum parquet_type parquet_type_of(enum dataset_element element, int64_t *width);
bool parquet_footer_size(const struct dataset_file *file, int64_t *bytes, struct error *err);

void parquet_write(const struct dataset_file *file, const struct dataset_content *content,
                   struct dataset_writer *writer);

bool parquet_expect(const struct dataset_file *file, struct dataset_index *index);
bool parquet_locate(struct dataset_index *index, const char *path, const struct dataset_source *const *parts,
                    struct error *err);
bool parquet_choose(struct dataset_index *index, const struct dataset_layout *layout, const char *path,
                    struct error *err);
/* Are the columns of a file those of its layout? */
bool parquet_schema(const struct dataset_file *file, const char *path,
                    const struct dataset_source *const *parts, struct error *err);
bool parquet_scan(const struct dataset_index *index, int64_t unit, struct dataset_scan *scan,
                  struct error *err);
bool parquet_compare(const struct dataset_file *file, const struct dataset_values *values,
                     struct dataset_difference *difference, struct error *err);

#endif
