/* npz as numpy.savez writes it: a zip archive of x.npy, the samples, and y.npy, their labels (64-bit
 * zeros). */
#include "dataset/format/npy.h"
#include "dataset/format/zip.h"
#include "dataset/pack.h"
#include "dataset/sum.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER    65536
#define MAX_EXPANSION 1032 /* of deflate: 258 bytes in two bits */

/* For decoding: the sums of the member, and of the header in it, which is not read with the samples. */
struct sums {
    uint32_t whole, header;
};

/* Both members, with their places. The sums are not known yet, nor the packed sizes of deflated members. */
struct plan {
    struct numpy_array arrays[2];
    struct zip_member members[2];
    int64_t directory;
};

static void plan_files(struct plan *plan, const struct dataset_file *file)
{
    plan->arrays[0] = npy_array(file);
    plan->arrays[1] = (struct numpy_array){
        .element = DATASET_INT64,
        .dims_count = 1,
        .dims = {file->samples},
        .bytes = 8 * file->samples,
    };
    plan->directory = 0;
    for (int i = 0; i < 2; i++) {
        struct zip_member *member = &plan->members[i];
        *member = (struct zip_member){.deflated = file->layout->compression == DATASET_ZIP};
        memcpy(member->name, i ? "y.npy" : "x.npy", 6);
        numpy_header_write(&plan->arrays[i]);
        member->size = member->packed = plan->arrays[i].header_bytes + plan->arrays[i].bytes;
        plan->directory = zip_place(member, plan->directory);
    }
}

static int64_t npz_bytes(const struct dataset_file *file)
{
    struct plan plan;
    if (file->layout->compression != DATASET_NONE)
        return -1;
    plan_files(&plan, file);
    return plan.directory + zip_tail_bytes(plan.members, 2, plan.directory);
}

static void put_array(struct dataset_writer *writer, const struct plan *plan, int which,
                      const struct dataset_content *content)
{
    dataset_put(writer, plan->arrays[which].header, (size_t)plan->arrays[which].header_bytes);
    if (which == 0)
        dataset_put_content(writer, content, 0, plan->arrays[0].bytes);
    else
        dataset_put_zeros(writer, plan->arrays[1].bytes);
}

static bool swallow(void *context, const void *from, size_t n, struct error *err)
{
    const struct dataset_sink *sink = context;
    (void)from;
    (void)n;
    return !sink->go_on || sink->go_on(sink->context, err);
}

/* The sum of a stored member stands before it, so it is made twice: that is cheaper than going back, and
 * possible where there is no way back. */
static void sum_array(struct dataset_writer *archive, struct plan *plan, int which,
                      const struct dataset_content *content)
{
    struct dataset_writer writer;
    struct dataset_sink sink = *archive->sink;
    const struct dataset_sink nowhere = {.context = &sink, .write = swallow};
    bool summed = dataset_writer_init(&writer, &nowhere, archive->err);
    if (summed) {
        writer.sum_of = dataset_crc32;
        put_array(&writer, plan, which, content);
        plan->members[which].sum = writer.sum;
        summed = dataset_writer_end(&writer);
    }
    archive->failed = archive->failed || !summed;
}

static void pack_array(struct dataset_writer *archive, struct plan *plan, int which,
                       const struct dataset_content *content, int level)
{
    struct dataset_packing packing;
    if (dataset_pack_begin(&packing, archive, level, DATASET_WRAP_NONE)) {
        packing.writer.sum_of = dataset_crc32;
        put_array(&packing.writer, plan, which, content);
        plan->members[which].sum = packing.writer.sum;
    }
    dataset_pack_end(&packing);
    plan->members[which].packed = packing.packed;
}

static void zip_put_trailer(struct dataset_writer *writer, const struct zip_member *member)
{
    dataset_put_u32(writer, 0x08074b50);
    dataset_put_u32(writer, member->sum);
    dataset_put_u64(writer, (uint64_t)member->packed);
    dataset_put_u64(writer, (uint64_t)member->size);
}

