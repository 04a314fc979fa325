/* File formats of data sets, one struct each in one table. A format knows bytes and never a disk: it writes through a
 * sink and reads through a source.
 *
 * To add one: a file of its own with a `const struct dataset_format dataset_format_NAME`, a line in format.c's table. */
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

/* Where bytes come from: `n` bytes from `offset`, all of them or an error. Several threads may read at once. */
struct dataset_source {
    void *context;
    int64_t size;
    bool (*read)(void *context, int64_t offset, void *to, size_t n, struct error *err);
};

/* The samples of a file, one after the other (npy and npz: in the order of the array, which interleaves them). */
struct dataset_content {
    const void *context;
    void (*fill)(const void *context, int64_t offset, void *to, size_t n);
};

/* Where bytes go, in order. What is set to NULL is not needed. */
struct dataset_sink {
    void *context;
    bool (*write)(void *context, const void *from, size_t n, struct error *err);

    /* Bytes of any place, by several threads at once. What `write` gets then goes behind the last of them. */
    bool (*write_at)(void *context, int64_t offset, const void *from, size_t n, struct error *err);

    /* The next n bytes are those of the content from `offset` on; the sink makes them itself, by as many threads as it has. */
    bool (*fill)(void *context, const struct dataset_content *content, int64_t offset, int64_t n,
                 struct error *err);

    /* Is it not time to end? Asked while nothing is written for long (sums that stand before what they are of). */
    bool (*go_on)(void *context, struct error *err);
};

struct dataset_extent {
    int part;
    int64_t offset, length;
};

/* Where the samples of one file lie, and what they are. */
struct dataset_index {
    int64_t samples;
    int open_count;
    /* What a framework reads when it opens the file, in order. */
    struct dataset_extent open[DATASET_MAX_OPEN];

    /* Sample k is read as `per_sample` extents: those from extents[k × per_sample] on, or, when extents is NULL, the one of
     * part 0 at first + k × stride of `length` bytes. Stride 0: every sample takes the whole array. */
    int64_t first, stride, length;
    int64_t per_sample;
    struct dataset_extent *extents;

    /* What a sample is once decoded. */
    enum dataset_element element;
    int dims_count;
    int64_t dims[DATASET_MAX_DIMS];
    int64_t sample_bytes; /* of every sample, or the most */
    enum dataset_compression compression;
    int64_t interleaved; /* samples that lie element by element in one array; 0: one after the other */
    int64_t unpacked;    /* bytes of the array once it is decompressed; 0: it is not compressed */
    void *detail;        /* what else the format's `decode` goes by: one piece of memory, the index's own */
};

/* Ends an index; one set to zero is empty. */
void dataset_index_release(struct dataset_index *index);

/* The extents of a sample, 0 <= sample < samples; at most index->per_sample. */
int64_t dataset_index_extents(const struct dataset_index *index, int64_t sample,
                              struct dataset_extent *extents);

/* Bytes that reading a sample takes: of all its extents. */
int64_t dataset_index_length(const struct dataset_index *index, int64_t sample);

/* For formats: an index whose samples are those of `file`, or one sample of `bytes` bytes; and a sample that is
 * stored as it is. */
void dataset_index_shape(struct dataset_index *index, const struct dataset_file *file);
void dataset_index_bytes(struct dataset_index *index, int64_t bytes);

/* Adds a sample that lies in one piece of part 0. Samples alike that lie at equal distances take no memory. Begin with
 * an index that is zero; its shape is set when all were added. */
struct dataset_builder {
    struct dataset_index *index;
    int64_t capacity; /* of its extents */
};
bool dataset_index_add(struct dataset_builder *builder, int64_t offset, int64_t length, struct error *err);

bool dataset_decode_copy(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                         size_t raw_length, unsigned char *to, size_t capacity, size_t *length,
                         struct error *err);

struct dataset_format {
    const char *name; /* DLIO's word for it */
    const char *extension;
    const char *missing; /* the library that this build is without; NULL: nothing is missing */
    int parts;           /* files per file */

    /* Can it hold this layout? NULL: any layout that is not compressed. */
    bool (*check)(const struct dataset_layout *layout, struct error *err);

