/* Rows of whole numbers on their way into a table.
 *
 * They are gathered here and SQLite takes them with one INSERT … SELECT from a virtual table: about twice as many rows
 * a second as with values bound one by one (bench/bench_trace.c). */
#ifndef REHEARSE_TRACE_STORE_ROWS_H
#define REHEARSE_TRACE_STORE_ROWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define TRACE_ROWS         4096
#define TRACE_ROWS_COLUMNS 11

struct trace_rows {
    int count;
    int64_t cells[TRACE_ROWS][TRACE_ROWS_COLUMNS]; /* TRACE_NONE is NULL */
};

/* Makes `rows` the virtual table `name` with columns c0, c1, …; `rows` must outlive the connection. */
bool trace_rows_attach(sqlite3 *db, const char *name, struct trace_rows *rows);

#endif
