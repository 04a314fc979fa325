#include "core/stop.h"
#include "trace/store/open.h"
#include "trace/store/schema.h"
#include "trace/store/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool trace_writer_fail_memory(struct trace_writer *writer);

/* Rows and names of a store. */

static const char *const statements[INSERTS] = {
    "INSERT INTO process(id, pid, tid, name) VALUES (?,?,?,?)",
    "INSERT INTO file VALUES (?,?,?,?,?)",
    "INSERT INTO call VALUES (?,?)",
    "INSERT INTO disk VALUES (?,?)",
    "INSERT INTO series VALUES (?,?,?)",
    "INSERT INTO event SELECT NULL, * FROM new_events",
    "INSERT INTO block SELECT NULL, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 FROM new_blocks",
    "INSERT INTO sample VALUES (?,?,?)",
    "INSERT INTO phase VALUES (?,?,?,?)",
    "INSERT INTO clock VALUES (?,?)",
    ("INSERT INTO lost VALUES (?1,?2,?3,?4) ON CONFLICT DO UPDATE SET count = count + ?2,"
     " from_ns = min(ifnull(from_ns, ?3), ifnull(?3, from_ns)),"
     " to_ns = max(ifnull(to_ns, ?4), ifnull(?4, to_ns))"),
    "INSERT OR REPLACE INTO meta VALUES (?,?)",
    ("UPDATE process SET parent_pid = ifnull(?2, parent_pid), start_ns = ifnull(?3, start_ns),"
     " end_ns = ifnull(?4, end_ns), command = ifnull(?5, command) WHERE id = ?1"),
    "UPDATE process SET name = ?2 WHERE id = ?1",
    "DELETE FROM phase WHERE source = ?",
};

/* Makes the statements, and the virtual tables that rows go through. */
static bool trace_writer_prepare(struct trace_writer *writer, struct error *err)
{
    if (!trace_rows_attach(writer->db, "new_events", &writer->events) ||
        !trace_rows_attach(writer->db, "new_blocks", &writer->blocks))
        return trace_writer_fail(writer, err);
    for (int i = 0; i < INSERTS; i++)
        if (sqlite3_prepare_v3(writer->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &writer->statements[i], NULL) != SQLITE_OK)
            return trace_writer_fail(writer, err);
    return true;
}

/* A value of a statement. */
struct cell {
    const char *text; /* NULL: the cell has a number */
    size_t length;
    int64_t number; /* TRACE_NONE: NULL */
};
#define NUMBER(value)                                                                                        \
    {                                                                                                        \
        .number = (value)                                                                                    \
    }
#define TEXT(value, bytes)                                                                                   \
    {                                                                                                        \
        .text = (value), .length = (bytes)                                                                   \
    }
#define MAX_CELLS 5

static bool step(struct trace_writer *writer, sqlite3_stmt *statement, struct error *err)
{
    sqlite3_step(statement);
    if (sqlite3_reset(statement) != SQLITE_OK)
        return trace_writer_fail(writer, err);
    return ++writer->pending < TRACE_BATCH || trace_writer_commit(writer, err);
}

/* Runs a statement with `count` values. */
static bool run(struct trace_writer *writer, enum insert which, int count, const struct cell *cells,
                struct error *err)
{
    sqlite3_stmt *statement = writer->statements[which];
    if (writer->failed) {
        *err = writer->why;
        return false;
    }
    for (int i = 0; i < count; i++)
        if (cells[i].text)
            sqlite3_bind_text64(statement, i + 1, cells[i].text, cells[i].length, SQLITE_STATIC, SQLITE_UTF8);
        else if (cells[i].number == TRACE_NONE)
            sqlite3_bind_null(statement, i + 1);
        else
            sqlite3_bind_int64(statement, i + 1, cells[i].number);
    return step(writer, statement, err);
}

struct key {
    int64_t numbers[2];
    char text[TRACE_NAME_BYTES];
};

