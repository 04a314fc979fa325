/* The UNET3D data of the VLDB study: cases of an image (float32, uniform from -2.340702 to 2.639792) and its
 * labels (uint8, 0 and 1), both of shape (1, d, h, h), d from 128 to 471 and h from 186 to 444, in
 * case_00000_x.npy and case_00000_y.npy.
 *
 * For total_bytes there are as many cases as fit, and a last one whose sides are chosen so that the sum is
 * below what was asked for by as little as whole sides allow: some kB. */
#include "dataset/format/npy.h"
#include "dataset/units.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE, LABELS, PARTS };

#define MIN_VALUE    (-2.340702)
#define MAX_VALUE    2.639792
#define MIN_DEPTH    128
#define MAX_DEPTH    471
#define MIN_SIDE     186
#define MAX_SIDE     444
#define HEADER       128                           /* bytes of each file's */
#define VOXEL        5                             /* bytes in both files */
#define MIN_BYTES    ((int64_t)2 * HEADER + VOXEL) /* of a case */
#define DEPTH_STREAM 2                             /* of dataset_draw_unit */
#define SIDE_STREAM  3
#define MAX_CASES    ((int64_t)1 << 24) /* that total_bytes may take */

static int64_t draw(uint64_t seed, uint64_t stream, int64_t number, int min, int max)
{
    return min + (int64_t)(dataset_draw_unit(seed, stream, (uint64_t)number) * (max - min + 1));
}

static void case_sides(const struct dataset_layout *layout, int64_t number, int64_t *depth, int64_t *side)
{
    *depth = draw(layout->seed, DEPTH_STREAM, number, MIN_DEPTH, MAX_DEPTH);
    *side = draw(layout->seed, SIDE_STREAM, number, MIN_SIDE, MAX_SIDE);
}

static void unet3d_shape(struct dataset_file *file)
{
    int64_t depth, side;
    case_sides(file->layout, file->number, &depth, &side);
    if (units_is_last(file)) {
        depth = file->layout->last[0];
        side = file->layout->last[1];
    }
    file->element = DATASET_FLOAT32;
    file->dims_count = 4;
    file->dims[0] = 1;
    file->dims[1] = depth;
    file->dims[2] = file->dims[3] = side;
    file->record_bytes = VOXEL * depth * side * side;
}

static bool unet3d_check(const struct dataset_layout *layout, struct error *err)
{
    if (layout->samples_per_file != 1 || layout->eval_samples_per_file > 1)
        return error_set(err, ERROR_INPUT,
                         "dataset.num_samples_per_file: a unet3d_npy file holds one case, found %" PRId64,
                         layout->samples_per_file);
    return units_check(layout, err);
}

/* Chooses the sides whose product is nearest to `voxels` from below: the study's sides, or any if those are
 * too large. */
static void fit_sides(int64_t voxels, int64_t *depth, int64_t *side)
{
    int64_t best = 0;
    for (int any = 0; any < 2 && best == 0; any++) {
        for (int64_t d = any ? 1 : MIN_DEPTH; d <= MAX_DEPTH && d <= voxels; d++) {
            int64_t s = (int64_t)sqrt((double)voxels / (double)d);
            s = s > MAX_SIDE ? MAX_SIDE : s;
            if (s < (any ? 1 : MIN_SIDE) || d * s * s <= best)
                continue;
            best = d * s * s;
            *depth = d;
            *side = s;
        }
    }
}

static bool unet3d_fit(struct dataset_layout *layout, struct error *err)
{
    int64_t left = layout->total_bytes, depth, side;
    if (left < MIN_BYTES)
        return error_set(err, ERROR_INPUT,
                         "total_bytes: a case has at least %" PRId64 " bytes, found %" PRId64, MIN_BYTES,
                         left);
    for (layout->files_train = 0; layout->files_train < MAX_CASES; layout->files_train++) {
        case_sides(layout, layout->files_train, &depth, &side);
        int64_t bytes = (int64_t)2 * HEADER + VOXEL * depth * side * side;
        if (bytes >= left - MIN_BYTES) /* the rest would be too small for another */
            break;
        left -= bytes;
    }
    if (layout->files_train == MAX_CASES)
        return error_set(err, ERROR_INPUT, "total_bytes: more than %" PRId64 " cases", MAX_CASES);
    layout->files_train++;
    fit_sides((left - (int64_t)2 * HEADER) / VOXEL, &layout->last[0], &layout->last[1]);
    return true;
}

static void unet3d_path(const struct dataset_file *file, struct text *path)
{
    text_format(path, "case_%05" PRId64 "_%c.npy", file->number, file->part == IMAGE ? 'x' : 'y');
}

/* Returns the array of a part, without the dimension of samples that other npy files have. */
static struct numpy_array array_of(const struct dataset_file *file, int part)
{
    struct numpy_array array = {
        .element = part == IMAGE ? DATASET_FLOAT32 : DATASET_UINT8,
        .dims_count = file->dims_count,
        .bytes = file->record_bytes / VOXEL * (part == IMAGE ? 4 : 1),
    };
    memcpy(array.dims, file->dims, sizeof file->dims);
    numpy_header_write(&array);
    return array;
}

