#include "core/csv.h"

#include "core/features.h"
#include "core/file.h"
#include "core/stop.h"
#include "core/text.h"
#include "core/vector.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifdef REHEARSE_HAVE_ZLIB
#include <zlib.h>
#endif

struct reader {
    struct csv *csv;
    const char *at, *end;
    int line;
    const char **cells; /* all so far; grown by doubling, copied into the arena at the end */
    size_t count, capacity;
    int *lines;
    size_t line_capacity;
    struct error *err;
};

static bool add_cell(struct reader *r, const char *cell)
{
    return VECTOR_ADD(r->cells, r->count, r->capacity, cell) || error_memory(r->err);
}

static bool add_line(struct reader *r, int row, int line)
{
    return VECTOR_ADD(r->lines, row, r->line_capacity, line) || error_memory(r->err);
}

/* The quote that ends a cell, from its first character on; r->end when there is none. */
static const char *closing_quote(const struct reader *r)
{
    for (const char *at = r->at; at < r->end; at++)
        if (*at == '"') {
            if (at + 1 == r->end || at[1] != '"')
                return at;
            at++;
        }
    return r->end;
}

/* A cell in quotes; r->at is after the first one. */
static const char *read_quoted(struct reader *r)
{
    const char *end = closing_quote(r);
    if (end == r->end)
        return error_null(r->err, ERROR_INPUT, "%s:%d: an unterminated quote", r->csv->path, r->line);
    char *cell = arena_alloc(&r->csv->arena, 1, (size_t)(end - r->at) + 1), *to = cell;
    if (!cell)
        return error_memory_null(r->err);
    for (; r->at < end; r->at++) {
        r->line += *r->at == '\n';
        *to++ = *r->at;
        r->at += *r->at == '"';
    }
    *to = '\0';
    r->at++;
    if (r->at < r->end && !strchr(",\r\n", *r->at))
        return error_null(r->err, ERROR_INPUT, "%s:%d: expected a comma or the end of the line after a quote",
                          r->csv->path, r->line);
    return cell;
}

static const char *read_cell(struct reader *r)
{
    if (r->at < r->end && *r->at == '"') {
        r->at++;
        return read_quoted(r);
    }
    const char *start = r->at;
    while (r->at < r->end && !strchr(",\r\n", *r->at))
        r->at++;
    const char *cell = arena_copy(&r->csv->arena, start, (size_t)(r->at - start));
    if (!cell)
        error_memory(r->err);
    return cell;
}

/* Reads a row, which may have line breaks in quotes, and adds its cells. */
static bool read_row(struct reader *r, int *count)
{
    for (*count = 0;;) {
        const char *cell = read_cell(r);
        if (!cell || !add_cell(r, cell))
            return false;
        if (++*count > CSV_MAX_COLUMNS)
            return error_set(r->err, ERROR_INPUT, "%s:%d: more than %d columns", r->csv->path, r->line,
                             CSV_MAX_COLUMNS);
        if (r->at == r->end || *r->at != ',')
            break;
        r->at++;
    }
    if (r->at < r->end && *r->at == '\r')
        r->at++;
    if (r->at < r->end) {
        if (*r->at != '\n')
            return error_set(r->err, ERROR_INPUT, "%s:%d: a carriage return within a line", r->csv->path,
                             r->line);
        r->at++;
        r->line++;
    }
    return true;
}

/* Returns the column of exactly this name, -1: none. No two columns have the same name. */
static int exact_column(const struct csv *csv, const char *name)
{
    for (int i = 0; i < csv->column_count; i++)
        if (strcmp(csv->columns[i], name) == 0)
            return i;
    return -1;
}

static bool read_header(struct reader *r)
{
    struct csv *csv = r->csv;
    if (r->at == r->end)
        return error_set(r->err, ERROR_INPUT, "%s: expected a line of column names, found an empty file",
                         csv->path);
    int count;
    if (!read_row(r, &count))
        return false;
    csv->column_count = count;
    csv->columns = ARENA_ARRAY(&csv->arena, (size_t)count, const char *);
    if (!csv->columns)
        return error_memory(r->err);
    for (int i = 0; i < count; i++) {
        if (exact_column(&(struct csv){.columns = csv->columns, .column_count = i}, r->cells[i]) >= 0)
            return error_set(r->err, ERROR_INPUT, "%s:1: column '%s' is listed twice", csv->path,
                             r->cells[i]);
        csv->columns[i] = r->cells[i];
    }
    r->count = 0;
    return true;
}

