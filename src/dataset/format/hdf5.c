/* HDF5 as DLIO writes it: data sets `records_0`, `records_1`, … of (samples, rest of the record) and
 * `labels`, 64-bit zeros; in one piece, in chunks, or in chunks that are deflated.
 *
 * libhdf5 goes to and fro in a file. Here it makes the file without its data (dataset/hdf5.h), says where
 * these lie, and the whole is then written from front to back, the data generated on the way. Only deflated
 * chunks are held in memory before, as their sizes say where the next one lies: of files up to MAX_PACKED. */
#include "dataset/format/hdf5.h"

#include "core/vector.h"
#include "dataset/layout.h"
#include "dataset/pack.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PACKED ((int64_t)1 << 30)
#define LABELS     (-1)
#define WHOLE      (-1)

/* A piece of a file's data: chunk `chunk` of data set `record` (or of the labels), or all of it. */
struct piece {
    int64_t offset, length;
    int64_t record, chunk;
};

struct packed {
    unsigned char *bytes;
    size_t length, capacity;
};

struct image {
    const struct dataset_file *file;
    struct hdf5_shape shape;
    struct packed *packed; /* of every chunk, where they are deflated */
    struct hdf5_store store;
    struct piece *pieces; /* in order of their places */
    int64_t count;
};

static int64_t chunk_count(const struct hdf5_shape *shape)
{
    return shape->chunk[0] ? hdf5_chunks(shape) : 1;
}

static int64_t chunk_length(const struct image *image, int64_t record, int64_t chunk)
{
    if (image->packed)
        return (int64_t)image->packed[record * chunk_count(&image->shape) + chunk].length;
    return hdf5_chunk_bytes(&image->shape);
}

static hid_t new_set(hid_t file, const char *name, hid_t type, const struct hdf5_shape *shape, int level)
{
    hid_t space = H5Screate_simple(shape->rank, shape->dims, shape->max);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), set = H5I_INVALID_HID;
    bool made = space >= 0 && creation >= 0 && H5Pset_obj_track_times(creation, false) >= 0;
    if (made && shape->chunk[0])
        made = H5Pset_chunk(creation, shape->rank, shape->chunk) >= 0;
    if (made && shape->deflated)
        made = H5Pset_deflate(creation, (unsigned)level) >= 0;
    if (made)
        set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    return set;
}

/* Places a data set in one piece, which happens when its first element is written. */
static bool place_whole(struct image *image, hid_t set, hid_t type, int64_t record, int64_t length)
{
    static const unsigned char zero[8];
    hsize_t start[HDF5_MAX_RANK] = {0}, one[HDF5_MAX_RANK];
    hid_t space = H5Dget_space(set), scalar = H5Screate(H5S_SCALAR);
    for (int i = 0; i < HDF5_MAX_RANK; i++)
        one[i] = 1;
    bool placed = space >= 0 && scalar >= 0 &&
                  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL) >= 0 &&
                  H5Dwrite(set, type, scalar, space, H5P_DEFAULT, zero) >= 0;
    haddr_t offset = placed ? H5Dget_offset(set) : HADDR_UNDEF;
    H5Sclose(scalar);
    H5Sclose(space);
    if (offset == HADDR_UNDEF)
        return false;
    image->pieces[image->count++] = (struct piece){(int64_t)offset, length, record, WHOLE};
    return true;
}

static bool place_chunks(struct image *image, hid_t set, int64_t record, const void *anything)
{
    for (int64_t i = 0; i < hdf5_chunks(&image->shape); i++) {
        hsize_t start[HDF5_MAX_RANK];
        int64_t length = chunk_length(image, record, i);
        hdf5_chunk_start(&image->shape, i, start);
        image->store.data = HADDR_UNDEF;
        if (H5Dwrite_chunk(set, H5P_DEFAULT, 0, start, (size_t)length, anything) < 0 ||
            image->store.data == HADDR_UNDEF)
            return false;
        image->pieces[image->count++] = (struct piece){(int64_t)image->store.data, length, record, i};
    }
    return true;
}

