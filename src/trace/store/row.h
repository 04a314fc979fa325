/* Inside the reader of stores: one row of a statement. Values of rows are checked here only. */
#ifndef REHEARSE_TRACE_STORE_ROW_H
#define REHEARSE_TRACE_STORE_ROW_H

#include "core/arena.h"
#include "trace/store/open.h"
#include "trace/store/store.h"

struct trace_meta {
    const char *key, *value;
};

/* Rows 1..count of a dictionary; row 0 is the answer for unknown ids. */
struct table {
    void *rows;
    int64_t count;
    size_t capacity;
};

struct trace_reader {
    sqlite3 *db;
    struct store_guard guard;
    struct arena arena;
    char *path;
    struct table processes, files, series, calls, disks, phases, meta, losses;
    int64_t lost, text_bytes;
    int64_t first_ns, last_ns; /* of a trace that is unfinished or lost events; TRACE_NONE: it is empty */
    unsigned char *selected;   /* by id of a file, 0: none; NULL: everything */
};

/* Bits of `selected`. */
enum { SELECT_EVENTS = 1, SELECT_BLOCKS = 2 };

/* A statement that is run, row by row. */
struct trace_cursor {
    sqlite3_stmt *statement;
    struct trace_reader *reader;
    const char *table; /* for messages */
    int code;
    int64_t bytes; /* moved, of all rows so far */
    size_t rows;
    bool failed;
    struct error why;
};

/* Runs a statement on this table. */
bool row_begin(struct trace_cursor *cursor, struct trace_reader *reader, const char *table, const char *sql,
               struct error *err);
/* Gets the next row; false at the end and after a failure. */
bool row_next(struct trace_cursor *cursor);
void row_stop_memory(struct trace_cursor *cursor);
/* Refuses an impossible value; no further row comes. */
void row_refuse(struct trace_cursor *cursor, int column);
/* Ends it; false when anything had failed. */
bool row_end(struct trace_cursor *cursor, struct error *err);
/* Returns a whole number in a range; a missing one is refused. */
int64_t row_needed(struct trace_cursor *cursor, int column, int64_t min, int64_t max);
/* The same, but a missing one is `none`. */
int64_t row_number(struct trace_cursor *cursor, int column, int64_t none, int64_t min, int64_t max);
int64_t row_any_number(struct trace_cursor *cursor, int column);
int64_t row_time(struct trace_cursor *cursor, int column);
int64_t row_length(struct trace_cursor *cursor, int column);
/* Returns 0 for an id that the dictionary lacks. */
int64_t row_id(struct trace_cursor *cursor, int column, const struct table *table);
/* Adds to the bytes that all rows moved, which have a limit. */
void row_count_bytes(struct trace_cursor *cursor, int column, int64_t bytes);
/* Returns text as UTF-8, owned by the reader; "" if it is missing. */
const char *row_text(struct trace_cursor *cursor, int column);

#endif