static int64_t unet3d_bytes(const struct dataset_file *file)
{
    struct numpy_array array = array_of(file, file->part);
    return array.header_bytes + array.bytes;
}

/* Voxels are made of whole numbers, of any bits. */
static void unet3d_mask(const struct dataset_file *file, struct dataset_bytes *bytes)
{
    (void)file;
    bytes->keep = ~(uint64_t)0;
    bytes->set = 0;
}

/* 24 random bits: as many as a float has. */
static void make_voxels(const void *context, int64_t first, size_t count, unsigned char *to)
{
    const struct dataset_content *random = context;
    random->fill(random->context, 4 * first, to, 4 * count);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, to + 4 * i, 4);
        float value = (float)(MIN_VALUE + (int32_t)(bits >> 8) * ((MAX_VALUE - MIN_VALUE) * 0x1p-24));
        memcpy(&bits, &value, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        bits = __builtin_bswap32(bits);
#endif
        memcpy(to + 4 * i, &bits, 4);
    }
}

static void make_labels(const void *context, int64_t first, size_t count, unsigned char *to)
{
    const struct dataset_content *random = context;
    random->fill(random->context, first, to, count);
    for (size_t i = 0; i < count; i++)
        to[i] &= 1;
}

/* Labels are made of other bytes than the image. */
static void unet3d_write(const struct dataset_file *file, const struct dataset_content *content,
                         struct dataset_writer *writer)
{
    bool image = file->part == IMAGE;
    struct numpy_array array = array_of(file, file->part);
    const struct units units = {content, image ? 4 : 1, image ? make_voxels : make_labels};
    const struct dataset_content values = units_content(&units);
    dataset_put(writer, array.header, (size_t)array.header_bytes);
    dataset_put_content(writer, &values, image ? 0 : file->record_bytes / VOXEL * 4, array.bytes);
}

/* A sample is the image, then the labels. */
static size_t unet3d_sample(const struct dataset_file *file, const struct dataset_content *random,
                            int64_t sample, unsigned char *to)
{
    size_t voxels = (size_t)(file->record_bytes / VOXEL);
    (void)sample;
    make_voxels(random, 0, voxels, to);
    make_labels(random, 4 * (int64_t)voxels, voxels, to + 4 * voxels);
    return VOXEL * voxels;
}

static bool set_index(struct dataset_index *index, const struct numpy_array arrays[PARTS], struct error *err)
{
    int64_t bytes = arrays[IMAGE].bytes + arrays[LABELS].bytes;
    dataset_index_bytes(index, bytes);
    index->element = arrays[IMAGE].element;
    index->dims_count =
        arrays[IMAGE].dims_count < DATASET_MAX_DIMS ? arrays[IMAGE].dims_count : DATASET_MAX_DIMS;
    memcpy(index->dims, arrays[IMAGE].dims, sizeof index->dims);
    index->per_sample = PARTS;
    index->open_count = PARTS;
    index->extents = calloc(PARTS, sizeof *index->extents);
    if (!index->extents)
        return error_memory(err);
    for (int i = 0; i < PARTS; i++) {
        index->open[i] = (struct dataset_extent){i, 0, arrays[i].header_bytes};
        index->extents[i] = (struct dataset_extent){i, arrays[i].header_bytes, arrays[i].bytes};
    }
    return true;
}

static bool unet3d_expect(const struct dataset_file *file, struct dataset_index *index)
{
    const struct numpy_array arrays[PARTS] = {array_of(file, IMAGE), array_of(file, LABELS)};
    struct error err;
    return set_index(index, arrays, &err);
}

static bool unet3d_locate(struct dataset_index *index, const char *path,
                          const struct dataset_source *const *parts, struct error *err)
{
    struct numpy_array arrays[PARTS];
    for (int i = 0; i < PARTS; i++) {
        if (!parts[i])
            return error_set(err, ERROR_INPUT, "%s: its labels are missing (…_y.npy)", path);
        if (!npy_read_header(&arrays[i], path, parts[i], err))
            return false;
    }
    if (arrays[IMAGE].dims_count != arrays[LABELS].dims_count ||
        memcmp(arrays[IMAGE].dims, arrays[LABELS].dims,
               (size_t)arrays[IMAGE].dims_count * sizeof *arrays[IMAGE].dims) != 0)
        return error_set(err, ERROR_INPUT, "%s: image and labels differ in dimensions", path);
    return set_index(index, arrays, err);
}

const struct dataset_format dataset_format_unet3d_npy = {
    .name = "unet3d_npy",
    .extension = "npy",
    .parts = PARTS,
    .check = unet3d_check,
    .fit = unet3d_fit,
    .shape = unet3d_shape,
    .path = unet3d_path,
    .bytes = unet3d_bytes,
    .mask = unet3d_mask,
    .write = unet3d_write,
    .expect = unet3d_expect,
    .locate = unet3d_locate,
    .decode = dataset_decode_copy,
    .sample = unet3d_sample,
    .container = true,
    .typed = true,
    .exact = true,
};
