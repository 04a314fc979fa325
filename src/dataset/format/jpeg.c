/* JPEG: one gray picture of 8 bits at DLIO's quality, in a file of exactly the bytes asked for. What a
 * picture of noise takes is known closely enough to choose one a little smaller than the file; comments (COM)
 * before its end, which readers skip, make up the rest. With dlio_sizes the picture is DLIO's, and the file
 * as large as that.
 *
 * What is decoded is near what was generated, not the same: verify compresses again and compares the
 * files. */
#include "dataset/image.h"
#include "dataset/writer.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#define QUALITY   75
#define MIN_BYTES 1024
#define MAX_BYTES ((int64_t)1 << 31)
#define HEADER    400 /* bytes of headers, tables and the shortest comment, rounded up */
#define BLOCK     8   /* pixels a side */

/* Bytes of a block of noise: at most the mean plus six deviations of as many blocks. Both were measured over
 * 10^6 blocks of libjpeg-turbo 2.1 at this quality. */
#define BLOCK_BYTES     35.6
#define BLOCK_DEVIATION 1.4

/* Noise: a pixel is off by 10 on average, and over 2·10^8 pixels by 59 at most. If the content is another
 * one, 4 in 10 pixels are off by more than this. */
#define TOLERANCE 96

#define BUFFER  65536
#define SEGMENT 65537 /* the longest comment, with its marker */
#define END     2     /* bytes of the marker that ends a picture */

static bool jpeg_check(const struct dataset_layout *layout, struct error *err)
{
    return image_check(layout, MIN_BYTES, MAX_BYTES, err);
}

static int64_t blocks_within(int64_t bytes)
{
    double root = 6 * BLOCK_DEVIATION;
    root = (sqrt(root * root + 4 * BLOCK_BYTES * (double)bytes) - root) / (2 * BLOCK_BYTES);
    return (int64_t)(root * root);
}

static void jpeg_shape(struct dataset_file *file)
{
    if (!image_is_sized(file))
        return;
    int64_t bytes = file->record_bytes < MIN_BYTES ? MIN_BYTES : file->record_bytes;
    int64_t blocks = blocks_within(bytes - HEADER), across = (int64_t)sqrt((double)blocks);
    image_set(file, BLOCK * (blocks / across), BLOCK * across);
    file->file_bytes = bytes;
}

struct failure {
    struct jpeg_error_mgr manager; /* first: libjpeg knows no other */
    jmp_buf back;
    struct error *err;
};

static void fail(j_common_ptr jpeg)
{
    struct failure *failure = (struct failure *)jpeg->err;
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY)
        error_memory(failure->err);
    else
        error_set(failure->err, ERROR_INPUT, "JPEG: %s", text);
    longjmp(failure->back, 1);
}

/* libjpeg warns of damaged data and would make up for them. */
static void warn(j_common_ptr jpeg, int level)
{
    if (level < 0)
        fail(jpeg);
}

static struct jpeg_error_mgr *failure_init(struct failure *failure, struct error *err)
{
    jpeg_std_error(&failure->manager);
    failure->manager.error_exit = fail;
    failure->manager.emit_message = warn;
    failure->err = err;
    return &failure->manager;
}

/* The destination of compressed bytes. It always holds the last two back, because comments go before them. */
struct out {
    struct jpeg_destination_mgr manager; /* first */
    struct dataset_writer *writer;
    struct failure failure;
    int64_t bytes, file_bytes;
    unsigned char *row;
    unsigned char buffer[BUFFER];
};

static void leave(struct out *out)
{
    longjmp(out->failure.back, 1); /* the writer has the error */
}

static void out_begin(j_compress_ptr jpeg)
{
    jpeg->dest->next_output_byte = ((struct out *)jpeg->dest)->buffer;
    jpeg->dest->free_in_buffer = BUFFER;
}

static void put_all_but_end(struct out *out, size_t n)
{
    dataset_put(out->writer, out->buffer, n - END);
    out->bytes += (int64_t)n - END;
    if (out->writer->failed)
        leave(out);
    memmove(out->buffer, out->buffer + n - END, END);
}

