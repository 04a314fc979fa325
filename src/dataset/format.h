/* File formats of data sets: a table with one struct each. A format handles bytes, not disks: it writes
 * through a sink and reads through a source.
 *
 * To add one: a file with a `const struct dataset_format dataset_format_NAME`, and a line in format.c's
 * table. */
#ifndef REHEARSE_DATASET_FORMAT_H
#define REHEARSE_DATASET_FORMAT_H

#include "core/error.h"
#include "core/text.h"
#include "dataset/bytes.h"
#include "dataset/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATASET_MAX_PARTS 4
#define DATASET_MAX_OPEN  8

/* A source of bytes: `read` gets all `n` bytes from `offset` or fails. Several threads may read at once. */
struct dataset_source {
    void *context;
    int64_t size;
    bool (*read)(void *context, int64_t offset, void *to, size_t n, struct error *err);
};

/* The samples of a file, one after the other (npy and npz: in the array's order, which interleaves them). */
struct dataset_content {
    const void *context;
    void (*fill)(const void *context, int64_t offset, void *to, size_t n);
};

/* The destination of bytes, in order. Members set to NULL are optional. */
struct dataset_sink {
    void *context;
    bool (*write)(void *context, const void *from, size_t n, struct error *err);

    /* Writes at any offset, from several threads at once. A later `write` appends after the last byte. */
    bool (*write_at)(void *context, int64_t offset, const void *from, size_t n, struct error *err);

    /* Appends n bytes of the content from `offset` on, which the sink generates with all its threads. */
    bool (*fill)(void *context, const struct dataset_content *content, int64_t offset, int64_t n,
                 struct error *err);

    /* Returns false to cancel. Called during long work that writes nothing (checksums before their data). */
    bool (*go_on)(void *context, struct error *err);
};

struct dataset_extent {
    int part;
    int64_t offset, length;
};

/* The location and shape of the samples of one file. */
struct dataset_index {
    int64_t samples;
    int open_count;
    /* The extents that a framework reads when it opens the file, in order. */
    struct dataset_extent open[DATASET_MAX_OPEN];

    /* Sample k is read as `per_sample` extents: those from extents[k × per_sample] on or, when extents is
     * NULL, the extent of part 0 at first + k × stride of `length` bytes. Stride 0: every sample reads the
     * whole array. */
    int64_t first, stride, length;
    int64_t per_sample;
    struct dataset_extent *extents;

    /* A decoded sample: */
    enum dataset_element element;
    int dims_count;
    int64_t dims[DATASET_MAX_DIMS];
    int64_t sample_bytes; /* of every sample, or the maximum */
    enum dataset_compression compression;

    /* Samples that are read together, by the first of them: row groups. Extents are then those of unit u in place of
     * sample k, `decode` is NULL, and `scan` decodes. */
    int64_t units;         /* 0: each sample is read alone */
    const int64_t *starts; /* [units + 1] first sample of each; within `detail` */

    int64_t interleaved; /* samples stored element by element in one array; 0: one after the other */
    int64_t unpacked;    /* bytes of the decompressed array; 0: not compressed */
    void *detail;        /* further data of the format's `decode`: one allocation, owned by the index */
};

/* Frees an index's memory; a zeroed index is empty. */
void dataset_index_release(struct dataset_index *index);

/* Returns the samples or units that have extents of their own. */
int64_t dataset_index_pieces(const struct dataset_index *index);

/* Writes the extents of a sample or unit, 0 <= sample < dataset_index_pieces(index); returns their number, ≤ index->per_sample. */
int64_t dataset_index_extents(const struct dataset_index *index, int64_t sample,
                              struct dataset_extent *extents);

/* Returns the bytes of all extents of a sample, and of the sample that has most. */
int64_t dataset_index_length(const struct dataset_index *index, int64_t sample);
int64_t dataset_index_longest(const struct dataset_index *index);

/* For formats: shape an index by `file`, or as one sample of `bytes` bytes; decode a sample stored as is. */
void dataset_index_shape(struct dataset_index *index, const struct dataset_file *file);
void dataset_index_bytes(struct dataset_index *index, int64_t bytes);

/* Adds a sample that lies in one piece of part 0. Equal samples at equal distances take no memory. Start with
 * a zeroed index; set its shape after the last sample. */
struct dataset_builder {
    struct dataset_index *index;
    int64_t capacity; /* of index->extents */
};
bool dataset_index_add(struct dataset_builder *builder, int64_t offset, int64_t length, struct error *err);

bool dataset_decode_copy(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                         size_t raw_length, unsigned char *to, size_t capacity, size_t *length,
                         struct error *err);

/* A run of decoded values of one column of a unit. */
struct dataset_values {
    int64_t unit;
    int column;
    const char *name;
    int64_t first, count;       /* of the column's values in the unit, nulls not counted */
    const unsigned char *bytes; /* of the values; a value of varying length has four bytes with it in front */
    size_t length;
};

struct dataset_scan {
    const char *path; /* for messages */
    const struct dataset_source *source;
    void *context;
    bool (*take)(void *context, const struct dataset_values *values, struct error *err);
    int64_t cpu; /* nanoseconds of a processor that decoding took, without reading and `take` */
};

struct dataset_writer;     /* dataset/writer.h */
struct dataset_difference; /* dataset/sample.h */

