/* Locates the samples of an HDF5 file: rows of `records`, or of `records_0`, `records_1`, … side by side, or
 * of the first data set of numbers that is not `labels`. */
#include "dataset/format/hdf5.h"
#include "dataset/pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RECORDS   65536
#define MAX_LINKS     1024 /* that are looked at for a data set */
#define MAX_EXTENTS   ((int64_t)1 << 24)
#define MAX_EXPANSION 1032 /* of deflate */
#define MAX_NAME      256

/* The shape and the filters of chunks, for decoding; `masks` has the filters that each extent was stored
 * without. */
struct chunked {
    struct hdf5_shape shape;
    unsigned deflate_mask, shuffle_mask;
    unsigned char masks[];
};

struct hdf5_input {
    struct hdf5_store *store;
    const char *path;
    int64_t file_bytes;
    struct dataset_index *index;
    struct hdf5_shape shape;
    unsigned deflate_mask, shuffle_mask;
    struct error *err;
};

static bool refuse(const struct hdf5_input *r, const char *name, const char *why)
{
    return error_set(r->err, ERROR_INPUT, "%s: data set '%s': %s", r->path, name, why);
}

static bool read_filters(struct hdf5_input *r, hid_t creation, const char *name)
{
    int count = H5Pget_nfilters(creation);
    for (int i = 0; i < count; i++) {
        size_t values = 0;
        unsigned flags, info;
        H5Z_filter_t filter = H5Pget_filter2(creation, (unsigned)i, &flags, &values, NULL, 0, NULL, &info);
        if (filter == H5Z_FILTER_SHUFFLE && i == 0)
            r->shuffle_mask = 1u << i;
        else if (filter == H5Z_FILTER_DEFLATE && i == count - 1)
            r->deflate_mask = 1u << i;
        else
            return refuse(r, name, "expected no filters other than shuffle and gzip");
    }
    r->shape.shuffled = r->shuffle_mask != 0;
    r->shape.deflated = r->deflate_mask != 0;
    return true;
}

static bool read_layout(struct hdf5_input *r, hid_t set, const char *name)
{
    hid_t creation = H5Dget_create_plist(set);
    H5D_layout_t layout = creation < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(creation);
    bool read = false;
    if (layout == H5D_CHUNKED)
        read = H5Pget_chunk(creation, HDF5_MAX_RANK, r->shape.chunk) == r->shape.rank
                   ? read_filters(r, creation, name)
                   : refuse(r, name, "its chunks have another number of dimensions");
    else if (layout == H5D_CONTIGUOUS && H5Pget_external_count(creation) == 0)
        read = true;
    else
        refuse(r, name, "expected a contiguous or chunked layout, in this file");
    H5Pclose(creation);
    return read;
}

static bool read_dims(struct hdf5_input *r, hid_t set, const char *name)
{
    hid_t space = H5Dget_space(set);
    double bytes = (double)r->shape.element_bytes, chunks = 1;
    r->shape.rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    bool read = r->shape.rank >= 1 && r->shape.rank <= HDF5_MAX_RANK &&
                H5Sget_simple_extent_dims(space, r->shape.dims, r->shape.max) >= 0;
    H5Sclose(space);
    if (!read)
        return refuse(r, name, "expected 1 to 9 dimensions");
    for (int i = 0; i < r->shape.rank; i++) {
        if (r->shape.dims[i] == 0)
            return refuse(r, name, "it is empty");
        bytes *= (double)r->shape.dims[i];
    }
    if (bytes > (double)DATASET_MAX_RECORD)
        return refuse(r, name, "it is too large");
    if (!read_layout(r, set, name))
        return false;
    bytes = (double)r->shape.element_bytes;
    for (int i = 0; i < r->shape.rank && r->shape.chunk[0]; i++) {
        if (r->shape.chunk[i] == 0)
            return refuse(r, name, "an empty chunk");
        bytes *= (double)r->shape.chunk[i];
        hsize_t along = (r->shape.dims[i] - 1) / r->shape.chunk[i] + 1;
        chunks *= (double)along;
    }
    if (r->shape.chunk[0] && (bytes > 4294967295.0 || chunks > (double)HDF5_MAX_CHUNKS))
        return refuse(r, name, "its chunks are too many or too large");
    return true;
}