/* Returns the id of a name of at most TRACE_NAME_BYTES, which may be new; 0: out of memory. */
static int64_t trace_writer_intern(struct trace_writer *writer, enum dictionary which, int64_t a, int64_t b,
                                   const char *text, size_t length, bool *added)
{
    struct key key;
    key.numbers[0] = a;
    key.numbers[1] = b;
    memcpy(key.text, text, length);
    int64_t id = hash_names_id(&writer->names[which], &key, sizeof key.numbers + length, added);
    if (id == 0)
        trace_writer_fail_memory(writer);
    return id;
}

/* Returns the id of a name. A new one gets the row id, `cells`; the numbers in it are a and b. */
static int64_t name_id(struct trace_writer *writer, enum dictionary which, int64_t a, int64_t b,
                       struct cell name, int count, const struct cell *cells)
{
    bool added = false;
    struct error err;
    struct cell row[MAX_CELLS];
    int64_t id =
        writer->failed ? 0 : trace_writer_intern(writer, which, a, b, name.text, name.length, &added);
    if (id == 0 || !added)
        return id;
    row[0] = (struct cell)NUMBER(id);
    memcpy(row + 1, cells, (size_t)count * sizeof *cells);
    /* INSERT_PROCESS … are in the order of dictionaries */
    return run(writer, (enum insert)which, count + 1, row, &err) ? id : 0;
}

static struct cell name_cell(const char *name, size_t length)
{
    return (struct cell)TEXT(name, length < TRACE_NAME_BYTES ? length : TRACE_NAME_BYTES);
}

int64_t trace_process(struct trace_writer *writer, int64_t pid, int64_t tid, const char *name, size_t length)
{
    struct cell text = name_cell(name, length);
    return name_id(writer, PROCESSES, pid, tid, text, 3, (struct cell[]){NUMBER(pid), NUMBER(tid), text});
}

int64_t trace_file(struct trace_writer *writer, int64_t device, int64_t inode, const char *path,
                   size_t length)
{
    return trace_file_of_kind(writer, device, inode, trace_kind_of_path(path, length), path, length);
}

int64_t trace_file_of_kind(struct trace_writer *writer, int64_t device, int64_t inode, enum trace_kind kind,
                           const char *path, size_t length)
{
    struct cell text = name_cell(path, length);
    return name_id(writer, FILES, device, inode, text, 4,
                   (struct cell[]){NUMBER(device), NUMBER(inode), text, NUMBER((int64_t)kind)});
}

int64_t trace_call(struct trace_writer *writer, const char *name, size_t length)
{
    struct cell text = name_cell(name, length);
    return name_id(writer, CALLS, 0, 0, text, 1, &text);
}

int64_t trace_disk(struct trace_writer *writer, const char *name, size_t length)
{
    struct cell text = name_cell(name, length);
    return name_id(writer, DISKS, 0, 0, text, 1, &text);
}

int64_t trace_series(struct trace_writer *writer, const char *kind, const char *source)
{
    char both[512]; /* "kind\0source" is the key */
    int length = snprintf(both, sizeof both, "%.255s%c%.255s", kind, 0, source);
    size_t first = strlen(both), all = length < 0 ? first : (size_t)length;
    return name_id(writer, SERIES, 0, 0, (struct cell)TEXT(both, all), 2,
                   (struct cell[]){TEXT(both, first), TEXT(both + first + 1, all - first - 1)});
}

bool trace_process_set(struct trace_writer *writer, int64_t process, int64_t parent_pid, int64_t start_ns,
                       int64_t end_ns, const char *command, struct error *err)
{
    const struct cell words = {command, command ? strlen(command) : 0, TRACE_NONE};
    return run(writer, UPDATE_PROCESS, 5,
               (struct cell[]){NUMBER(process), NUMBER(parent_pid), NUMBER(start_ns), NUMBER(end_ns), words},
               err);
}