static boolean out_full(j_compress_ptr jpeg)
{
    struct out *out = (struct out *)jpeg->dest;
    put_all_but_end(out, BUFFER);
    out->manager.next_output_byte = out->buffer + END;
    out->manager.free_in_buffer = BUFFER - END;
    return TRUE;
}

/* Fills the file up with comments. A comment has 4 bytes or more, so no shorter rest may be left. */
static void put_comments(struct out *out)
{
    int64_t left = out->file_bytes - out->bytes - END;
    if (left < 0 || (left > 0 && left < 4)) {
        error_set(out->writer->err, ERROR_FAILED, "a JPEG picture is larger than its file of %lld bytes",
                  (long long)out->file_bytes);
        leave(out);
    }
    while (left > 0) {
        int64_t n = left < SEGMENT ? left : SEGMENT;
        n -= left - n > 0 && left - n < 4 ? 4 : 0;
        const unsigned char head[4] = {0xff, JPEG_COM, (unsigned char)((n - 2) >> 8), (unsigned char)(n - 2)};
        dataset_put(out->writer, head, sizeof head);
        dataset_put_zeros(out->writer, n - (int64_t)sizeof head);
        left -= n;
    }
}

static void out_end(j_compress_ptr jpeg)
{
    struct out *out = (struct out *)jpeg->dest;
    put_all_but_end(out, BUFFER - out->manager.free_in_buffer);
    if (out->file_bytes > 0)
        put_comments(out);
    dataset_put(out->writer, out->buffer, END);
    if (out->writer->failed)
        leave(out);
}

static void put_picture(struct jpeg_compress_struct *jpeg, const struct dataset_file *file,
                        const struct dataset_content *content, struct out *out)
{
    jpeg->image_height = (JDIMENSION)file->dims[0];
    jpeg->image_width = (JDIMENSION)file->dims[1];
    jpeg->input_components = 1;
    jpeg->in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, QUALITY, TRUE);
    jpeg_start_compress(jpeg, TRUE);
    for (int64_t y = 0; y < file->dims[0]; y++) {
        content->fill(content->context, y * file->dims[1], out->row, (size_t)file->dims[1]);
        jpeg_write_scanlines(jpeg, &out->row, 1);
    }
    jpeg_finish_compress(jpeg);
}

static bool write_picture(const struct dataset_file *file, const struct dataset_content *content,
                          struct out *out)
{
    struct jpeg_compress_struct jpeg;
    volatile bool written = false;
    memset(&jpeg, 0, sizeof jpeg);
    jpeg.err = failure_init(&out->failure, out->writer->err);
    if (setjmp(out->failure.back) == 0) {
        jpeg_create_compress(&jpeg);
        jpeg.dest = &out->manager;
        put_picture(&jpeg, file, content, out);
        written = true;
    }
    jpeg_destroy_compress(&jpeg);
    return written;
}

static void jpeg_write(const struct dataset_file *file, const struct dataset_content *content,
                       struct dataset_writer *writer)
{
    struct out *out = calloc(1, sizeof *out);
    unsigned char *row = malloc((size_t)file->dims[1]);
    bool written = (out && row) || error_memory(writer->err);
    if (written) {
        out->manager = (struct jpeg_destination_mgr){
            .init_destination = out_begin, .empty_output_buffer = out_full, .term_destination = out_end};
        out->writer = writer;
        out->file_bytes = file->file_bytes;
        out->row = row;
        written = write_picture(file, content, out);
    }
    writer->failed = writer->failed || !written;
    free(row);
    free(out);
}

/* The source of bytes while a file is located. */
struct in {
    struct jpeg_source_mgr manager; /* first */
    struct failure failure;
    const struct dataset_source *source;
    struct error *err;
    int64_t at;
    unsigned char buffer[4096];
};

static void in_begin(j_decompress_ptr jpeg)
{
    (void)jpeg;
}

