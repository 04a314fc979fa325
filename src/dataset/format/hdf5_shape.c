#include "dataset/format/hdf5.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_CHUNK ((double)0xffffffff) /* bytes, of HDF5 */

/* Chooses h5py's chunk, for layouts that ask for chunks without a size (h5py/_hl/filters.py, guess_chunk): it
 * halves the sides in turn until a chunk is near 16 KiB × 2^log10(MiB of the data set), within 8 KiB to 1
 * MiB. */
static void guess_chunk(struct hdf5_shape *shape)
{
    double bytes = (double)shape->element_bytes, product = 1;
    for (int i = 0; i < shape->rank; i++) {
        shape->chunk[i] = shape->dims[i];
        product *= (double)shape->dims[i];
    }
    double target = 16384 * exp2(log10(bytes * product / 1048576));
    target = fmin(fmax(target, 8192), 1048576);
    for (int i = 0; product > 1; i = (i + 1) % shape->rank) {
        double chunk = bytes * product;
        if ((chunk < target || fabs(chunk - target) / target < 0.5) && chunk < 1048576)
            break;
        product /= (double)shape->chunk[i];
        shape->chunk[i] = (shape->chunk[i] + 1) / 2;
        product *= (double)shape->chunk[i];
    }
}

static bool set_chunk(struct hdf5_shape *shape, const struct dataset_layout *layout, struct error *err)
{
    bool needed = layout->compression != DATASET_NONE || layout->max_shape_count > 0;
    double bytes = (double)shape->element_bytes;
    if (layout->chunk_dims_count > 0) {
        if (layout->chunk_dims_count != shape->rank)
            return error_set(err, ERROR_INPUT,
                             "dataset.hdf5.chunk_dims: expected %d numbers (samples, then the dimensions of "
                             "a sample), found %d",
                             shape->rank, layout->chunk_dims_count);
        for (int i = 0; i < shape->rank; i++)
            shape->chunk[i] = (hsize_t)layout->chunk_dims[i];
    } else if (layout->chunked && layout->chunk_bytes > 0) {
        hsize_t side = (hsize_t)ceil(sqrt((double)layout->chunk_bytes));
        shape->chunk[0] = 1;
        for (int i = 1; i < shape->rank; i++)
            shape->chunk[i] = side < shape->dims[i] ? side : shape->dims[i];
    } else if (layout->chunked || needed) {
        guess_chunk(shape);
    }
    for (int i = 0; i < shape->rank && shape->chunk[0]; i++) {
        bytes *= (double)shape->chunk[i];
        if (shape->max[i] != H5S_UNLIMITED && shape->chunk[i] > shape->max[i])
            return error_set(err, ERROR_INPUT,
                             "dataset.hdf5.chunk_dims[%d]: %" PRIu64 " is more than the %" PRIu64
                             " of the data set",
                             i, (uint64_t)shape->chunk[i], (uint64_t)shape->max[i]);
    }
    if (bytes > MAX_CHUNK)
        return error_set(err, ERROR_INPUT, "dataset: an HDF5 chunk of %g bytes exceeds 4 GiB", bytes);
    return true;
}

static bool set_max(struct hdf5_shape *shape, const struct dataset_layout *layout, struct error *err)
{
    memcpy(shape->max, shape->dims, sizeof shape->max);
    if (layout->max_shape_count == 0)
        return true;
    if (layout->max_shape_count != shape->rank - 1)
        return error_set(err, ERROR_INPUT, "dataset.hdf5.max_shape: expected %d numbers, found %d",
                         shape->rank - 1, layout->max_shape_count);
    for (int i = 1; i < shape->rank; i++) {
        int64_t max = layout->max_shape[i - 1];
        if (max >= 0 && (hsize_t)max < shape->dims[i])
            return error_set(err, ERROR_INPUT,
                             "dataset.hdf5.max_shape[%d]: %" PRId64 " is less than the %" PRIu64
                             " of the data set",
                             i - 1, max, (uint64_t)shape->dims[i]);
        shape->max[i] = max < 0 ? H5S_UNLIMITED : (hsize_t)max;
    }
    return true;
}