bool trace_process_rename(struct trace_writer *writer, int64_t process, const char *name, size_t length,
                          struct error *err)
{
    return run(writer, RENAME_PROCESS, 2, (struct cell[]){NUMBER(process), TEXT(name, length)}, err);
}

/* Hands over the gathered rows. */
static bool flush(struct trace_writer *writer, struct trace_rows *rows, enum insert which, struct error *err)
{
    if (writer->failed) {
        *err = writer->why;
        return false;
    }
    if (rows->count == 0)
        return true;
    sqlite3_step(writer->statements[which]);
    if (sqlite3_reset(writer->statements[which]) != SQLITE_OK)
        return trace_writer_fail(writer, err);
    writer->rows += rows->count;
    writer->pending += rows->count;
    rows->count = 0;
    return true;
}

/* Returns the place of the next row, after making room for it. */
static int64_t *next_row(struct trace_writer *writer, struct trace_rows *rows, enum insert which,
                         struct error *err)
{
    if (rows->count == TRACE_ROWS || writer->failed) {
        if (!flush(writer, rows, which, err) ||
            (writer->pending >= TRACE_BATCH && !trace_writer_commit(writer, err)))
            return NULL;
    }
    return rows->cells[rows->count++];
}

static int64_t id_or_none(int64_t id)
{
    return id ? id : TRACE_NONE;
}

bool trace_add_event(struct trace_writer *writer, const struct trace_event *event, struct error *err)
{
    int64_t *row = next_row(writer, &writer->events, INSERT_EVENT, err);
    if (!row)
        return false;
    row[0] = (int64_t)event->class;
    row[1] = event->start_ns;
    row[2] = event->latency_ns;
    row[3] = id_or_none(event->process);
    row[4] = id_or_none(event->file);
    row[5] = id_or_none(event->call);
    row[6] = event->fd;
    row[7] = event->offset;
    row[8] = event->size;
    row[9] = event->result;
    row[10] = event->cached < 0 ? TRACE_NONE : event->cached;
    return true;
}

bool trace_add_block(struct trace_writer *writer, const struct trace_block *block, struct error *err)
{
    int64_t *row = next_row(writer, &writer->blocks, INSERT_BLOCK, err);
    if (!row)
        return false;
    row[0] = (int64_t)block->op;
    row[1] = block->start_ns;
    row[2] = block->queue_ns;
    row[3] = block->service_ns;
    row[4] = id_or_none(block->disk);
    row[5] = block->sector;
    row[6] = block->bytes;
    row[7] = id_or_none(block->process);
    row[8] = id_or_none(block->file);
    row[9] = id_or_none(block->cause);
    return true;
}

bool trace_add_sample(struct trace_writer *writer, const struct trace_sample *sample, struct error *err)
{
    sqlite3_bind_double(writer->statements[INSERT_SAMPLE], 3, sample->value);
    writer->others++;
    return run(writer, INSERT_SAMPLE, 2, (struct cell[]){NUMBER(sample->series), NUMBER(sample->time_ns)},
               err);
}

bool trace_add_phase(struct trace_writer *writer, const struct trace_phase *phase, struct error *err)
{
    writer->others++;
    return run(writer, INSERT_PHASE, 4,
               (struct cell[]){TEXT(phase->name, strlen(phase->name)), NUMBER(phase->start_ns),
                               NUMBER(phase->end_ns), TEXT(phase->source, strlen(phase->source))},
               err);
}

bool trace_drop_phases(struct trace_writer *writer, const char *source, struct error *err)
{
    return run(writer, DELETE_PHASES, 1, &(struct cell)TEXT(source, strlen(source)), err);
}

bool trace_add_clock(struct trace_writer *writer, int64_t monotonic_ns, int64_t realtime_ns,
                     struct error *err)
{
    return run(writer, INSERT_CLOCK, 2, (struct cell[]){NUMBER(monotonic_ns), NUMBER(realtime_ns)}, err);
}

