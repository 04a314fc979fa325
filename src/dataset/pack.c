#include "dataset/pack.h"

#include "dataset/writer.h"

#include <stdlib.h>
#include <string.h>

#ifdef REHEARSE_HAVE_ZLIB

#include <zlib.h>

#define WINDOW 15 /* bits; 16 more: gzip's header and trailer, negative: neither */

struct dataset_packer {
    struct dataset_sink to;
    z_stream stream;
    int64_t packed;
    unsigned char buffer[65536];
};

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

struct dataset_packer *dataset_packer_new(const struct dataset_sink *to, int level, enum dataset_wrap wrap,
                                          struct error *err)
{
    struct dataset_packer *packer = calloc(1, sizeof *packer);
    if (packer)
        packer->to = *to;
    if (packer &&
        deflateInit2(&packer->stream, level, Z_DEFLATED, window_of(wrap), 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return packer;
    free(packer);
    error_memory(err);
    return NULL;
}

/* Compresses what the stream has as input, and writes what comes out. */
static bool pump(struct dataset_packer *packer, int flush, struct error *err)
{
    do {
        packer->stream.next_out = packer->buffer;
        packer->stream.avail_out = sizeof packer->buffer;
        deflate(&packer->stream, flush);
        size_t n = sizeof packer->buffer - packer->stream.avail_out;
        packer->packed += (int64_t)n;
        if (n > 0 && !packer->to.write(packer->to.context, packer->buffer, n, err))
            return false;
    } while (packer->stream.avail_out == 0);
    return true;
}

static bool pack(void *context, const void *from, size_t n, struct error *err)
{
    struct dataset_packer *packer = context;
    const unsigned char *at = from;
    if (packer->to.go_on && !packer->to.go_on(packer->to.context, err)) /* zeros are written rarely */
        return false;
    while (n > 0) {
        size_t now = n < ((size_t)1 << 30) ? n : (size_t)1 << 30;
        packer->stream.next_in = (unsigned char *)(uintptr_t)at; /* zlib's type is not const */
        packer->stream.avail_in = (unsigned)now;
        if (!pump(packer, Z_NO_FLUSH, err))
            return false;
        at += now;
        n -= now;
    }
    return true;
}

struct dataset_sink dataset_packer_sink(struct dataset_packer *packer)
{
    return (struct dataset_sink){.context = packer, .write = pack};
}

bool dataset_packer_end(struct dataset_packer *packer, int64_t *packed, struct error *err)
{
    packer->stream.avail_in = 0;
    bool done = pump(packer, Z_FINISH, err);
    *packed = packer->packed;
    deflateEnd(&packer->stream);
    free(packer);
    return done;
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
                     out > capacity         ? "more compressed data than its header says"
                     : state == Z_BUF_ERROR ? "compressed data end too early"
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
    return error_set(err, ERROR_FAILED, "this rehearse was built without zlib, which compressed files take");
}

struct dataset_packer *dataset_packer_new(const struct dataset_sink *to, int level, enum dataset_wrap wrap,
                                          struct error *err)
{
    (void)to;
    (void)level;
    (void)wrap;
    missing(err);
    return NULL;
}

struct dataset_sink dataset_packer_sink(struct dataset_packer *packer)
{
    (void)packer;
    return (struct dataset_sink){0};
}

bool dataset_packer_end(struct dataset_packer *packer, int64_t *packed, struct error *err)
{
    (void)packer;
    (void)packed;
    return missing(err);
}

bool dataset_unpack(const char *path, const unsigned char *from, size_t n, enum dataset_wrap wrap,
                    unsigned char *to, size_t capacity, bool whole, size_t *length, struct error *err)
{
    (void)path;
    (void)from;
    (void)n;
    (void)wrap;
    (void)to;
    (void)capacity;
    (void)whole;
    (void)length;
    return missing(err);
}

#endif