    /* Sets the counts of files and samples so that there are layout->total_bytes. NULL: it cannot be asked for. */
    bool (*fit)(struct dataset_layout *layout, struct error *err);

    /* Where files have shapes of their own: sets element, dims and bytes of `file`. NULL: as the layout says. */
    void (*shape)(struct dataset_file *file);

    /* Parts of this file, where that is not `parts` for all. */
    int (*part_count)(const struct dataset_file *file);

    /* Path of a part, where it is not the usual name plus part_suffix[part]. */
    void (*path)(const struct dataset_file *file, int part, struct text *path);
    const char *part_suffix[DATASET_MAX_PARTS];

    /* Exact bytes of a part, or -1. */
    int64_t (*bytes)(const struct dataset_file *file, int part);

    /* Masks on the generated bytes, where the format cannot take every value: see struct dataset_bytes. NULL: none
     * beside those of floating point elements. */
    void (*mask)(const struct dataset_file *file, struct dataset_bytes *bytes);

    /* Writes a part, in buffers of bounded size. */
    bool (*write)(const struct dataset_file *file, int part, const struct dataset_content *content,
                  const struct dataset_sink *sink, struct error *err);

    /* The index of a file as `write` makes it, without reading. NULL, or false: it must be read. */
    bool (*expect)(const struct dataset_file *file, struct dataset_index *index);

    /* The index of any file of the format. `parts` are sources of its parts; those but the first may be NULL. On
     * success the caller ends it with dataset_index_release. Messages begin with `path`. */
    bool (*locate)(struct dataset_index *index, const char *path, const struct dataset_source *const *parts,
                   struct error *err);

    /* The bytes of the sample's extents, joined, into its array: at most `capacity`, the count into *length. */
    bool (*decode)(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                   size_t raw_length, unsigned char *to, size_t capacity, size_t *length, struct error *err);

    /* What a sample is once decoded, and its length, at most the file's record_bytes. NULL: the generated bytes. */
    size_t (*sample)(const struct dataset_file *file, const struct dataset_content *random, int64_t sample,
                     unsigned char *to);

    /* Has a file more than its samples, which a reader goes by: headers, a directory, an index? Whoever decodes reads it from
     * there, though `expect` knows it, and finds that it is damaged, as the framework would. */
    bool container;
    bool typed; /* and does that say the samples' type and shape? */

    /* Is what lies beside the samples (labels) what `write` makes? Of files that are compared sample by sample. NULL: there
     * is nothing. */
    bool (*beside)(const struct dataset_file *file, const char *path,
                   const struct dataset_source *const *parts, struct error *err);

    /* Are the bytes of a file the same whatever library wrote them? Then it is verified byte by byte, else sample by sample,
     * as decoded. */
    bool exact;

    /* How far a byte of a decoded sample may be from what was generated: 0 but for lossy formats (JPEG). */
    int tolerance;
};

/* The format of this name, or NULL; all of them. */
const struct dataset_format *dataset_format_find(const char *name);
const struct dataset_format *const *dataset_formats(size_t *count);

/* Adds the name that parts have whose format has no `path`. */
void dataset_usual_path(const struct dataset_file *file, int part, struct text *path);

/* What is in file `number`'s samples: generated bytes. `bytes` lives as long as the content. */
void dataset_content_init(struct dataset_content *content, struct dataset_bytes *bytes,
                          const struct dataset_file *file);

/* The format's `write`, `expect` and `locate` with what goes for every format: a library that is missing, a stated
 * content or, where it is NULL, the generated one. */
bool dataset_write(const struct dataset_file *file, int part, const struct dataset_content *content,
                   const struct dataset_sink *sink, struct error *err);
/* The index for whoever decodes: that of the container where there is one, else the one that follows from `file`, if that
 * has the size it should. */
bool dataset_open(const struct dataset_file *file, struct dataset_index *index, const char *path,
                  const struct dataset_source *const *parts, struct error *err);

/* Has the container as many samples, of the type and shape, as `file` should have? */
bool dataset_index_check(const struct dataset_index *index, const struct dataset_file *file, const char *path,
                         struct error *err);

bool dataset_locate(const struct dataset_format *format, struct dataset_index *index, const char *path,
                    const struct dataset_source *const *parts, struct error *err);

#endif