bool trace_add_lost(struct trace_writer *writer, const char *class, int64_t count, int64_t from_ns,
                    int64_t to_ns, struct error *err)
{
    return run(writer, INSERT_LOST, 4,
               (struct cell[]){TEXT(class, strlen(class)), NUMBER(count), NUMBER(from_ns), NUMBER(to_ns)},
               err);
}

bool trace_set_meta(struct trace_writer *writer, const char *key, const char *value, struct error *err)
{
    return run(writer, INSERT_META, 2, (struct cell[]){TEXT(key, strlen(key)), TEXT(value, strlen(value))},
               err);
}

int64_t trace_writer_rows(const struct trace_writer *writer)
{
    return writer->rows + writer->events.count + writer->blocks.count;
}

int64_t trace_writer_added(const struct trace_writer *writer)
{
    return trace_writer_rows(writer) + writer->others;
}

/* Hands over the rows that were gathered. */
static bool trace_writer_flush(struct trace_writer *writer, struct error *err)
{
    return flush(writer, &writer->events, INSERT_EVENT, err) &&
           flush(writer, &writer->blocks, INSERT_BLOCK, err);
}

static const char *file_of(const struct trace_writer *writer)
{
    return writer->output.temporary ? writer->output.temporary : writer->path;
}

/* Keep the first failure; later calls are refused. Rows since the last commit are rolled back, so that a
 * store is never half written. Both return false. */
bool trace_writer_fail(struct trace_writer *writer, struct error *err)
{
    if (!writer->failed) {
        writer->failed = true;
        int code = sqlite3_errcode(writer->db);
        int number = code == SQLITE_IOERR || code == SQLITE_CANTOPEN || code == SQLITE_CORRUPT ||
                             code == SQLITE_READONLY
                         ? store_system_error(writer->db)
                         : 0;
        const char *text = code == SQLITE_FULL || number == ENOSPC ? "no space left on the disk"
                           : number                                ? strerror(number)
                                                                   : sqlite3_errmsg(writer->db);
        error_set(&writer->why, ERROR_FAILED, "cannot write '%s': %s; %s", writer->path, text,
                  writer->output.temporary || writer->at_once ? "nothing was stored"
                                                              : "what was committed before is kept");
        sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
    }
    *err = writer->why;
    return false;
}

static bool trace_writer_fail_memory(struct trace_writer *writer)
{
    if (!writer->failed) {
        writer->failed = true;
        error_memory(&writer->why);
        sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
    }
    return false;
}

static bool run_sql(struct trace_writer *writer, const char *sql, struct error *err)
{
    return sqlite3_exec(writer->db, sql, NULL, NULL, NULL) == SQLITE_OK || trace_writer_fail(writer, err);
}

#define OPERATIONS 10000 /* of the database, between two looks at a stop */

/* One step may sort all rows for an index. */
static int interrupts(void *context)
{
    (void)context;
    return stop_wanted();
}