static bool place_record(struct image *image, hid_t file, int64_t record, const void *anything)
{
    const struct hdf5_shape *shape = &image->shape;
    hid_t type = hdf5_type(image->file->element);
    char name[32];
    snprintf(name, sizeof name, "records_%" PRId64, record);
    hid_t set = new_set(file, name, type, shape, image->file->layout->compression_level);
    if (set < 0)
        return false;
    bool placed = shape->chunk[0] ? place_chunks(image, set, record, anything)
                                  : place_whole(image, set, type, record,
                                                (int64_t)shape->dims[0] * hdf5_row_bytes(shape));
    return H5Dclose(set) >= 0 && placed;
}

static bool place_labels(struct image *image, hid_t file)
{
    struct hdf5_shape labels = {.rank = 1, .dims = {image->shape.dims[0]}, .max = {image->shape.dims[0]}};
    hid_t set = new_set(file, "labels", H5T_STD_I64LE, &labels, 0);
    bool placed =
        set >= 0 && place_whole(image, set, H5T_STD_I64LE, LABELS, 8 * (int64_t)image->shape.dims[0]);
    return set >= 0 && H5Dclose(set) >= 0 && placed;
}

static bool place_all(struct image *image, const void *anything, struct error *err)
{
    struct hdf5_session session;
    hdf5_begin(&session);
    hid_t file = hdf5_create(&image->store);
    bool placed = file >= 0;
    for (int64_t r = 0; r < image->shape.records && placed; r++)
        placed = place_record(image, file, r, anything);
    placed = placed && place_labels(image, file);
    if (!placed)
        hdf5_error("HDF5", "cannot lay out a file", err);
    if (file >= 0 && H5Fclose(file) < 0 && placed)
        placed = hdf5_error("HDF5", "cannot close a file", err);
    hdf5_end(&session);
    return placed;
}

static int by_offset(const void *a, const void *b)
{
    int64_t x = ((const struct piece *)a)->offset, y = ((const struct piece *)b)->offset;
    return (x > y) - (x < y);
}

static void image_release(struct image *image)
{
    if (image->packed)
        for (int64_t i = 0; i < image->shape.records * chunk_count(&image->shape); i++)
            free(image->packed[i].bytes);
    free(image->packed);
    free(image->pieces);
    hdf5_store_release(&image->store);
}

static bool image_make(struct image *image, struct error *err)
{
    const struct hdf5_shape *shape = &image->shape;
    int64_t longest = 1, chunks = chunk_count(shape);
    for (int64_t i = 0; i < shape->records * chunks && shape->chunk[0]; i++) {
        int64_t length = chunk_length(image, i / chunks, i % chunks);
        longest = length > longest ? length : longest;
        if (!image->packed)
            break;
    }
    image->pieces = malloc((size_t)(shape->records * chunks + 1) * sizeof *image->pieces);
    void *anything = calloc(1, (size_t)longest); /* is not looked at */
    bool made = image->pieces && anything ? place_all(image, anything, err) : error_memory(err);
    free(anything);
    if (made)
        qsort(image->pieces, (size_t)image->count, sizeof *image->pieces, by_offset);
    return made;
}

/* Collects a chunk's elements from the content. */
struct gather {
    const struct image *image;
    const struct dataset_content *content;
    int64_t record;
    unsigned char *chunk;
};

static void gather_run(void *context, int64_t row, int64_t in_row, int64_t in_chunk, size_t n)
{
    const struct gather *g = context;
    int64_t offset = row * g->image->file->record_bytes + g->record * hdf5_row_bytes(&g->image->shape);
    g->content->fill(g->content->context, offset + in_row, g->chunk + in_chunk, n);
}

static void gather_chunk(struct gather *gather, int64_t record, int64_t chunk)
{
    const struct hdf5_shape *shape = &gather->image->shape;
    hsize_t start[HDF5_MAX_RANK];
    gather->record = record;
    memset(gather->chunk, 0, (size_t)hdf5_chunk_bytes(shape));
    hdf5_chunk_start(shape, chunk, start);
    hdf5_chunk_runs(shape, start, gather_run, gather);
}

static bool take_packed(void *context, const void *from, size_t n, struct error *err)
{
    struct packed *packed = context;
    if (!VECTOR_ROOM(packed->bytes, packed->capacity, packed->length + n))
        return error_memory(err);
    memcpy(packed->bytes + packed->length, from, n);
    packed->length += n;
    return true;
}