static boolean in_fill(j_decompress_ptr jpeg)
{
    struct in *in = (struct in *)jpeg->src;
    int64_t left = in->source->size - in->at;
    size_t n = left < (int64_t)sizeof in->buffer ? (size_t)left : sizeof in->buffer;
    if (n == 0)
        error_set(in->err, ERROR_INPUT, "JPEG: the file ends within its header");
    if (n == 0 || !in->source->read(in->source->context, in->at, in->buffer, n, in->err))
        longjmp(in->failure.back, 1);
    in->at += (int64_t)n;
    in->manager.next_input_byte = in->buffer;
    in->manager.bytes_in_buffer = n;
    return TRUE;
}

static void in_skip(j_decompress_ptr jpeg, long n)
{
    struct in *in = (struct in *)jpeg->src;
    for (; n > 0 && (size_t)n > in->manager.bytes_in_buffer; in_fill(jpeg))
        n -= (long)in->manager.bytes_in_buffer;
    in->manager.next_input_byte += n > 0 ? n : 0;
    in->manager.bytes_in_buffer -= n > 0 ? (size_t)n : 0;
}

static void in_end(j_decompress_ptr jpeg)
{
    (void)jpeg;
}

static bool jpeg_locate(struct dataset_index *index, const char *path,
                        const struct dataset_source *const *parts, struct error *err)
{
    struct error why = {.kind = ERROR_FAILED};
    struct in in = {.source = parts[0], .err = &why};
    struct jpeg_decompress_struct jpeg;
    volatile bool read = false;
    memset(&jpeg, 0, sizeof jpeg);
    in.manager = (struct jpeg_source_mgr){.init_source = in_begin,
                                          .fill_input_buffer = in_fill,
                                          .skip_input_data = in_skip,
                                          .resync_to_restart = jpeg_resync_to_restart,
                                          .term_source = in_end};
    jpeg.err = failure_init(&in.failure, &why);
    if (setjmp(in.failure.back) == 0) {
        jpeg_create_decompress(&jpeg);
        jpeg.src = &in.manager;
        jpeg_read_header(&jpeg, TRUE);
        jpeg_calc_output_dimensions(&jpeg);
        image_index(index, parts[0]->size, jpeg.output_height, jpeg.output_width, jpeg.output_components);
        read = true;
    }
    jpeg_destroy_decompress(&jpeg);
    return read || error_set(err, why.kind, "%s: %s", path, why.text);
}

static void read_rows(struct jpeg_decompress_struct *jpeg, const unsigned char *raw, size_t raw_length,
                      unsigned char *to, size_t capacity, size_t *length, struct failure *failure)
{
    jpeg_mem_src(jpeg, raw, (unsigned long)raw_length);
    jpeg_read_header(jpeg, TRUE);
    jpeg_calc_output_dimensions(jpeg);
    size_t row = (size_t)jpeg->output_width * (size_t)jpeg->output_components;
    *length = row * jpeg->output_height;
    if (*length > capacity) {
        error_set(failure->err, ERROR_FAILED, "JPEG: there is no room for the picture");
        longjmp(failure->back, 1);
    }
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW at = to + jpeg->output_scanline * row;
        jpeg_read_scanlines(jpeg, &at, 1);
    }
    jpeg_finish_decompress(jpeg);
}

static bool jpeg_decode(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                        size_t raw_length, unsigned char *to, size_t capacity, size_t *length,
                        struct error *err)
{
    struct jpeg_decompress_struct jpeg;
    struct failure failure;
    volatile bool decoded = false;
    (void)index;
    (void)sample;
    memset(&jpeg, 0, sizeof jpeg);
    jpeg.err = failure_init(&failure, err);
    if (setjmp(failure.back) == 0) {
        jpeg_create_decompress(&jpeg);
        read_rows(&jpeg, raw, raw_length, to, capacity, length, &failure);
        decoded = true;
    }
    jpeg_destroy_decompress(&jpeg);
    return decoded;
}

const struct dataset_format dataset_format_jpeg = {
    .name = "jpeg",
    .extension = "jpeg",
    .parts = 1,
    .check = jpeg_check,
    .shape = jpeg_shape,
    .bytes = image_bytes,
    .write = jpeg_write,
    .expect = image_expect,
    .locate = jpeg_locate,
    .decode = jpeg_decode,
    .exact = true,
    .tolerance = TOLERANCE,
};