static bool open_database(struct trace_writer *writer, const char *journal, struct error *err)
{
    if (sqlite3_open_v2(file_of(writer), &writer->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        return writer->db ? trace_writer_fail(writer, err) : error_memory(err);
    if (!store_distrust(writer->db))
        return trace_writer_fail(writer, err);
    sqlite3_progress_handler(writer->db, OPERATIONS, interrupts, NULL);
    char sql[512];
    /* The traced machine does not wait for the disk: a power cut may cost the file, the death of a process
     * does not. */
    snprintf(sql, sizeof sql,
             "PRAGMA page_size = 16384; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
             "PRAGMA temp_store = FILE; PRAGMA cache_size = -16384; PRAGMA journal_mode = %s;",
             journal);
    return run_sql(writer, sql, err) && run_sql(writer, "BEGIN", err);
}

static bool add_schema(struct trace_writer *writer, struct error *err)
{
    char sql[128];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d", TRACE_APPLICATION_ID,
             TRACE_SCHEMA_VERSION);
    return run_sql(writer, sql, err) && run_sql(writer, trace_schema_tables, err) &&
           run_sql(writer, trace_schema_views, err);
}

bool trace_writer_commit(struct trace_writer *writer, struct error *err)
{
    if (!trace_writer_flush(writer, err))
        return false;
    writer->pending = 0;
    return writer->at_once || (run_sql(writer, "COMMIT", err) && run_sql(writer, "BEGIN", err));
}

/* Loads the dictionaries of a store that rows are added to. Its ids are 1, 2, 3, … as in memory. */
static bool load_names(struct trace_writer *writer, struct error *err)
{
    static const char *const queries[DICTIONARIES] = {
        /* a renamed process may have the name of another row: its number tells them apart */
        ("SELECT id, pid, tid, CASE WHEN row_number() OVER (PARTITION BY pid, tid, name ORDER BY id) = 1"
         " THEN name ELSE CAST(name AS BLOB) || x'00' || CAST(id AS TEXT) END FROM process ORDER BY id"),
        "SELECT id, device, inode, path FROM file ORDER BY id",
        "SELECT id, 0, 0, name FROM call ORDER BY id",
        "SELECT id, 0, 0, name FROM disk ORDER BY id",
        "SELECT id, 0, 0, CAST(kind AS BLOB) || x'00' || CAST(source AS BLOB) FROM series ORDER BY id",
    };
    for (int i = 0; i < DICTIONARIES; i++) {
        sqlite3_stmt *statement;
        int code;
        if (sqlite3_prepare_v2(writer->db, queries[i], -1, &statement, NULL) != SQLITE_OK)
            return trace_writer_fail(writer, err);
        bool in_order = true;
        while ((code = sqlite3_step(statement)) == SQLITE_ROW && in_order && !writer->failed) {
            bool added, none = sqlite3_column_type(statement, 1) == SQLITE_NULL;
            int64_t a = none ? TRACE_NONE : sqlite3_column_int64(statement, 1);
            none = sqlite3_column_type(statement, 2) == SQLITE_NULL;
            int64_t b = none ? TRACE_NONE : sqlite3_column_int64(statement, 2);
            const char *text = sqlite3_column_blob(statement, 3);
            size_t length = (size_t)sqlite3_column_bytes(statement, 3);
            int64_t id = trace_writer_intern(writer, (enum dictionary)i, a, b, text ? text : "",
                                             length < TRACE_NAME_BYTES ? length : TRACE_NAME_BYTES, &added);
            in_order = added && id == sqlite3_column_int64(statement, 0);
        }
        sqlite3_finalize(statement);
        if (!in_order && !writer->failed)
            return error_set(err, ERROR_INPUT, "'%s' was changed by another program: cannot add to it",
                             writer->path);
        if (writer->failed || code != SQLITE_DONE)
            return trace_writer_fail(writer, err);
    }
    return true;
}

static bool open_added_to(struct trace_writer *writer, struct error *err)
{
    struct trace_reader *reader = trace_reader_new(writer->path, err);
    trace_reader_free(reader);
    return reader && open_database(writer, "DELETE", err) && trace_writer_prepare(writer, err) &&
           load_names(writer, err) && run_sql(writer, trace_note_rows, err);
}

/* A temporary file needs no journal that outlives the process. */
static bool open_new(struct trace_writer *writer, bool replace, struct error *err)
{
    if (!file_output_beside(&writer->output, writer->path, "a trace is a database", err) ||
        !store_may_take(writer->path, writer->output.target, replace, err))
        return false;
    writer->output.fresh = !replace && access(writer->output.target, F_OK) != 0;
    writer->output.unsynced = !writer->whole;
    return open_database(writer, "MEMORY", err) && add_schema(writer, err) &&
           trace_writer_prepare(writer, err) &&
           trace_set_meta(writer, TRACE_STATE, TRACE_STATE_WRITING, err) && trace_writer_commit(writer, err);
}

static bool open_writer(struct trace_writer *writer, const char *path, enum trace_mode mode,
                        struct error *err)
{
    int way = (int)mode & ~TRACE_STORE_REPLACE;
    writer->path = strdup(path);
    if (!writer->path)
        return error_memory(err);
    writer->at_once = way == TRACE_STORE_APPEND;
    writer->whole = way == TRACE_STORE_WHOLE;
    return writer->at_once ? open_added_to(writer, err)
                           : open_new(writer, (int)mode & TRACE_STORE_REPLACE, err);
}

struct trace_writer *trace_writer_new(const char *path, enum trace_mode mode, struct error *err)
{
    struct trace_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return error_memory_null(err);
    if (open_writer(writer, path, mode, err))
        return writer;
    trace_writer_drop(writer);
    return NULL;
}

static bool close_database(struct trace_writer *writer)
{
    for (int i = 0; i < INSERTS; i++) {
        sqlite3_finalize(writer->statements[i]);
        writer->statements[i] = NULL;
    }
    bool closed = sqlite3_close(writer->db) == SQLITE_OK;
    writer->db = NULL;
    return closed;
}

/* Without it an empty journal would stay beside the trace. */
static const char finish_journal[] = "PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = DELETE";

static bool finish(struct trace_writer *writer, struct error *err)
{
    bool whole = !writer->at_once && !writer->cut; /* a store that is added to keeps its state */
    if ((whole && !trace_set_meta(writer, TRACE_STATE, TRACE_STATE_WHOLE, err)) ||
        !trace_writer_commit(writer, err))
        return false;
    /* Sorted pieces are as large as the cache: with a larger one, fewer pieces must be merged. */
    if (!run_sql(writer, "PRAGMA cache_size = -65536", err) || !run_sql(writer, trace_schema_indexes, err) ||
        !run_sql(writer, "COMMIT", err))
        return false;
    if (!run_sql(writer, finish_journal, err))
        return false;
    if (!close_database(writer))
        return error_set(err, ERROR_FAILED, "cannot write '%s'", writer->path);
    return file_output_close(&writer->output, true, err);
}

bool trace_writer_give(struct trace_writer *writer, uid_t user, gid_t group, struct error *err)
{
    const struct file_output *output = &writer->output;
    if (!output->temporary || access(output->target, F_OK) == 0 ||
        lchown(output->temporary, user, group) == 0)
        return true;
    return error_set(err, ERROR_FAILED, "cannot write '%s': %s", writer->path, strerror(errno));
}

/* Reopens the database under its own name, so that its journal lies beside it. */
static bool give_name(struct trace_writer *writer, struct error *err)
{
    if (!close_database(writer))
        return error_set(err, ERROR_FAILED, "cannot write '%s'", writer->path);
    return file_output_close(&writer->output, true, err) && open_database(writer, "TRUNCATE", err) &&
           trace_writer_prepare(writer, err);
}

bool trace_writer_publish(struct trace_writer *writer, struct error *err)
{
    if (writer->whole || writer->at_once || !writer->output.temporary)
        return true;
    if (!trace_writer_commit(writer, err) || !run_sql(writer, "COMMIT", err))
        return false;
    if (give_name(writer, err))
        return true;
    writer->failed = true;
    writer->why = *err;
    return false;
}

void trace_writer_cut(struct trace_writer *writer)
{
    writer->cut = true;
}

void trace_writer_drop(struct trace_writer *writer)
{
    if (!writer)
        return;
    if (writer->db) /* where that fails, the journal is needed */
        sqlite3_exec(writer->db, finish_journal, NULL, NULL, NULL);
    close_database(writer);
    struct error unused;
    file_output_close(&writer->output, false, &unused);
    for (int i = 0; i < DICTIONARIES; i++)
        hash_names_release(&writer->names[i]);
    free(writer->path);
    free(writer);
}

bool trace_writer_close(struct trace_writer *writer, struct error *err)
{
    bool done = !writer || finish(writer, err);
    trace_writer_drop(writer);
    return done;
}
