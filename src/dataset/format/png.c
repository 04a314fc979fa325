/* PNG: one gray picture of 8 bits, in a file of exactly the bytes asked for. Noise does not compress, so that
 * the picture is stored without (level 0), is chosen a little smaller than the file, and a private chunk
 * `paDd` of zeros, which readers skip, makes up the rest. With dlio_sizes the picture is DLIO's, compressed
 * as libpng does, and the file as large as that. */
#include "dataset/image.h"
#include "dataset/writer.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#define MIN_BYTES 256
#define MAX_BYTES ((int64_t)1 << 36)
#define IDAT      65536 /* bytes of compressed data per chunk */
#define CHUNK     12    /* bytes of a chunk beside its data */
#define FIXED     63    /* signature, IHDR, IEND, the padding's frame, zlib's */

static bool png_check(const struct dataset_layout *layout, struct error *err)
{
    return image_check(layout, MIN_BYTES, MAX_BYTES, err);
}

/* Returns the maximum bytes that are not picture: stored blocks of zlib have 5 bytes each and (for any
 * version and row) 8 KiB or more. */
static int64_t overhead_of(int64_t bytes)
{
    return FIXED + 5 * (bytes / 8192 + 4) + CHUNK * (bytes / IDAT + 2);
}

static void png_shape(struct dataset_file *file)
{
    if (!image_is_sized(file))
        return;
    int64_t bytes = file->record_bytes < MIN_BYTES ? MIN_BYTES : file->record_bytes;
    int64_t left = bytes - overhead_of(bytes); /* for rows of a byte and the pixels */
    int64_t width = (int64_t)sqrt((double)left);
    while (width * (width + 1) > left)
        width--;
    image_set(file, left / (width + 1), width);
    file->file_bytes = bytes;
}

/* The state of libpng's callbacks. */
struct out {
    struct dataset_writer *writer;
    int64_t bytes;
    unsigned char *row;
};

static void out_write(png_structp png, png_bytep bytes, png_size_t n)
{
    struct out *out = png_get_io_ptr(png);
    dataset_put(out->writer, bytes, n);
    out->bytes += (int64_t)n;
    if (out->writer->failed)
        png_error(png, "");
}

static void out_flush(png_structp png)
{
    (void)png;
}

static void set_error(png_structp png, png_const_charp message)
{
    struct error *err = png_get_error_ptr(png);
    if (err && strcasestr(message, "memory")) /* libpng's and zlib's own words */
        error_memory(err);
    else if (err && message[0])
        error_set(err, ERROR_INPUT, "PNG: %s", message);
    png_longjmp(png, 1);
}

static void ignore_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void put_padding(png_structp png, const struct out *out, int64_t file_bytes)
{
    static const unsigned char zeros[4096];
    int64_t n = file_bytes - out->bytes - 2 * (int64_t)CHUNK;
    if (n < 0)
        png_error(png, "the picture is larger than its file");
    png_write_chunk_start(png, (png_const_bytep) "paDd", (png_uint_32)n);
    for (; n > 0; n -= (int64_t)sizeof zeros)
        png_write_chunk_data(png, zeros, n < (int64_t)sizeof zeros ? (size_t)n : sizeof zeros);
    png_write_chunk_end(png);
}

static void put_picture(png_structp png, png_infop info, const struct dataset_file *file,
                        const struct dataset_content *content, struct out *out)
{
    int64_t height = file->dims[0], width = file->dims[1];
    png_set_write_fn(png, out, out_write, out_flush);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8, PNG_COLOR_TYPE_GRAY,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_buffer_size(png, IDAT);
    if (file->file_bytes > 0) {
        png_set_compression_level(png, 0);
        png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    }
    png_write_info(png, info);
    for (int64_t y = 0; y < height; y++) {
        content->fill(content->context, y * width, out->row, (size_t)width);
        png_write_row(png, out->row);
    }
    if (file->file_bytes > 0)
        put_padding(png, out, file->file_bytes);
    png_write_end(png, NULL);
}