static bool hdf5_element(hid_t type, enum dataset_element *element)
{
    for (int i = 0; i < DATASET_ELEMENTS; i++) {
        hid_t candidate = hdf5_type((enum dataset_element)i);
        if (candidate >= 0 && H5Tequal(type, candidate) > 0) {
            *element = (enum dataset_element)i;
            return true;
        }
    }
    return false;
}

/* Reads the element, dimensions, layout and filters of a data set. */
static bool read_shape(struct hdf5_input *r, hid_t set, const char *name)
{
    hid_t type = H5Dget_type(set);
    bool known = type >= 0 && hdf5_element(type, &r->index->element);
    H5Tclose(type);
    if (!known)
        return refuse(r, name, "expected little-endian whole numbers or floats");
    r->shape.element_bytes = dataset_element_bytes(r->index->element);
    return read_dims(r, set, name);
}

/* Finds the data sets that hold the samples: one, or `records_0` and so on. */
static bool find_name(const struct hdf5_input *r, hid_t file, char name[MAX_NAME], int64_t *records)
{
    *records = 1;
    if (H5Lexists(file, "records", H5P_DEFAULT) > 0) {
        memcpy(name, "records", sizeof "records");
        return true;
    }
    for (int64_t i = 0; i <= MAX_RECORDS; i++) {
        snprintf(name, MAX_NAME, "records_%" PRId64, i);
        if (i == MAX_RECORDS || H5Lexists(file, name, H5P_DEFAULT) <= 0) {
            *records = i > 0 ? i : 1;
            if (i > 0)
                return true;
            break;
        }
    }
    for (hsize_t i = 0; i < MAX_LINKS; i++) {
        ssize_t n = H5Lget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, MAX_NAME, H5P_DEFAULT);
        if (n < 0)
            break;
        hid_t set =
            n < MAX_NAME && strcmp(name, "labels") != 0 ? H5Dopen2(file, name, H5P_DEFAULT) : H5I_INVALID_HID;
        if (set >= 0)
            H5Dclose(set);
        if (set >= 0)
            return true;
    }
    return error_set(r->err, ERROR_INPUT, "%s: no numeric data set, such as 'records' or 'records_0'",
                     r->path);
}

static bool is_like(const struct hdf5_shape *a, const struct hdf5_shape *b)
{
    return a->rank == b->rank && a->element_bytes == b->element_bytes && a->deflated == b->deflated &&
           a->shuffled == b->shuffled && memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           memcmp(a->chunk, b->chunk, sizeof a->chunk) == 0;
}

/* Sets the index but for extents, and makes room for these. */
static bool begin_index(struct hdf5_input *r)
{
    struct dataset_index *index = r->index;
    const struct hdf5_shape *shape = &r->shape;
    index->samples = (int64_t)shape->dims[0];
    index->per_sample = shape->records * (shape->chunk[0] ? hdf5_row_chunks(shape) : 1);
    index->sample_bytes = shape->records * hdf5_row_bytes(shape);
    index->dims_count = shape->rank - 1 > 0 ? shape->rank - 1 : 1;
    for (int i = 1; i < shape->rank; i++)
        index->dims[i - 1] = (int64_t)shape->dims[i];
    if (shape->rank == 1)
        index->dims[0] = 1;
    index->dims[0] *= shape->records;
    if (!shape->chunk[0] && shape->records == 1)
        return true;
    if ((double)index->samples * (double)index->per_sample > (double)MAX_EXTENTS)
        return error_set(r->err, ERROR_INPUT, "%s: more than %" PRId64 " extents of samples", r->path,
                         MAX_EXTENTS);
    size_t count = (size_t)(index->samples * index->per_sample);
    index->extents = calloc(count, sizeof *index->extents);
    if (!index->extents)
        return error_memory(r->err);
    if (!shape->chunk[0])
        return true;
    struct chunked *chunked = calloc(1, sizeof *chunked + count);
    if (!chunked)
        return error_memory(r->err);
    *chunked = (struct chunked){*shape, r->deflate_mask, r->shuffle_mask};
    index->detail = chunked;
    index->compression = shape->deflated ? DATASET_GZIP : DATASET_NONE;
    return true;
}

