/* Tables of comma-separated values with a header line (RFC 4180: quotes, also around line breaks).
 *
 * Reading is strict: a row with more or fewer cells than the header, a quote that does not end, a repeated
 * column is an error with its place. A byte order mark at the beginning is skipped. */
#ifndef REHEARSE_CORE_CSV_H
#define REHEARSE_CORE_CSV_H

#include "core/arena.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

#define CSV_MAX_BYTES   ((size_t)256 << 20)
#define CSV_MAX_COLUMNS 1024

struct csv {
    struct arena arena;
    const char *path;
    int column_count;
    const char **columns;
    int row_count;
    const char **cells; /* row after row; see csv_cell */
    int *lines;         /* line of each row, from 1 */
};

/* Reads a file, also one packed by gzip if built with zlib. On failure *csv holds nothing; on success the
 * caller releases it with csv_release. */
bool csv_load(struct csv *csv, const char *path, struct error *err);

/* Reads text; `path` is for messages. */
bool csv_parse(struct csv *csv, const char *path, const char *data, size_t length, struct error *err);

void csv_release(struct csv *csv);

/* Returns the column of this name, else the first that differs only in case; -1: none. */
int csv_column(const struct csv *csv, const char *name);

/* The same, but a missing column is an error. */
bool csv_need(const struct csv *csv, const char *name, int *column, struct error *err);

/* Returns a cell as written; "" for column -1. */
const char *csv_cell(const struct csv *csv, int row, int column);

/* Reads a finite number in [min, max]; an empty cell or a missing column is an error. */
bool csv_number(const struct csv *csv, int row, int column, double min, double max, double *value,
                struct error *err);

/* Sets ERROR_INPUT at this cell: "FILE:LINE: COLUMN: message". Returns false. */
bool csv_error(const struct csv *csv, int row, int column, struct error *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
