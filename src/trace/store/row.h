/* Inside the reader of stores: one row of a statement. What a row says is checked here, and nowhere else. */
#ifndef REHEARSE_TRACE_STORE_ROW_H
#define REHEARSE_TRACE_STORE_ROW_H

#include "core/arena.h"
#include "trace/store/open.h"
#include "trace/store/store.h"

struct trace_meta {
    const char *key, *value;
};

/* Rows 1..count of a dictionary; row 0 is what is said of ids that are not there. */
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
    int version;
    int64_t first_ns, last_ns; /* of a trace that is unfinished or lost events; TRACE_NONE: it is empty */
    unsigned char *selected;   /* by id of a file, 0: none; NULL: everything */
};

/* Bits of `selected`. */
enum { SELECT_EVENTS = 1, SELECT_BLOCKS = 2 };

/* A statement that is run, row by row. What a row says is checked here, and nowhere else. */
struct trace_cursor {
    sqlite3_stmt *statement;
    struct trace_reader *reader;
    const char *table; /* for messages */
    int code;
    int64_t bytes; /* moved, of all rows so far */
    bool failed;
    struct error why;
};

/* Runs a statement on this table. */
bool row_begin(struct trace_cursor *cursor, struct trace_reader *reader, const char *table, const char *sql,
               struct error *err);
/* The next row; false at the end and after a failure. */
bool row_next(struct trace_cursor *cursor);
void row_stop_memory(struct trace_cursor *cursor);
/* What is in a column is not what can be there: no further row comes. */
void row_refuse(struct trace_cursor *cursor, int column);
/* Ends it; false when anything had failed. */
bool row_end(struct trace_cursor *cursor, struct error *err);
/* A whole number of a range, which must be there. */
int64_t row_needed(struct trace_cursor *cursor, int column, int64_t least, int64_t most);
/* The same, or nothing, which is `none`. */
int64_t row_number(struct trace_cursor *cursor, int column, int64_t none, int64_t least, int64_t most);
int64_t row_any_number(struct trace_cursor *cursor, int column);
int64_t row_time(struct trace_cursor *cursor, int column);
int64_t row_length(struct trace_cursor *cursor, int column);
/* 0 for what the dictionary does not have. */
int64_t row_id(struct trace_cursor *cursor, int column, const struct table *table);
/* Adds to what all rows moved, which has a limit. */
void row_count_bytes(struct trace_cursor *cursor, int column, int64_t bytes);
/* As UTF-8, kept as long as the reader; "" for nothing. */
const char *row_text(struct trace_cursor *cursor, int column);

#endif