static void npz_write(const struct dataset_file *file, const struct dataset_content *content,
                      struct dataset_writer *writer)
{
    struct plan plan;
    plan_files(&plan, file);
    plan.directory = 0;
    for (int i = 0; i < 2 && !writer->failed; i++) {
        struct zip_member *member = &plan.members[i];
        member->offset = plan.directory;
        if (!member->deflated)
            sum_array(writer, &plan, i, content);
        zip_put_header(writer, member);
        if (member->deflated) {
            pack_array(writer, &plan, i, content, file->layout->compression_level);
            zip_put_trailer(writer, member);
        } else {
            put_array(writer, &plan, i, content);
        }
        plan.directory = zip_place(member, plan.directory);
    }
    zip_put_tail(writer, plan.members, 2, plan.directory);
}

/* Notes the reads of a framework: zipfile reads the end and the directory, then the member's header; numpy
 * the array's. */
static void place(struct dataset_index *index, const struct zip_member *member, int64_t header,
                  int64_t file_bytes)
{
    index->open_count = 2;
    index->open[0] = (struct dataset_extent){0, member->directory, file_bytes - member->directory};
    index->open[1] = (struct dataset_extent){0, member->offset, member->data - member->offset + header};
    index->first = member->data + header;
}

static bool npz_expect(const struct dataset_file *file, struct dataset_index *index)
{
    struct plan plan;
    struct error err;
    if (file->layout->compression != DATASET_NONE)
        return false;
    plan_files(&plan, file);
    if (!npy_index(index, &plan.arrays[0], "", &err))
        return false;
    plan.members[0].directory = plan.directory;
    place(index, &plan.members[0], plan.arrays[0].header_bytes, npz_bytes(file));
    return true;
}

/* Reads the first bytes of a member, at most `capacity`. */
static bool read_begin(const struct dataset_source *source, const char *path, const struct zip_member *member,
                       unsigned char *to, size_t capacity, size_t *length, struct error *err)
{
    size_t n = member->packed < (int64_t)capacity ? (size_t)member->packed : capacity;
    *length = n;
    if (!member->deflated)
        return dataset_read(source, path, member->data, to, n, "a member", err);
    unsigned char *packed = dataset_load(source, path, member->data, n, "a member", err);
    bool read =
        packed && dataset_unpack(path, packed, n, DATASET_WRAP_NONE, to, capacity / 2, false, length, err);
    free(packed);
    return read;
}

static bool check_member(const struct zip_member *member, const struct numpy_array *array, const char *path,
                         struct error *err)
{
    if (member->size != array->header_bytes + array->bytes)
        return error_set(err, ERROR_INPUT, "%s: member '%s' has %" PRId64 " bytes, its array needs %" PRId64,
                         path, member->name, member->size, array->header_bytes + array->bytes);
    if (member->deflated && member->size / MAX_EXPANSION > member->packed)
        return error_set(err, ERROR_INPUT, "%s: member '%s' cannot expand to %" PRId64 " bytes", path,
                         member->name, member->size);
    return true;
}

static bool locate_array(struct dataset_index *index, const char *path, const struct dataset_source *source,
                         const struct zip_member *member, unsigned char *header, struct error *err)
{
    struct numpy_array array;
    size_t length;
    if (!read_begin(source, path, member, header, MAX_HEADER, &length, err) ||
        !numpy_header_read(&array, path, (const char *)header, length, err) ||
        !check_member(member, &array, path, err) || !npy_index(index, &array, path, err))
        return false;
    place(index, member, array.header_bytes, source->size);
    if (member->deflated) {
        index->open[1].length = member->data - member->offset;
        index->first = member->data;
        index->length = member->packed;
        index->compression = DATASET_ZIP;
        index->unpacked = member->size;
    }
    struct sums *sums = malloc(sizeof *sums);
    if (!sums)
        return error_memory(err);
    *sums = (struct sums){member->sum, dataset_crc32(0, header, (size_t)array.header_bytes)};
    index->detail = sums;
    return true;
}

/* Checks the first bytes, which decide for numpy, whatever zipfile would make of the rest. */
static bool check_begin(const struct dataset_source *source, const char *path, struct error *err)
{
    unsigned char magic[4];
    return dataset_read(source, path, 0, magic, sizeof magic, "its first bytes", err) &&
           (dataset_little(magic, 4) == 0x04034b50 ||
            error_set(err, ERROR_INPUT, "%s: not an npz file: it does not begin with PK\\3\\4", path));
}

