/* JSON of any length, one piece at a time: for files that are too large for a tree (core/doc.h). Memory is one buffer
 * for the longest text, of at most JSON_STREAM_MAX_TEXT bytes.
 *
 *     while (json_stream_next(&stream, &piece, err) && piece != JSON_END)
 *         …
 *
 * Reading is strict (RFC 8259) but for two things that profilers write: the words NaN, Infinity, nan and inf stand for
 * values, and a text may hold any byte from 0x20 on, UTF-8 or not. A repeated key is not noticed. */
#ifndef REHEARSE_CORE_DOC_STREAM_H
#define REHEARSE_CORE_DOC_STREAM_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_STREAM_MAX_TEXT  ((size_t)1 << 20)
#define JSON_STREAM_MAX_DEPTH 64

/* Gets the next bytes, valid until the next call; *length is 0 at the end. */
typedef bool json_stream_more(void *context, const char **bytes, size_t *length, struct error *err);

enum json_piece {
    JSON_END, /* of the file */
    JSON_OPEN_MAP,
    JSON_OPEN_LIST,
    JSON_CLOSE, /* of the innermost map or list */
    JSON_KEY,
    JSON_TEXT,
    JSON_NUMBER,
    JSON_WORD, /* true, false, null, NaN, … */
};

/* Set path, more and context, and the rest to zero. */
struct json_stream {
    const char *path;
    json_stream_more *more;
    void *context;
    char *text; /* of the last key, text, number or word; ends in NUL */
    size_t length;
    int depth;            /* maps and lists that are open */
    int64_t line, column; /* of the last byte, in bytes; line counts from 0 */
    bool ended;           /* the end of the file was met: an error from then on is that it ends early */
    /* private */
    const char *at, *end;
    size_t capacity, pieces;
    char open[JSON_STREAM_MAX_DEPTH];
    bool begun, after_value, after_key;
};

/* Reads the next piece. False: the file is wrong or cannot be read. */
bool json_stream_next(struct json_stream *stream, enum json_piece *piece, struct error *err);

/* After a piece that begins a value: reads on to the end of the value. */
bool json_stream_skip(struct json_stream *stream, enum json_piece piece, struct error *err);

/* Sets "FILE:LINE:COLUMN: message". Returns false. */
bool json_stream_error(const struct json_stream *stream, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void json_stream_release(struct json_stream *stream);

#endif
