#include "core/doc/stream.h"

#include "core/stop.h"
#include "core/text.h"
#include "core/vector.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END (-1)

bool json_stream_error(const struct json_stream *stream, struct error *err, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return error_set(err, ERROR_INPUT, "%s:%lld:%lld: %s", stream->path, (long long)stream->line + 1,
                     (long long)stream->column + 1, message);
}

void json_stream_release(struct json_stream *stream)
{
    free(stream->text);
    stream->text = NULL;
}

/* Looks at the next byte; END at the end of the file. */
static bool look(struct json_stream *stream, int *byte, struct error *err)
{
    const char *bytes;
    size_t length;
    if (stream->at == stream->end) {
        if (!stream->more(stream->context, &bytes, &length, err))
            return false;
        if (length == 0) { /* of nothing there may be no bytes */
            stream->ended = true;
            *byte = END;
            return true;
        }
        stream->at = bytes;
        stream->end = bytes + length;
    }
    *byte = (unsigned char)*stream->at;
    return true;
}

static void take(struct json_stream *stream)
{
    if (*stream->at++ == '\n') {
        stream->line++;
        stream->column = 0;
    } else {
        stream->column++;
    }
}

static bool look_behind_space(struct json_stream *stream, int *byte, struct error *err)
{
    while (look(stream, byte, err)) {
        if (*byte != ' ' && *byte != '\n' && *byte != '\t' && *byte != '\r')
            return true;
        take(stream);
    }
    return false;
}

static bool unexpected(struct json_stream *stream, int byte, const char *wanted, struct error *err)
{
    if (byte == END)
        return json_stream_error(stream, err, "expected %s, found the end of the file", wanted);
    return json_stream_error(stream, err, "expected %s, found '%c'", wanted, byte);
}

static bool keep(struct json_stream *stream, const char *bytes, size_t length, struct error *err)
{
    if (stream->length + length > JSON_STREAM_MAX_TEXT)
        return json_stream_error(stream, err, "a string of more than %zu KiB", JSON_STREAM_MAX_TEXT >> 10);
    if (!VECTOR_ROOM(stream->text, stream->capacity, stream->length + length + 1))
        return error_memory(err);
    memcpy(stream->text + stream->length, bytes, length);
    stream->length += length;
    stream->text[stream->length] = '\0';
    return true;
}

static bool read_hex(struct json_stream *stream, uint32_t *code, struct error *err)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        int byte;
        if (!look(stream, &byte, err))
            return false;
        int digit = byte == END ? -1 : text_hex_digit((char)byte);
        if (digit < 0)
            return unexpected(stream, byte, "a hexadecimal digit", err);
        *code = *code * 16 + (uint32_t)digit;
        take(stream);
    }
    return true;
}

/* Reads the code after \u. Each half of a pair becomes U+FFFD, and so does NUL: no name needs them. */
static bool read_unicode(struct json_stream *stream, struct error *err)
{
    uint32_t code;
    char bytes[4];
    if (!read_hex(stream, &code, err))
        return false;
    if (code == 0 || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    return keep(stream, bytes, text_encode(bytes, code), err);
}

static bool read_escape(struct json_stream *stream, struct error *err)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    int byte;
    take(stream); /* the backslash */
    if (!look(stream, &byte, err))
        return false;
    if (byte == 'u') {
        take(stream);
        return read_unicode(stream, err);
    }
    const char *name = byte > 0 ? strchr(names, byte) : NULL;
    if (!name)
        return unexpected(stream, byte, "a known escape", err);
    take(stream);
    return keep(stream, &values[name - names], 1, err);
}

/* Reads the rest of a text, behind its quote. */
static bool read_text(struct json_stream *stream, struct error *err)
{
    int byte;
    for (;;) {
        if (!look(stream, &byte, err))
            return false;
        if (byte == END)
            return json_stream_error(stream, err, "the file ends within a string");
        const char *start = stream->at;
        while (stream->at < stream->end && (unsigned char)*stream->at >= ' ' && *stream->at != '"' &&
               *stream->at != '\\')
            stream->at++;
        stream->column += stream->at - start;
        if (!keep(stream, start, (size_t)(stream->at - start), err))
            return false;
        if (stream->at == stream->end)
            continue;
        if (*stream->at == '"')
            break;
        if (*stream->at != '\\')
            return json_stream_error(stream, err, "a control character within a string");
        if (!read_escape(stream, err))
            return false;
    }
    take(stream);
    return true;
}

