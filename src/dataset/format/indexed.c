/* Indexed binary: samples one after the other, and two files beside them with the offset and the size of each
 * (64 bits). DLIO's mmap variant has the same files, mapped instead of read. */
#include "dataset/writer.h"

#include <inttypes.h>
#include <stdlib.h>

enum { DATA, OFFSETS, SIZES, PARTS };

#define BLOCK ((size_t)4096) /* entries of an index that are read at once */

static int64_t indexed_bytes(const struct dataset_file *file)
{
    return file->part == DATA ? file->payload_bytes : 8 * file->samples;
}

static void indexed_write(const struct dataset_file *file, const struct dataset_content *content,
                          struct dataset_writer *writer)
{
    if (file->part == DATA)
        dataset_put_content(writer, content, 0, file->payload_bytes);
    for (int64_t i = 0; file->part != DATA && i < file->samples && !writer->failed; i++)
        dataset_put_u64(writer, (uint64_t)(file->part == OFFSETS ? i : 1) * (uint64_t)file->record_bytes);
}

/* Both indexes are read as a whole when a file is opened. */
static void set_open(struct dataset_index *index, int64_t bytes)
{
    index->open_count = 2;
    index->open[0] = (struct dataset_extent){OFFSETS, 0, bytes};
    index->open[1] = (struct dataset_extent){SIZES, 0, bytes};
}

static bool indexed_expect(const struct dataset_file *file, struct dataset_index *index)
{
    dataset_index_shape(index, file);
    index->stride = index->length = file->record_bytes;
    set_open(index, 8 * file->samples);
    return true;
}

static bool add_block(struct dataset_builder *builder, const char *path, int64_t data_bytes,
                      const unsigned char *offsets, const unsigned char *sizes, size_t count,
                      struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = dataset_little(offsets + 8 * i, 8), size = dataset_little(sizes + 8 * i, 8);
        if (size > (uint64_t)data_bytes || offset > (uint64_t)data_bytes - size)
            return error_set(err, ERROR_INPUT,
                             "%s: sample %" PRId64 " (%" PRIu64 " bytes at %" PRIu64
                             ") lies beyond the %" PRId64 " bytes of the file",
                             path, builder->index->samples, size, offset, data_bytes);
        if (!dataset_index_add(builder, (int64_t)offset, (int64_t)size, err))
            return false;
    }
    return true;
}

static bool add_all(struct dataset_builder *builder, const char *path,
                    const struct dataset_source *const *parts, unsigned char *blocks, struct error *err)
{
    int64_t count = parts[OFFSETS]->size / 8;
    for (int64_t i = 0; i < count; i += (int64_t)BLOCK) {
        size_t now = count - i < (int64_t)BLOCK ? (size_t)(count - i) : BLOCK;
        if (!dataset_read(parts[OFFSETS], path, 8 * i, blocks, 8 * now, "its offsets", err) ||
            !dataset_read(parts[SIZES], path, 8 * i, blocks + 8 * BLOCK, 8 * now, "its sizes", err) ||
            !add_block(builder, path, parts[DATA]->size, blocks, blocks + 8 * BLOCK, now, err))
            return false;
    }
    return true;
}

static bool indexed_locate(struct dataset_index *index, const char *path,
                           const struct dataset_source *const *parts, struct error *err)
{
    struct dataset_builder builder = {.index = index};
    if (!parts[OFFSETS] || !parts[SIZES])
        return error_set(err, ERROR_INPUT, "%s: its index is missing (%s.off.idx and %s.sz.idx)", path, path,
                         path);
    if (parts[OFFSETS]->size != parts[SIZES]->size || parts[SIZES]->size % 8 != 0 || parts[SIZES]->size == 0)
        return error_set(err, ERROR_INPUT,
                         "%s: its indexes have %" PRId64 " and %" PRId64
                         " bytes: expected eight per sample in both",
                         path, parts[OFFSETS]->size, parts[SIZES]->size);
    unsigned char *blocks = malloc(BLOCK * 16);
    if (!blocks)
        return error_memory(err);
    bool added = add_all(&builder, path, parts, blocks, err);
    free(blocks);
    if (!added)
        return false;
    set_open(index, parts[SIZES]->size);
    index->sample_bytes = index->dims[0] = dataset_index_longest(index);
    index->dims_count = 1;
    return true;
}

/* Two names for one format. */
#define INDEXED(word)                                                                                        \
    {                                                                                                        \
        .name = (word), .extension = (word), .parts = PARTS, .part_suffix = {NULL, ".off.idx", ".sz.idx"},   \
        .bytes = indexed_bytes, .write = indexed_write, .expect = indexed_expect, .locate = indexed_locate,  \
        .decode = dataset_decode_copy, .container = true, .exact = true,                                     \
    }

const struct dataset_format dataset_format_indexed_binary = INDEXED("indexed_binary");
const struct dataset_format dataset_format_mmap_indexed_binary = INDEXED("mmap_indexed_binary");