static bool pack_chunk(struct packed *packed, const unsigned char *chunk, size_t n, int level,
                       struct error *err)
{
    const struct dataset_sink to = {.context = packed, .write = take_packed};
    struct dataset_writer writer;
    struct dataset_packing packing;
    if (!dataset_writer_init(&writer, &to, err))
        return false;
    if (dataset_pack_begin(&packing, &writer, level, DATASET_WRAP_ZLIB))
        dataset_put(&packing.writer, chunk, n);
    dataset_pack_end(&packing);
    return dataset_writer_end(&writer);
}

static bool pack_all(struct image *image, struct gather *gather, struct error *err)
{
    const struct hdf5_shape *shape = &image->shape;
    int64_t chunks = chunk_count(shape), count = shape->records * chunks;
    if (image->file->payload_bytes > MAX_PACKED)
        return error_set(err, ERROR_INPUT,
                         "dataset.compression: an HDF5 file of %" PRId64
                         " bytes before compression exceeds the limit of %" PRId64,
                         image->file->payload_bytes, MAX_PACKED);
    image->packed = calloc((size_t)count, sizeof *image->packed);
    if (!image->packed)
        return error_memory(err);
    for (int64_t i = 0; i < count; i++) {
        gather_chunk(gather, i / chunks, i % chunks);
        if (!pack_chunk(&image->packed[i], gather->chunk, (size_t)hdf5_chunk_bytes(shape),
                        image->file->layout->compression_level, err))
            return false;
    }
    return true;
}

/* Puts the bytes that libhdf5 wrote between the data. */
static void put_between(struct dataset_writer *writer, const struct image *image, int64_t from, int64_t until)
{
    unsigned char bytes[4096];
    while (from < until && !writer->failed) {
        size_t now = until - from < (int64_t)sizeof bytes ? (size_t)(until - from) : sizeof bytes;
        hdf5_store_read(&image->store, from, bytes, now);
        dataset_put(writer, bytes, now);
        from += (int64_t)now;
    }
}

static void put_piece(struct dataset_writer *writer, const struct image *image, struct gather *gather,
                      const struct piece *piece)
{
    int64_t record_bytes = image->file->record_bytes, row = hdf5_row_bytes(&image->shape);
    if (piece->record == LABELS) {
        dataset_put_zeros(writer, piece->length);
    } else if (piece->chunk != WHOLE && image->packed) {
        const struct packed *packed =
            &image->packed[piece->record * chunk_count(&image->shape) + piece->chunk];
        dataset_put(writer, packed->bytes, packed->length);
    } else if (piece->chunk != WHOLE) {
        gather_chunk(gather, piece->record, piece->chunk);
        dataset_put(writer, gather->chunk, (size_t)piece->length);
    } else if (image->shape.records == 1) {
        dataset_put_content(writer, gather->content, 0, piece->length);
    } else {
        for (int64_t k = 0; k < image->file->samples && !writer->failed; k++)
            dataset_put_content(writer, gather->content, k * record_bytes + piece->record * row, row);
    }
}

static void put_all(const struct image *image, struct gather *gather, struct dataset_writer *writer)
{
    int64_t at = 0;
    for (int64_t i = 0; i < image->count && !writer->failed; i++) {
        const struct piece *piece = &image->pieces[i];
        put_between(writer, image, at, piece->offset);
        put_piece(writer, image, gather, piece);
        at = piece->offset + piece->length;
    }
    put_between(writer, image, at, image->store.size);
}

static void hdf5_write(const struct dataset_file *file, const struct dataset_content *content,
                       struct dataset_writer *writer)
{
    struct image image = {.file = file};
    struct gather gather = {.image = &image, .content = content};
    bool made = hdf5_shape_of(&image.shape, file, writer->err);
    if (made) {
        gather.chunk = malloc(image.shape.chunk[0] ? (size_t)hdf5_chunk_bytes(&image.shape) : 1);
        made = gather.chunk || error_memory(writer->err);
    }
    made = made && (!image.shape.deflated || pack_all(&image, &gather, writer->err)) &&
           image_make(&image, writer->err);
    writer->failed = !made;
    put_all(&image, &gather, writer);
    free(gather.chunk);
    image_release(&image);
}

