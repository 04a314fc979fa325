/* A file as lines, unpacked if gzip packed it. It takes one buffer of memory, whatever the length of a
 * line. */
#ifndef REHEARSE_TRACE_IMPORT_LINES_H
#define REHEARSE_TRACE_IMPORT_LINES_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_lines {
    const char *path;
    int fd;
    void *gz;         /* gzFile of a packed file */
    const char *text; /* instead of a file */
    size_t text_left;
    char *buffer;
    size_t capacity, used, at; /* bytes in the buffer; bytes of them handed out */
    bool ended, truncated, skipping;
    int64_t line, bytes; /* number of the last line; bytes read */
    int64_t base_ns; /* added to times in microseconds: baseTimeNanoseconds of a Chrome trace, by stream.c */
};

enum import_line_kind { IMPORT_LINE, IMPORT_LINE_TOO_LONG, IMPORT_LINE_END, IMPORT_LINE_ERROR };

/* Opens a file, or text in memory if that is not NULL. The caller calls import_lines_close in any case. */
bool import_lines_open(struct import_lines *lines, const char *path, const char *text, size_t length,
                       struct error *err);
void import_lines_close(struct import_lines *lines);

/* Gets the next line, [*line, *end), without its line feed; *end is writable and holds NUL. */
enum import_line_kind import_lines_next(struct import_lines *lines, const char **line, const char **end,
                                        struct error *err);

/* Gets the next bytes, for formats without lines; *length is 0 at the end. */
bool import_lines_raw(struct import_lines *lines, const char **bytes, size_t *length, struct error *err);

/* The same for a `struct import_lines *`. */
bool import_lines_bytes(void *lines, const char **bytes, size_t *length, struct error *err);

/* Likewise, but a packed file that is cut off is an error. */
bool import_lines_whole(void *lines, const char **bytes, size_t *length, struct error *err);

/* Gets the beginning of the file, up to some kilobytes, without consuming it. */
bool import_lines_peek(struct import_lines *lines, const char **bytes, size_t *length, struct error *err);

#endif
