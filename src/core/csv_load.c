/* Tables that may be packed by gzip (RFC 1952). */
#include "core/csv.h"

#include "core/file.h"
#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

#ifdef REHEARSE_HAVE_ZLIB
#include <zlib.h>

#define CHUNK       ((size_t)1 << 17) /* unpacked at once, at least */
#define GZIP_WINDOW (16 + MAX_WBITS)  /* zlib's word for: a gzip header is expected */

/* Goes on behind the end of a gzip member. Another member may follow, if files were packed apart and joined,
 * or the zeros of a tape (RFC 1952, section 2.2; gzip's manual, "trailing garbage"). */
static bool next_member(z_stream *stream)
{
    while (stream->avail_in > 0 && *stream->next_in == 0) {
        stream->next_in++;
        stream->avail_in--;
    }
    return stream->avail_in > 0 && inflateReset(stream) == Z_OK;
}

/* Grows by doubling until all of it is out; a table over CSV_MAX_BYTES is refused before it fills the
 * memory. */
static bool inflate_all(z_stream *stream, const char *path, char **out, size_t *length, struct error *err)
{
    size_t capacity = 0;
    int status = Z_OK;
    *length = 0;
    while (status != Z_STREAM_END || next_member(stream)) {
        if (*length > CSV_MAX_BYTES)
            return error_set(err, ERROR_INPUT, "%s: unpacks to more than %zu MiB", path, CSV_MAX_BYTES >> 20);
        if (!VECTOR_ROOM(*out, capacity, *length + CHUNK))
            return error_memory(err);
        stream->next_out = (Bytef *)*out + *length;
        stream->avail_out = (uInt)(capacity - *length);
        status = inflate(stream, Z_NO_FLUSH);
        *length = capacity - stream->avail_out;
        if (status != Z_OK && status != Z_STREAM_END)
            return error_set(err, ERROR_INPUT, "%s: damaged: %s", path,
                             status == Z_BUF_ERROR ? "it ends early" : "not what gzip writes");
    }
    return true;
}

static bool parse_packed(struct csv *csv, const char *path, char *data, size_t length, struct error *err)
{
    z_stream stream = {.next_in = (Bytef *)data, .avail_in = (uInt)length};
    char *out = NULL;
    size_t out_length;
    if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
        return error_memory(err);
    bool read =
        inflate_all(&stream, path, &out, &out_length, err) && csv_parse(csv, path, out, out_length, err);
    inflateEnd(&stream);
    free(out);
    return read;
}
#else
static bool parse_packed(struct csv *csv, const char *path, char *data, size_t length, struct error *err)
{
    (void)csv;
    (void)data;
    (void)length;
    return error_set(err, ERROR_FAILED, "%s: packed by gzip, and this program was built without zlib", path);
}
#endif

bool csv_load(struct csv *csv, const char *path, struct error *err)
{
    char *data;
    size_t length;
    *csv = (struct csv){0};
    if (!file_read(path, CSV_MAX_BYTES, &data, &length, err))
        return false;
    bool packed = length > 2 && memcmp(data, "\x1f\x8b", 2) == 0;
    bool read = packed ? parse_packed(csv, path, data, length, err) : csv_parse(csv, path, data, length, err);
    free(data);
    return read;
}