static bool hdf5_check(const struct dataset_layout *layout, struct error *err)
{
    struct dataset_file file;
    struct hdf5_shape shape;
    if (hdf5_type(layout->element) < 0)
        return error_set(err, ERROR_INPUT, "dataset.record_element_type: HDF5 files have no %s",
                         dataset_element_words[layout->element]);
    if (layout->records_per_sample > 1 && layout->dims_count == 0)
        return error_set(err, ERROR_INPUT,
                         "dataset.hdf5.num_dset_per_record: more than one needs dataset.record_dims");
    dataset_file_init(&file, layout, 0);
    return hdf5_shape_of(&shape, &file, err);
}

/* Files in one piece that differ only in the size of their samples have the same structure, from the size at
 * which libhdf5 no longer gathers small data in blocks. One such structure is kept: data sets have hundreds
 * of thousands of files. */
#define LARGE 4096 /* bytes; blocks have 2048 */

static struct {
    pthread_mutex_t lock;
    bool set;
    int rank;
    int64_t samples, beside; /* bytes of the file beside samples */
    struct dataset_index index;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool recall(const struct hdf5_shape *shape, int64_t *beside, struct dataset_index *index)
{
    pthread_mutex_lock(&kept.lock);
    bool known = kept.set && kept.rank == shape->rank && kept.samples == (int64_t)shape->dims[0];
    *beside = kept.beside;
    *index = kept.index;
    pthread_mutex_unlock(&kept.lock);
    return known;
}

static void keep(const struct hdf5_shape *shape, int64_t beside, const struct dataset_index *index)
{
    pthread_mutex_lock(&kept.lock);
    kept.set = true;
    kept.rank = shape->rank;
    kept.samples = (int64_t)shape->dims[0];
    kept.beside = beside;
    kept.index = *index;
    pthread_mutex_unlock(&kept.lock);
}

static bool read_image(void *context, int64_t offset, void *to, size_t n, struct error *err)
{
    (void)err;
    hdf5_store_read(context, offset, to, n);
    return true;
}

/* Finds the size and the index of a file from the structure that libhdf5 makes. */
static bool look(const struct hdf5_shape *shape, const struct dataset_file *file, int64_t *bytes,
                 struct dataset_index *index)
{
    struct image image = {.file = file, .shape = *shape};
    struct error err;
    bool made = image_make(&image, &err);
    if (made) {
        const struct dataset_source source = {&image.store, image.store.size, read_image};
        const struct dataset_source *parts[DATASET_MAX_PARTS] = {&source};
        *bytes = image.store.size;
        made = dataset_locate(file->layout->format, index, "", parts, &err);
    }
    image_release(&image);
    return made;
}

static bool expect(const struct dataset_file *file, int64_t *bytes, struct dataset_index *index)
{
    struct hdf5_shape shape;
    struct error err;
    int64_t beside;
    if (file->layout->compression != DATASET_NONE || !hdf5_shape_of(&shape, file, &err))
        return false;
    bool keepable = !shape.chunk[0] && shape.records == 1 && file->payload_bytes >= LARGE;
    if (keepable && recall(&shape, &beside, index)) {
        index->stride = index->length = index->sample_bytes = file->record_bytes;
        index->element = file->element;
        for (int i = 1; i < shape.rank; i++)
            index->dims[i - 1] = (int64_t)shape.dims[i];
        *bytes = file->payload_bytes + beside;
        return true;
    }
    if (!look(&shape, file, bytes, index))
        return false;
    if (keepable)
        keep(&shape, *bytes - file->payload_bytes, index);
    return true;
}

static int64_t hdf5_bytes(const struct dataset_file *file)
{
    struct dataset_index index = {0};
    int64_t bytes;
    if (!expect(file, &bytes, &index))
        return -1;
    dataset_index_release(&index);
    return bytes;
}

static bool hdf5_expect(const struct dataset_file *file, struct dataset_index *index)
{
    int64_t bytes;
    return expect(file, &bytes, index);
}

const struct dataset_format dataset_format_hdf5 = {
    DATASET_FORMAT_OF(hdf5),
    .parts = 1,
    .compression = DATASET_GZIP,
    .check = hdf5_check,
    .decode = hdf5_decode,
    .container = true,
    .typed = true,
    .beside = hdf5_labels,
    .exact = true,
};
