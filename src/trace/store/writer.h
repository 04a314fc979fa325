/* Inside the writer of stores (write.c) and its rows (rows.c). */
#ifndef REHEARSE_TRACE_STORE_WRITER_H
#define REHEARSE_TRACE_STORE_WRITER_H

#include "core/file_output.h"
#include "core/hash.h"
#include "trace/store/store.h"

#include <sqlite3.h>

enum dictionary { PROCESSES, FILES, CALLS, DISKS, SERIES, DICTIONARIES };

enum insert {
    INSERT_PROCESS,
    INSERT_FILE,
    INSERT_CALL,
    INSERT_DISK,
    INSERT_SERIES,
    INSERT_EVENT,
    INSERT_BLOCK,
    INSERT_SAMPLE,
    INSERT_PHASE,
    INSERT_CLOCK,
    INSERT_LOST,
    INSERT_META,
    UPDATE_PROCESS,
    RENAME_PROCESS,
    DELETE_PHASES,
    INSERTS
};

#define TRACE_ROWS         4096
#define TRACE_ROWS_COLUMNS 11

/* Rows of whole numbers that are gathered before SQLite takes them with one INSERT … SELECT from a virtual
 * table: about twice as many rows a second as with values bound one by one (bench/bench_trace.c). */
struct trace_rows {
    int count;
    int64_t cells[TRACE_ROWS][TRACE_ROWS_COLUMNS]; /* TRACE_NONE is NULL */
};

/* Makes `rows` the virtual table `name` with columns c0, c1, …; `rows` must outlive the connection. */
bool trace_rows_attach(sqlite3 *db, const char *name, struct trace_rows *rows);

struct trace_writer {
    sqlite3 *db;
    sqlite3_stmt *statements[INSERTS];
    struct hash_names names[DICTIONARIES];
    struct trace_rows events, blocks; /* not yet handed to SQLite */
    char *path;
    struct file_output output; /* until the trace has its name: its temporary file */
    int64_t rows, others;      /* handed to SQLite: events and blocks; samples and phases */
    int64_t pending;           /* of all tables, since the last commit */
    bool at_once;              /* TRACE_STORE_APPEND: one transaction */
    bool whole;                /* TRACE_STORE_WHOLE: it gets its name when it is closed */
    bool cut;                  /* the trace ends before the run does */
    bool failed;
    struct error why;
};

/* Keeps the first failure, and sets it. Returns false. */
bool trace_writer_fail(struct trace_writer *writer, struct error *err);

/* A statement that notes the rows which a store has, for trace_writer_refuse_repeated. */
extern const char trace_note_rows[];

/* The maximum length of a name in a dictionary. */
#define TRACE_NAME_BYTES 4096

#endif