static bool add_whole(const struct hdf5_input *r, hid_t set, const char *name, int64_t record)
{
    struct dataset_index *index = r->index;
    int64_t row = hdf5_row_bytes(&r->shape), bytes = row * index->samples;
    haddr_t offset = H5Dget_offset(set);
    if (offset == HADDR_UNDEF)
        return refuse(r, name, "it was never written");
    if (bytes > r->file_bytes || offset > (haddr_t)(r->file_bytes - bytes))
        return refuse(r, name, "the file ends within it");
    if (!index->extents) {
        index->first = (int64_t)offset;
        index->length = index->stride = row;
        return true;
    }
    for (int64_t k = 0; k < index->samples; k++)
        index->extents[k * index->per_sample + record] =
            (struct dataset_extent){0, (int64_t)offset + k * row, row};
    return true;
}

static bool check_chunk(const struct hdf5_input *r, const char *name, haddr_t offset, hsize_t length,
                        unsigned mask)
{
    int64_t bytes = hdf5_chunk_bytes(&r->shape);
    bool deflated = r->deflate_mask && !(mask & r->deflate_mask);
    if (length > (hsize_t)r->file_bytes || offset > (haddr_t)r->file_bytes - length)
        return refuse(r, name, "the file ends within a chunk");
    if (deflated ? bytes / MAX_EXPANSION > (int64_t)length : bytes != (int64_t)length)
        return refuse(r, name, "a chunk's size differs from that of its elements");
    return true;
}

/* Finds a chunk. H5Dget_chunk_info_by_coord of 1.10 is wrong if a dimension other than the first may grow, so
 * the driver notes the place that libhdf5 would read. Length 0: the chunk was never written. */
static bool find_chunk(const struct hdf5_input *r, hid_t set, const hsize_t *start, haddr_t *offset,
                       hsize_t *length, uint32_t *mask)
{
    *length = 0;
    if (H5Dget_chunk_storage_size(set, start, length) < 0)
        return hdf5_error(r->path, "cannot find a chunk", r->err);
    if (*length == 0)
        return true;
    if (*length > (hsize_t)r->file_bytes)
        return error_set(r->err, ERROR_INPUT, "%s: a chunk is larger than the file", r->path);
    void *unread = malloc((size_t)*length);
    if (!unread)
        return error_memory(r->err);
    r->store->data = HADDR_UNDEF;
    bool found = H5Dread_chunk(set, H5P_DEFAULT, start, mask, unread) >= 0 && r->store->data != HADDR_UNDEF;
    free(unread);
    *offset = r->store->data;
    return found || hdf5_error(r->path, "cannot find a chunk", r->err);
}

/* Adds a chunk to each of its samples. Chunks that were never written have no bytes. */
static bool add_chunks(const struct hdf5_input *r, hid_t set, const char *name, int64_t record)
{
    struct dataset_index *index = r->index;
    struct chunked *chunked = index->detail;
    int64_t in_row = hdf5_row_chunks(&r->shape);
    for (int64_t i = 0; i < hdf5_chunks(&r->shape); i++) {
        hsize_t start[HDF5_MAX_RANK], length;
        uint32_t mask = 0;
        haddr_t offset = HADDR_UNDEF;
        hdf5_chunk_start(&r->shape, i, start);
        if (!find_chunk(r, set, start, &offset, &length, &mask))
            return false;
        if (length == 0)
            continue;
        if (!check_chunk(r, name, offset, length, mask))
            return false;
        for (hsize_t k = start[0]; k < r->shape.dims[0] && k < start[0] + r->shape.chunk[0]; k++) {
            int64_t at = (int64_t)k * index->per_sample + record * in_row + i % in_row;
            index->extents[at] = (struct dataset_extent){0, (int64_t)offset, (int64_t)length};
            chunked->masks[at] = (unsigned char)mask;
        }
    }
    return true;
}