struct dataset_format {
    const char *name; /* DLIO's name */
    const char *extension;
    const char *missing;                  /* the library that this build lacks; NULL: none */
    int parts;                            /* files on disk per file of the data set */
    enum dataset_compression compression; /* the one that its files may have */
    bool codecs;                          /* its blocks may have any of dataset/codec.h */

    /* Returns true if the format can hold the layout. NULL: it holds any. */
    bool (*check)(const struct dataset_layout *layout, struct error *err);

    /* Sets the counts of files and samples so that they add up to layout->total_bytes. NULL: unsupported. */
    bool (*fit)(struct dataset_layout *layout, struct error *err);

    /* Sets element, dims and bytes of `file` where files have shapes of their own. NULL: the layout's. */
    void (*shape)(struct dataset_file *file);

    /* Returns the parts of this file. NULL: `parts` for all files. */
    int (*part_count)(const struct dataset_file *file);

    /* Adds the path of the file's part. NULL: the usual name plus part_suffix[part]. */
    void (*path)(const struct dataset_file *file, struct text *path);
    const char *part_suffix[DATASET_MAX_PARTS];

    /* Returns the exact bytes of the file's part, or -1. */
    int64_t (*bytes)(const struct dataset_file *file);

    /* Sets masks on the generated bytes if the format cannot store every value: see struct dataset_bytes.
     * NULL: no masks but those of floating point elements. */
    void (*mask)(const struct dataset_file *file, struct dataset_bytes *bytes);

    /* Writes the file's part; a failure is the writer's. */
    void (*write)(const struct dataset_file *file, const struct dataset_content *content,
                  struct dataset_writer *writer);

    /* Makes the index of a file that `write` made, without reading. NULL, or false: the file must be read. */
    bool (*expect)(const struct dataset_file *file, struct dataset_index *index);

    /* Reads the index of any file of the format. `parts` are sources of its parts; all but the first may be
     * NULL. On success the caller releases it with dataset_index_release. Errors begin with `path`. */
    bool (*locate)(struct dataset_index *index, const char *path, const struct dataset_source *const *parts,
                   struct error *err);

    /* Restricts an index that was located to the columns that the layout reads. May be NULL. */
    bool (*choose)(struct dataset_index *index, const struct dataset_layout *layout, const char *path,
                   struct error *err);

    /* Decodes the joined bytes of the sample's extents: at most `capacity` bytes, the count in *length. */
    bool (*decode)(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                   size_t raw_length, unsigned char *to, size_t capacity, size_t *length, struct error *err);

    /* Returns how many samples are read together, beginning with every such sample of a file; NULL: 1. */
    int64_t (*together)(const struct dataset_layout *layout);

    /* For an index with units: reads and decodes the columns of a unit that are read. */
    bool (*scan)(const struct dataset_index *index, int64_t unit, struct dataset_scan *scan,
                 struct error *err);

    /* Compares scanned values with those that were generated. */
    bool (*compare)(const struct dataset_file *file, const struct dataset_values *values,
                    struct dataset_difference *difference, struct error *err);

    /* Checks the layout by one of its files, and finds what all such files share: layout->footer_bytes. May be NULL. */
    bool (*prepare)(const struct dataset_file *file, int64_t *footer, struct error *err);

    /* Writes the expected decoded sample and returns its length. NULL: it is the generated bytes. */
    size_t (*sample)(const struct dataset_file *file, const struct dataset_content *random, int64_t sample,
                     unsigned char *to);

    /* The file has headers, a directory or an index that a reader follows. A decoding reader reads them,
     * although `expect` knows them, so that damage is found as the framework would find it. */
    bool container;
    bool typed; /* the container also states the samples' type and shape */

    /* Returns true if the data beside the samples (labels, a schema) is as `write` makes it. For files that are
     * compared sample by sample. NULL: there is no such data. */
    bool (*beside)(const struct dataset_file *file, const char *path,
                   const struct dataset_source *const *parts, struct error *err);

    /* The bytes of a file do not depend on the library that wrote them: it is verified byte by byte, else
     * sample by sample after decoding. */
    bool exact;

    /* Maximum difference of a decoded byte from the generated one: 0 but for lossy formats (JPEG). */
    int tolerance;
};

/* What most formats have by their names. */
#define DATASET_FORMAT_OF(word)                                                                              \
    .name = #word, .extension = #word, .bytes = word##_bytes, .write = word##_write,                         \
    .expect = word##_expect, .locate = word##_locate

/* Return the format of this name, or NULL; and all formats. */
const struct dataset_format *dataset_format_find(const char *name);
const struct dataset_format *const *dataset_formats(size_t *count);

/* Adds the usual path of a part, for formats without `path`. */
void dataset_usual_path(const struct dataset_file *file, struct text *path);

/* Makes the generated content of `file`'s samples. `bytes` must live as long as the content. */
void dataset_content_init(struct dataset_content *content, struct dataset_bytes *bytes,
                          const struct dataset_file *file);

/* Makes the index for decoding: read from the container, or derived from `file` after checking its size. */
bool dataset_open(const struct dataset_file *file, struct dataset_index *index, const char *path,
                  const struct dataset_source *const *parts, struct error *err);

/* Returns true if the container has the number, type and shape of samples that `file` says. */
bool dataset_index_check(const struct dataset_index *index, const struct dataset_file *file, const char *path,
                         struct error *err);

/* Calls the format's `locate`, unless this build lacks a library for it. */
bool dataset_locate(const struct dataset_format *format, struct dataset_index *index, const char *path,
                    const struct dataset_source *const *parts, struct error *err);

#endif