static bool is_bare(int byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '-' || byte == '+' || byte == '.';
}

/* -?digits[.digits][e[+-]digits] */
static bool is_number(const char *text)
{
    size_t digits;
    text += *text == '-';
    text += digits = strspn(text, "0123456789");
    if (digits == 0)
        return false;
    if (*text == '.') {
        text += 1 + (digits = strspn(text + 1, "0123456789"));
        if (digits == 0)
            return false;
    }
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        text += digits = strspn(text, "0123456789");
    }
    return digits > 0 && *text == '\0';
}

static bool read_bare(struct json_stream *stream, enum json_piece *piece, struct error *err)
{
    static const char *const words[] = {"true",     "false",     "null", "NaN", "nan",
                                        "Infinity", "-Infinity", "inf",  "-inf"};
    int byte;
    for (;;) {
        if (!look(stream, &byte, err))
            return false;
        const char *start = stream->at;
        while (byte != END && stream->at < stream->end && is_bare(*stream->at))
            stream->at++;
        if (stream->at == start)
            break;
        stream->column += stream->at - start;
        if (!keep(stream, start, (size_t)(stream->at - start), err))
            return false;
    }
    *piece = JSON_NUMBER;
    if (is_number(stream->text))
        return true;
    *piece = JSON_WORD;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(stream->text, words[i]) == 0)
            return true;
    return json_stream_error(stream, err, "'%.40s' is not a value", stream->text);
}

static bool open_value(struct json_stream *stream, char bracket, struct error *err)
{
    if (stream->depth == JSON_STREAM_MAX_DEPTH)
        return json_stream_error(stream, err, "lists and maps nested deeper than %d", JSON_STREAM_MAX_DEPTH);
    stream->open[stream->depth++] = bracket;
    stream->after_value = stream->after_key = false;
    take(stream);
    return true;
}

static bool read_value(struct json_stream *stream, int byte, enum json_piece *piece, struct error *err)
{
    if (byte == '{' || byte == '[') {
        *piece = byte == '{' ? JSON_OPEN_MAP : JSON_OPEN_LIST;
        return open_value(stream, (char)byte, err);
    }
    stream->length = 0;
    stream->after_value = true;
    stream->after_key = false;
    if (byte == '"') {
        *piece = JSON_TEXT;
        take(stream);
        return read_text(stream, err);
    }
    return is_bare(byte) ? read_bare(stream, piece, err) : unexpected(stream, byte, "a value", err);
}

static bool read_key(struct json_stream *stream, int byte, struct error *err)
{
    if (byte != '"')
        return unexpected(stream, byte, "a key", err);
    take(stream);
    stream->length = 0;
    stream->after_key = true;
    if (!read_text(stream, err) || !look_behind_space(stream, &byte, err))
        return false;
    if (byte != ':')
        return unexpected(stream, byte, "':'", err);
    take(stream);
    return true;
}

static bool next_within(struct json_stream *stream, int byte, enum json_piece *piece, struct error *err)
{
    bool map = stream->open[stream->depth - 1] == '{';
    if (!stream->after_key && byte == (map ? '}' : ']')) {
        take(stream);
        stream->depth--;
        stream->after_value = true;
        *piece = JSON_CLOSE;
        return true;
    }
    if (stream->after_value) {
        if (byte != ',')
            return unexpected(stream, byte, map ? "',' or '}'" : "',' or ']'", err);
        take(stream);
        stream->after_value = false;
        if (!look_behind_space(stream, &byte, err))
            return false;
    }
    if (map && !stream->after_key) {
        *piece = JSON_KEY;
        return read_key(stream, byte, err);
    }
    return read_value(stream, byte, piece, err);
}

bool json_stream_next(struct json_stream *stream, enum json_piece *piece, struct error *err)
{
    int byte;
    if (stop_obeyed_at(stream->pieces++, err) || !look_behind_space(stream, &byte, err))
        return false;
    if (stream->depth > 0)
        return next_within(stream, byte, piece, err);
    if (!stream->begun) {
        stream->begun = true;
        return read_value(stream, byte, piece, err);
    }
    *piece = JSON_END;
    return byte == END || unexpected(stream, byte, "the end of the file", err);
}

bool json_stream_skip(struct json_stream *stream, enum json_piece piece, struct error *err)
{
    if (piece != JSON_OPEN_MAP && piece != JSON_OPEN_LIST)
        return true;
    int depth = stream->depth;
    while (stream->depth >= depth)
        if (!json_stream_next(stream, &piece, err))
            return false;
    return true;
}