/* Locates the samples: in x.npy, or in the first member of an archive without it. */
static bool npz_locate(struct dataset_index *index, const char *path,
                       const struct dataset_source *const *parts, struct error *err)
{
    struct zip_member member;
    if (!check_begin(parts[0], path, err) || !zip_find(parts[0], path, "x.npy", true, &member, err))
        return false;
    unsigned char *header = malloc(MAX_HEADER);
    if (!header)
        return error_memory(err);
    bool located = locate_array(index, path, parts[0], &member, header, err);
    free(header);
    return located;
}

static bool check_sum(const struct dataset_index *index, uint32_t sum, struct error *err)
{
    const struct sums *sums = index->detail;
    return !sums || sum == sums->whole || error_set(err, ERROR_INPUT, "wrong CRC-32 of the archive member");
}

static bool npz_decode(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                       size_t raw_length, unsigned char *to, size_t capacity, size_t *length,
                       struct error *err)
{
    const struct sums *sums = index->detail;
    if (index->compression == DATASET_NONE)
        return check_sum(index, dataset_crc32(sums ? sums->header : 0, raw, raw_length), err) &&
               npy_pick(index, sample, raw, raw_length, to, capacity, length, err);
    size_t array_bytes = (size_t)(index->samples * index->sample_bytes);
    size_t unpacked, header = (size_t)index->unpacked - array_bytes;
    unsigned char *whole = malloc((size_t)index->unpacked + 1);
    if (!whole)
        return error_memory(err);
    bool done = dataset_unpack("npz", raw, raw_length, DATASET_WRAP_NONE, whole, (size_t)index->unpacked,
                               true, &unpacked, err);
    if (done && unpacked != (size_t)index->unpacked)
        done = error_set(err, ERROR_INPUT, "npz: compressed data have %zu bytes, expected %" PRId64, unpacked,
                         index->unpacked);
    if (done)
        done = check_sum(index, dataset_crc32(0, whole, unpacked), err) &&
               npy_pick(index, sample, whole + header, array_bytes, to, capacity, length, err);
    free(whole);
    return done;
}

/* Returns all of a member, whose sum is right. The caller frees it. */
static unsigned char *read_member(const struct dataset_source *source, const char *path,
                                  const struct zip_member *member, struct error *err)
{
    size_t packed = (size_t)member->packed, size = (size_t)member->size, length = packed;
    unsigned char *bytes = dataset_load(source, path, member->data, packed, "a member", err);
    if (bytes && member->deflated) {
        unsigned char *raw = bytes;
        bytes = malloc(size + 1);
        if (!bytes ||
            !dataset_unpack(path, raw, packed, DATASET_WRAP_NONE, bytes, size, true, &length, err)) {
            if (!bytes)
                error_memory(err);
            free(bytes);
            bytes = NULL;
        }
        free(raw);
    }
    if (!bytes || (length == size && dataset_crc32(0, bytes, length) == member->sum))
        return bytes;
    error_set(err, ERROR_INPUT, "%s: wrong CRC-32 of member '%s'", path, member->name);
    free(bytes);
    return NULL;
}

/* Checks the labels, which are zeros for any samples. */
static bool npz_labels(const struct dataset_file *file, const char *path,
                       const struct dataset_source *const *parts, struct error *err)
{
    struct plan plan;
    struct zip_member member;
    plan_files(&plan, file);
    if (!zip_find(parts[0], path, "y.npy", false, &member, err))
        return false;
    size_t header = (size_t)plan.arrays[1].header_bytes, zeros = (size_t)plan.arrays[1].bytes;
    if (member.size != plan.members[1].size)
        return error_set(err, ERROR_INPUT, "%s: its labels have %" PRId64 " bytes, expected %" PRId64, path,
                         member.size, plan.members[1].size);
    unsigned char *bytes = read_member(parts[0], path, &member, err);
    if (!bytes)
        return false;
    bool same = memcmp(bytes, plan.arrays[1].header, header) == 0;
    for (size_t i = 0; i < zeros && same; i++)
        same = bytes[header + i] == 0;
    free(bytes);
    return same || error_set(err, ERROR_INPUT, "%s: expected %" PRId64 " labels, all 0", path, file->samples);
}

const struct dataset_format dataset_format_npz = {
    DATASET_FORMAT_OF(npz), .parts = 1,    .compression = DATASET_ZIP, .decode = npz_decode,
    .container = true,      .typed = true, .beside = npz_labels,       .exact = true,
};