/* As in DLIO, the data sets share out the first dimension, which is left out if each gets 1. */
bool hdf5_shape_of(struct hdf5_shape *shape, const struct dataset_file *file, struct error *err)
{
    const struct dataset_layout *layout = file->layout;
    int64_t dims[DATASET_MAX_DIMS];
    int first = 0;
    *shape = (struct hdf5_shape){
        .element_bytes = dataset_element_bytes(file->element),
        .records = layout->records_per_sample,
        .deflated = layout->compression == DATASET_GZIP,
    };
    memcpy(dims, file->dims, sizeof dims);
    if (dims[0] % shape->records != 0)
        return error_set(err, ERROR_INPUT,
                         "dataset.hdf5.num_dset_per_record: %" PRId64
                         " does not divide the first dimension of a sample, %" PRId64,
                         shape->records, dims[0]);
    dims[0] /= shape->records;
    if (layout->dims_count > 1 && dims[0] == 1)
        first = 1;
    shape->dims[shape->rank++] = (hsize_t)file->samples;
    for (int i = first; i < file->dims_count; i++)
        shape->dims[shape->rank++] = (hsize_t)dims[i];
    if (!set_max(shape, layout, err) || !set_chunk(shape, layout, err))
        return false;
    if (shape->chunk[0] && (double)hdf5_chunks(shape) * (double)shape->records > (double)HDF5_MAX_CHUNKS)
        return error_set(err, ERROR_INPUT,
                         "dataset: an HDF5 file would have %g chunks, over the limit of %" PRId64,
                         (double)hdf5_chunks(shape) * (double)shape->records, HDF5_MAX_CHUNKS);
    return true;
}

int64_t hdf5_chunk_bytes(const struct hdf5_shape *shape)
{
    int64_t bytes = shape->element_bytes;
    for (int i = 0; i < shape->rank; i++)
        bytes *= (int64_t)shape->chunk[i];
    return bytes;
}

int64_t hdf5_row_bytes(const struct hdf5_shape *shape)
{
    int64_t bytes = shape->element_bytes;
    for (int i = 1; i < shape->rank; i++)
        bytes *= (int64_t)shape->dims[i];
    return bytes;
}

static int64_t chunks_along(const struct hdf5_shape *shape, int i)
{
    return (int64_t)((shape->dims[i] - 1) / shape->chunk[i] + 1);
}

int64_t hdf5_row_chunks(const struct hdf5_shape *shape)
{
    int64_t count = 1;
    for (int i = 1; i < shape->rank; i++)
        count *= chunks_along(shape, i);
    return count;
}

int64_t hdf5_chunks(const struct hdf5_shape *shape)
{
    return chunks_along(shape, 0) * hdf5_row_chunks(shape);
}

void hdf5_chunk_start(const struct hdf5_shape *shape, int64_t i, hsize_t start[HDF5_MAX_RANK])
{
    for (int d = shape->rank - 1; d >= 0; d--) {
        int64_t along = chunks_along(shape, d);
        start[d] = (hsize_t)(i % along) * shape->chunk[d];
        i /= along;
    }
}

void hdf5_chunk_runs(const struct hdf5_shape *shape, const hsize_t start[HDF5_MAX_RANK], hdf5_run_fn *run,
                     void *context)
{
    int last = shape->rank - 1;
    hsize_t at[HDF5_MAX_RANK] = {0}, count[HDF5_MAX_RANK];
    for (int d = 0; d <= last; d++) {
        hsize_t left = shape->dims[d] - start[d];
        count[d] = left < shape->chunk[d] ? left : shape->chunk[d];
    }
    hsize_t length = last > 0 ? count[last] : 1; /* elements that lie together in both */
    if (last > 0)
        count[last] = 1;
    for (int d = 0; d >= 0;) {
        hsize_t in_row = 0, in_chunk = at[0];
        for (int i = 1; i <= last; i++) {
            in_row = in_row * shape->dims[i] + start[i] + at[i];
            in_chunk = in_chunk * shape->chunk[i] + at[i];
        }
        run(context, (int64_t)(start[0] + at[0]), (int64_t)in_row * shape->element_bytes,
            (int64_t)in_chunk * shape->element_bytes, (size_t)length * (size_t)shape->element_bytes);
        for (d = last; d >= 0 && ++at[d] == count[d]; d--)
            at[d] = 0;
    }
}
