#include "dataset/pack.h"

#include "core/features.h"

#include <stdlib.h>

#ifdef REHEARSE_HAVE_ZLIB

#include <zlib.h>

#define WINDOW 15 /* bits; 16 more: gzip's header and trailer, negative: neither */

const char *dataset_pack_missing(void)
{
    return NULL;
}

static int window_of(enum dataset_wrap wrap)
{
    if (wrap == DATASET_WRAP_ZLIB)
        return WINDOW;
    return wrap == DATASET_WRAP_GZIP ? WINDOW + 16 : -WINDOW;
}

/* Compresses the stream's input, and puts what comes out. */
static void pump(struct dataset_packing *packing, int flush)
{
    unsigned char buffer[16384];
    do {
        packing->stream->next_out = buffer;
        packing->stream->avail_out = sizeof buffer;
        deflate(packing->stream, flush);
        size_t n = sizeof buffer - packing->stream->avail_out;
        packing->packed += (int64_t)n;
        dataset_put(packing->to, buffer, n);
    } while (packing->stream->avail_out == 0 && !packing->to->failed);
}

/* Asks whether to go on: zeros come out so small that they are seldom written. */
static bool pack(void *context, const void *from, size_t n, struct error *err)
{
    struct dataset_packing *packing = context;
    const struct dataset_sink *sink = packing->to->sink;
    if (sink->go_on && !sink->go_on(sink->context, err))
        packing->to->failed = true;
    packing->stream->next_in = (unsigned char *)(uintptr_t)from; /* zlib's type is not const */
    packing->stream->avail_in = (unsigned)n;                     /* at most a writer's buffer */
    if (!packing->to->failed)
        pump(packing, Z_NO_FLUSH);
    return !packing->to->failed;
}

bool dataset_pack_begin(struct dataset_packing *packing, struct dataset_writer *to, int level,
                        enum dataset_wrap wrap)
{
    *packing = (struct dataset_packing){.to = to, .sink = {.context = packing, .write = pack}};
    z_stream *stream = calloc(1, sizeof *stream);
    if (stream && deflateInit2(stream, level, Z_DEFLATED, window_of(wrap), 8, Z_DEFAULT_STRATEGY) == Z_OK)
        packing->stream = stream;
    else
        free(stream);
    if (packing->stream ? dataset_writer_init(&packing->writer, &packing->sink, to->err)
                        : error_memory(to->err))
        return true;
    to->failed = true;
    return false;
}

void dataset_pack_end(struct dataset_packing *packing)
{
    if (!packing->stream)
        return;
    if (packing->writer.buffer && dataset_writer_end(&packing->writer))
        pump(packing, Z_FINISH);
    deflateEnd(packing->stream);
    free(packing->stream);
}

bool dataset_pack_block(const void *from, size_t n, int level, void *to, size_t *length, struct error *err)
{
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)from,
                       .avail_in = (unsigned)n,
                       .next_out = to,
                       .avail_out = (unsigned)*length};
    if (deflateInit2(&stream, level, Z_DEFLATED, window_of(DATASET_WRAP_GZIP), 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return error_memory(err);
    bool packed = deflate(&stream, Z_FINISH) == Z_STREAM_END;
    *length -= stream.avail_out;
    deflateEnd(&stream);
    return packed || error_set(err, ERROR_FAILED, "zlib: %zu bytes do not fit once compressed", n);
}

bool dataset_unpack(const char *path, const unsigned char *from, size_t n, enum dataset_wrap wrap,
                    unsigned char *to, size_t capacity, bool whole, size_t *length, struct error *err)
{
    z_stream stream = {0};
    unsigned char beyond;
    int state = Z_OK;
    if (inflateInit2(&stream, window_of(wrap)) != Z_OK)
        return error_memory(err);
    size_t out = 0;
    while (state == Z_OK && (out < capacity || whole)) {
        size_t room = capacity - out < ((size_t)1 << 30) ? capacity - out : (size_t)1 << 30;
        size_t in = n < ((size_t)1 << 30) ? n : (size_t)1 << 30;
        stream.next_in = (unsigned char *)(uintptr_t)from;
        stream.avail_in = (unsigned)in;
        stream.next_out = room > 0 ? to + out : &beyond; /* one byte more than there should be */
        stream.avail_out = room > 0 ? (unsigned)room : 1;
        unsigned offered = stream.avail_out;
        state = inflate(&stream, Z_NO_FLUSH);
        from += in - stream.avail_in;
        n -= in - stream.avail_in;
        out += offered - stream.avail_out;
        if (out > capacity)
            state = Z_BUF_ERROR;
    }
    inflateEnd(&stream);
    *length = out < capacity ? out : capacity;
    if (state == Z_STREAM_END || (state == Z_OK && !whole))
        return true;
    return error_set(err, ERROR_INPUT, "%s: %s", path,
                     out > capacity         ? "more compressed data than its header announces"
                     : state == Z_BUF_ERROR ? "compressed data are truncated"
                     : state == Z_MEM_ERROR ? "out of memory"
                                            : "compressed data are damaged");
}

#else

const char *dataset_pack_missing(void)
{
    return "zlib";
}

static bool missing(struct error *err)
{
    return error_set(err, ERROR_FAILED, "this rehearse was built without zlib, which compressed files need");
}

bool dataset_pack_begin(struct dataset_packing *packing, struct dataset_writer *to, int level,
                        enum dataset_wrap wrap)
{
    (void)level, (void)wrap;
    packing->packed = 0;
    to->failed = true;
    return missing(to->err);
}

void dataset_pack_end(struct dataset_packing *packing)
{
    (void)packing;
}

bool dataset_pack_block(const void *from, size_t n, int level, void *to, size_t *length, struct error *err)
{
    (void)from, (void)n, (void)level, (void)to, (void)length;
    return missing(err);
}

bool dataset_unpack(const char *path, const unsigned char *from, size_t n, enum dataset_wrap wrap,
                    unsigned char *to, size_t capacity, bool whole, size_t *length, struct error *err)
{
    (void)path, (void)from, (void)n, (void)wrap, (void)to, (void)capacity, (void)whole, (void)length;
    return missing(err);
}

#endif