static bool read_set(struct hdf5_input *r, hid_t file, const char *name, int64_t record, int64_t records)
{
    struct hdf5_shape first = r->shape;
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    if (set < 0)
        return hdf5_error(r->path, name, r->err);
    r->shape = (struct hdf5_shape){0};
    bool read = read_shape(r, set, name);
    r->shape.records = records;
    if (read && record > 0 && !is_like(&first, &r->shape))
        read = refuse(r, name, "its type, shape or layout differs from the first data set's");
    read = read && (record > 0 || begin_index(r)) &&
           (r->shape.chunk[0] ? add_chunks(r, set, name, record) : add_whole(r, set, name, record));
    H5Dclose(set);
    return read;
}

static bool read_file(struct hdf5_input *r, hid_t file)
{
    char name[MAX_NAME];
    int64_t records;
    if (!find_name(r, file, name, &records))
        return false;
    bool one = strncmp(name, "records_", 8) != 0;
    for (int64_t i = 0; i < records; i++) {
        if (!one)
            snprintf(name, sizeof name, "records_%" PRId64, i);
        if (!read_set(r, file, name, i, records))
            return false;
    }
    return true;
}

bool hdf5_locate(struct dataset_index *index, const char *path, const struct dataset_source *const *parts,
                 struct error *err)
{
    struct hdf5_session session;
    struct hdf5_store store = {.source = parts[0], .err = err, .locating = true};
    struct hdf5_input reading = {
        .store = &store, .path = path, .file_bytes = parts[0]->size, .index = index, .err = err};
    hdf5_begin(&session);
    hid_t file = hdf5_open(&store);
    bool located = file >= 0 ? read_file(&reading, file) : hdf5_error(path, "not an HDF5 file", err);
    if (file >= 0)
        H5Fclose(file);
    hdf5_end(&session);
    index->open_count = store.open_count;
    memcpy(index->open, store.open, sizeof index->open);
    return located;
}

/* Returns true if the labels are as many zeros as the file has samples. */
static bool read_labels(const struct dataset_file *file, hid_t in)
{
    hid_t set = H5Dopen2(in, "labels", H5P_DEFAULT), space = set < 0 ? H5I_INVALID_HID : H5Dget_space(set);
    hsize_t count = 0;
    bool zeros = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                 H5Sget_simple_extent_dims(space, &count, NULL) == 1 && count == (hsize_t)file->samples;
    int64_t *labels = zeros ? calloc((size_t)count + 1, sizeof *labels) : NULL;
    zeros = labels && H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, labels) >= 0;
    for (hsize_t i = 0; zeros && i < count; i++)
        zeros = labels[i] == 0;
    free(labels);
    if (space >= 0)
        H5Sclose(space);
    if (set >= 0)
        H5Dclose(set);
    return zeros;
}

bool hdf5_labels(const struct dataset_file *file, const char *path, const struct dataset_source *const *parts,
                 struct error *err)
{
    struct hdf5_session session;
    struct error ignored;
    struct hdf5_store store = {.source = parts[0], .err = &ignored};
    hdf5_begin(&session);
    hid_t in = hdf5_open(&store);
    bool zeros = in >= 0 && read_labels(file, in);
    if (in >= 0)
        H5Fclose(in);
    hdf5_end(&session);
    return zeros ||
           error_set(err, ERROR_INPUT, "%s: expected %" PRId64 " labels, all 0", path, file->samples);
}

