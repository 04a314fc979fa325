/* A file as lines, unpacked where gzip packed it. Memory: one buffer, whatever the length of a line. */
#ifndef REHEARSE_TRACE_IMPORT_LINES_H
#define REHEARSE_TRACE_IMPORT_LINES_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_lines {
    const char *path;
    int fd;
    void *gz;         /* gzFile, where the file is packed */
    const char *text; /* instead of a file */
    size_t text_left;
    char *buffer;
    size_t capacity, used, at; /* bytes in the buffer; of which given out */
    bool ended, truncated, skipping;
    int64_t line, bytes; /* number of the line given last; bytes given out */
};

enum import_line_kind { IMPORT_LINE, IMPORT_LINE_TOO_LONG, IMPORT_LINE_END, IMPORT_LINE_ERROR };

/* A file, or (text not NULL) text. The caller ends it with import_lines_close, in any case. */
bool import_lines_open(struct import_lines *lines, const char *path, const char *text, size_t length,
                       struct error *err);
void import_lines_close(struct import_lines *lines);

/* The next line, [*line, *end), without its line feed; *end is writable and holds NUL. */
enum import_line_kind import_lines_next(struct import_lines *lines, const char **line, const char **end,
                                        struct error *err);

/* The next bytes as they are, for formats that are not made of lines; *length 0 at the end. */
bool import_lines_raw(struct import_lines *lines, const char **bytes, size_t *length, struct error *err);

/* The beginning of the file, up to some kilobytes, without taking it. */
bool import_lines_peek(struct import_lines *lines, const char **bytes, size_t *length, struct error *err);

#endif