static bool write_picture(const struct dataset_file *file, const struct dataset_content *content,
                          struct out *out)
{
    struct error *err = out->writer->err;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, err, set_error, ignore_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    volatile bool written = false;
    if (!info) {
        png_destroy_write_struct(&png, NULL);
        return error_memory(err);
    }
    if (setjmp(png_jmpbuf(png)) == 0) {
        put_picture(png, info, file, content, out);
        written = true;
    }
    png_destroy_write_struct(&png, &info);
    return written;
}

static void png_write(const struct dataset_file *file, const struct dataset_content *content,
                      struct dataset_writer *writer)
{
    struct out out = {.writer = writer, .row = malloc((size_t)file->dims[1])};
    bool written = out.row ? write_picture(file, content, &out) : error_memory(writer->err);
    writer->failed = writer->failed || !written;
    free(out.row);
}

/* Reads from a source while the file is looked at, from memory when it is decoded. */
struct in {
    const struct dataset_source *source;
    const unsigned char *bytes;
    size_t size, at;
    struct error *err;
    struct dataset_index index;
};

static void in_read(png_structp png, png_bytep to, png_size_t n)
{
    struct in *in = png_get_io_ptr(png);
    if (n > in->size - in->at)
        png_error(png, "the file ends within the picture");
    if (in->bytes)
        memcpy(to, in->bytes + in->at, n);
    else if (!in->source->read(in->source->context, (int64_t)in->at, to, n, in->err))
        png_error(png, "");
    in->at += n;
}

/* Reads the header, and sets samples up as 8 bits without a palette. Returns the number of passes over the
 * picture. */
static int read_header(png_structp png, png_infop info, struct in *in)
{
    png_set_read_fn(png, in, in_read);
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_strip_16(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    image_index(&in->index, (int64_t)in->size, png_get_image_height(png, info),
                png_get_image_width(png, info), png_get_channels(png, info));
    if (in->index.sample_bytes > DATASET_MAX_RECORD)
        png_error(png, "the picture is too large");
    return passes;
}

static void read_rows(png_structp png, png_infop info, struct in *in, unsigned char *to, size_t capacity)
{
    int passes = read_header(png, info, in);
    size_t bytes = (size_t)in->index.sample_bytes, height = (size_t)in->index.dims[0];
    if (bytes > capacity)
        png_error(png, "there is no room for the picture");
    memset(to, 0, bytes);
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < height; y++)
            png_read_row(png, to + y * (bytes / height), NULL);
    png_read_end(png, NULL);
}

/* Reads the picture; without `to`, only the header. */
static bool read_picture(struct in *in, unsigned char *to, size_t capacity)
{
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, in->err, set_error, ignore_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    volatile bool read = false;
    if (!info) {
        png_destroy_read_struct(&png, NULL, NULL);
        return error_memory(in->err);
    }
    if (setjmp(png_jmpbuf(png)) == 0) {
        if (to)
            read_rows(png, info, in, to, capacity);
        else
            read_header(png, info, in);
        read = true;
    }
    png_destroy_read_struct(&png, &info, NULL);
    return read;
}

static bool png_locate(struct dataset_index *index, const char *path,
                       const struct dataset_source *const *parts, struct error *err)
{
    struct error why = {.kind = ERROR_FAILED};
    struct in in = {.source = parts[0], .size = (size_t)parts[0]->size, .err = &why};
    if (!read_picture(&in, NULL, 0))
        return error_set(err, why.kind, "%s: %s", path, why.text);
    *index = in.index;
    return true;
}

static bool png_decode(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                       size_t raw_length, unsigned char *to, size_t capacity, size_t *length,
                       struct error *err)
{
    struct in in = {.bytes = raw, .size = raw_length, .err = err};
    (void)index;
    (void)sample;
    if (!read_picture(&in, to, capacity))
        return false;
    *length = (size_t)in.index.sample_bytes;
    return true;
}

const struct dataset_format dataset_format_png = {
    .name = "png",
    .extension = "png",
    .parts = 1,
    .check = png_check,
    .shape = png_shape,
    .bytes = image_bytes,
    .write = png_write,
    .expect = image_expect,
    .locate = png_locate,
    .decode = png_decode,
};