/* Copies one sample's part of a chunk. */
struct scatter {
    int64_t sample;
    const unsigned char *chunk;
    unsigned char *to;
};

static void scatter_run(void *context, int64_t row, int64_t in_row, int64_t in_chunk, size_t n)
{
    const struct scatter *s = context;
    if (row == s->sample)
        memcpy(s->to + in_row, s->chunk + in_chunk, n);
}

/* Undoes the filter `shuffle`, which stores the first bytes of all elements, then the second bytes, and so
 * on. */
static void unshuffle(const unsigned char *from, unsigned char *to, size_t n, size_t element)
{
    size_t count = n / element;
    for (size_t b = 0; b < element; b++)
        for (size_t i = 0; i < count; i++)
            to[i * element + b] = from[b * count + i];
}

/* Decodes a stored chunk into `out`; `spare` is as large. */
static bool unpack_chunk(const struct chunked *chunked, unsigned mask, const unsigned char *raw, size_t n,
                         unsigned char *out, unsigned char *spare, struct error *err)
{
    size_t bytes = (size_t)hdf5_chunk_bytes(&chunked->shape), length = n;
    bool shuffled = chunked->shuffle_mask && !(mask & chunked->shuffle_mask);
    unsigned char *to = shuffled ? spare : out;
    if (n == 0) {
        memset(out, 0, bytes);
        return true;
    }
    if (!chunked->deflate_mask || mask & chunked->deflate_mask)
        memcpy(to, raw, n < bytes ? n : bytes);
    else if (!dataset_unpack("HDF5", raw, n, DATASET_WRAP_ZLIB, to, bytes, true, &length, err))
        return false;
    if (length != bytes)
        return error_set(err, ERROR_INPUT, "HDF5: a chunk has %zu bytes, expected %zu", length, bytes);
    if (shuffled)
        unshuffle(spare, out, bytes, (size_t)chunked->shape.element_bytes);
    return true;
}

static bool decode_chunks(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                          unsigned char *to, unsigned char *buffer, struct error *err)
{
    const struct chunked *chunked = index->detail;
    const struct hdf5_shape *shape = &chunked->shape;
    int64_t in_row = hdf5_row_chunks(shape), at = sample * index->per_sample;
    size_t bytes = (size_t)hdf5_chunk_bytes(shape);
    for (int64_t i = 0; i < index->per_sample; i++) {
        size_t n = (size_t)index->extents[at + i].length;
        struct scatter scatter = {sample, buffer, to + (i / in_row) * hdf5_row_bytes(shape)};
        hsize_t start[HDF5_MAX_RANK];
        if (!unpack_chunk(chunked, chunked->masks[at + i], raw, n, buffer, buffer + bytes, err))
            return false;
        hdf5_chunk_start(shape, sample / (int64_t)shape->chunk[0] * in_row + i % in_row, start);
        hdf5_chunk_runs(shape, start, scatter_run, &scatter);
        raw += n;
    }
    return true;
}

bool hdf5_decode(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                 size_t raw_length, unsigned char *to, size_t capacity, size_t *length, struct error *err)
{
    const struct chunked *chunked = index->detail;
    if (!chunked)
        return dataset_decode_copy(index, sample, raw, raw_length, to, capacity, length, err);
    if (capacity < (size_t)index->sample_bytes || (int64_t)raw_length != dataset_index_length(index, sample))
        return error_set(err, ERROR_FAILED, "sample %" PRId64 " has %" PRId64 " bytes; there is room for %zu",
                         sample, index->sample_bytes, capacity);
    unsigned char *buffer = malloc(2 * (size_t)hdf5_chunk_bytes(&chunked->shape));
    if (!buffer)
        return error_memory(err);
    bool decoded = decode_chunks(index, sample, raw, to, buffer, err);
    free(buffer);
    *length = (size_t)index->sample_bytes;
    return decoded;
}