static bool read_rows(struct reader *r)
{
    struct csv *csv = r->csv;
    for (size_t steps = 0; r->at < r->end; steps++) {
        if (stop_obeyed_at(steps, r->err))
            return false;
        if (*r->at == '\n' || *r->at == '\r') { /* an empty line */
            r->line += *r->at++ == '\n';
            continue;
        }
        int line = r->line, count;
        if (!read_row(r, &count))
            return false;
        if (count != csv->column_count)
            return error_set(r->err, ERROR_INPUT, "%s:%d: expected %d cells as in the header, found %d",
                             csv->path, line, csv->column_count, count);
        if (csv->row_count == INT_MAX / CSV_MAX_COLUMNS)
            return error_set(r->err, ERROR_INPUT, "%s:%d: more than %d rows", csv->path, line,
                             INT_MAX / CSV_MAX_COLUMNS);
        if (!add_line(r, csv->row_count++, line))
            return false;
    }
    csv->cells = ARENA_ARRAY(&csv->arena, r->count + 1, const char *);
    csv->lines = ARENA_ARRAY(&csv->arena, (size_t)csv->row_count + 1, int);
    if (!csv->cells || !csv->lines)
        return error_memory(r->err);
    for (size_t i = 0; i < r->count; i++) {
        if (stop_obeyed_at(i, r->err))
            return false;
        csv->cells[i] = r->cells[i];
    }
    if (r->lines)
        memcpy(csv->lines, r->lines, (size_t)csv->row_count * sizeof *csv->lines);
    return true;
}

bool csv_parse(struct csv *csv, const char *path, const char *data, size_t length, struct error *err)
{
    *csv = (struct csv){0};
    struct reader r = {.csv = csv, .at = data, .end = data + length, .line = 1, .err = err};
    csv->path = arena_string(&csv->arena, path);
    if (length >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) /* the byte order mark of spreadsheets */
        r.at += 3;
    bool ok;
    if (!csv->path)
        ok = error_memory(err);
    else if (memchr(data, '\0', length))
        ok = error_set(err, ERROR_INPUT, "%s: expected text, found a zero byte", path);
    else
        ok = read_header(&r) && read_rows(&r);
    free(r.cells);
    free(r.lines);
    if (!ok)
        csv_release(csv);
    return ok;
}

void csv_release(struct csv *csv)
{
    arena_release(&csv->arena);
    *csv = (struct csv){0};
}

int csv_column(const struct csv *csv, const char *name)
{
    int exact = exact_column(csv, name);
    for (int i = 0; exact < 0 && i < csv->column_count; i++)
        if (strcasecmp(csv->columns[i], name) == 0)
            return i;
    return exact;
}

bool csv_need(const struct csv *csv, const char *name, int *column, struct error *err)
{
    *column = csv_column(csv, name);
    if (*column >= 0)
        return true;
    struct text_hint hint;
    return error_set(err, ERROR_INPUT, "%s:1: no column '%s'%s", csv->path, name,
                     text_suggest(&hint, text_nearest(name, csv->columns, (size_t)csv->column_count), ""));
}

const char *csv_cell(const struct csv *csv, int row, int column)
{
    return column < 0 ? "" : csv->cells[(size_t)row * (size_t)csv->column_count + (size_t)column];
}

bool csv_number(const struct csv *csv, int row, int column, double min, double max, double *value,
                struct error *err)
{
    const char *cell = csv_cell(csv, row, column);
    char *end;
    *value = text_number(cell, &end);
    while (*end == ' ')
        end++;
    if (*cell != '\0' && *end == '\0' && isfinite(*value) && *value >= min && *value <= max)
        return true;
    return csv_error(csv, row, column, err, "expected a number from %g to %g, found '%s'", min, max, cell);
}

bool csv_error(const struct csv *csv, int row, int column, struct error *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(err, ERROR_INPUT, "%s:%d: %s%s%s", csv->path, csv->lines[row],
                     column >= 0 ? csv->columns[column] : "", column >= 0 ? ": " : "", text);
}

/* ---- tables that may be packed by gzip (RFC 1952) ---- */

#ifdef REHEARSE_HAVE_ZLIB

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
