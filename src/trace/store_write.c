#include "trace/store.h"
#include "trace/store_names.h"
#include "trace/store_open.h"
#include "trace/store_rows.h"
#include "trace/store_schema.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

struct trace_writer {
    sqlite3 *db;
    sqlite3_stmt *statements[INSERTS];
    struct trace_names names[DICTIONARIES];
    struct trace_rows events, blocks; /* not yet handed to SQLite */
    char *path, *temporary;           /* temporary: TRACE_STORE_WHOLE, else NULL */
    int64_t rows, pending; /* of events and blocks; of everything since the last commit; those handed over */
    int64_t others;        /* samples and phases */
    bool at_once;          /* TRACE_STORE_APPEND: one transaction */
    bool cut;              /* the trace ends before what it tells of */
    bool failed;
    struct error why;
};

static const char *file_of(const struct trace_writer *writer)
{
    return writer->temporary ? writer->temporary : writer->path;
}

/* The first failure is kept; what comes after it is only refused. What was added since the last commit is taken back,
 * so that a store is never left half written. */
static bool fail(struct trace_writer *writer, struct error *err)
{
    if (!writer->failed) {
        writer->failed = true;
        int code = sqlite3_errcode(writer->db);
        bool full = code == SQLITE_FULL || (code == SQLITE_IOERR && errno == ENOSPC);
        const char *text = full ? "no space left on the disk" : sqlite3_errmsg(writer->db);
        error_set(&writer->why, ERROR_FAILED, "cannot write '%s': %s; %s", writer->path, text,
                  writer->temporary || writer->at_once ? "nothing was stored"
                                                       : "what was committed before is kept");
        sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
    }
    *err = writer->why;
    return false;
}

static bool fail_memory(struct trace_writer *writer)
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
    return sqlite3_exec(writer->db, sql, NULL, NULL, NULL) == SQLITE_OK || fail(writer, err);
}

/* Nothing is in the way, or an older trace, which is taken away (and the journal of a run that was killed, which would
 * be played into the new one). */
static bool make_way(const char *path, struct error *err)
{
    struct stat state;
    if (stat(path, &state) == 0 && (!S_ISREG(state.st_mode) || state.st_size > 0)) {
        struct trace_reader *reader = S_ISREG(state.st_mode) ? trace_reader_new(path, err) : NULL;
        trace_reader_free(reader);
        if (!reader)
            return error_set(err, ERROR_FAILED, "'%s' is there already and is no trace; not overwritten",
                             path);
    }
    char journal[4096];
    if (snprintf(journal, sizeof journal, "%s-journal", path) >= (int)sizeof journal)
        return error_set(err, ERROR_USAGE, "'%s': the name is too long", path);
    unlink(journal);
    return true;
}

static bool prepare(struct trace_writer *writer, struct error *err)
{
    if (!trace_rows_attach(writer->db, "new_events", &writer->events) ||
        !trace_rows_attach(writer->db, "new_blocks", &writer->blocks))
        return fail(writer, err);
    for (int i = 0; i < INSERTS; i++)
        if (sqlite3_prepare_v3(writer->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &writer->statements[i], NULL) != SQLITE_OK)
            return fail(writer, err);
    return true;
}

static void kind_of_path(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    const char *path = sqlite3_value_blob(values[0]);
    size_t length = (size_t)sqlite3_value_bytes(values[0]);
    sqlite3_result_int(context, (int)trace_kind_of_path(path ? path : "", path ? length : 0));
}

/* An older store that is added to gets what it lacks. */
static bool bring_up(struct trace_writer *writer, int version, struct error *err)
{
    char sql[64];
    if (version >= TRACE_SCHEMA_VERSION)
        return true;
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d", TRACE_SCHEMA_VERSION);
    if (sqlite3_create_function(writer->db, "kind_of_path", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                kind_of_path, NULL, NULL) != SQLITE_OK)
        return fail(writer, err);
    return run_sql(writer, trace_schema_from_1, err) && run_sql(writer, trace_schema_views, err) &&
           run_sql(writer, sql, err);
}

static bool set_up(struct trace_writer *writer, enum trace_mode mode, int version, struct error *err)
{
    const char *file = file_of(writer);
    if (mode != TRACE_STORE_APPEND && unlink(file) < 0 && errno != ENOENT)
        return error_set(err, ERROR_FAILED, "cannot write '%s': %s", file, strerror(errno));
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (mode == TRACE_STORE_APPEND ? 0 : SQLITE_OPEN_CREATE);
    if (sqlite3_open_v2(file, &writer->db, flags, NULL) != SQLITE_OK)
        return error_set(err, ERROR_FAILED, "cannot write '%s': %s", writer->path,
                         writer->db ? sqlite3_errmsg(writer->db) : "out of memory");
    if (!store_distrust(writer->db))
        return fail(writer, err);
    char sql[512];
    /* The machine being traced is not made to wait for the disk: a power cut may cost the file, the death of a
     * process does not. A temporary file needs no journal that outlives the process. */
    snprintf(sql, sizeof sql,
             "PRAGMA page_size = 16384; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
             "PRAGMA temp_store = FILE; PRAGMA cache_size = -16384; PRAGMA journal_mode = %s;",
             mode == TRACE_STORE_WHOLE  ? "MEMORY"
             : mode == TRACE_STORE_KEEP ? "TRUNCATE"
                                        : "DELETE");
    if (!run_sql(writer, sql, err))
        return false;
    if (mode == TRACE_STORE_APPEND)
        return run_sql(writer, "BEGIN", err) && bring_up(writer, version, err) && prepare(writer, err);
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d; BEGIN",
             TRACE_APPLICATION_ID, TRACE_SCHEMA_VERSION);
    return run_sql(writer, sql, err) && run_sql(writer, trace_schema_tables, err) &&
           run_sql(writer, trace_schema_views, err) && prepare(writer, err) &&
           trace_set_meta(writer, TRACE_STATE, TRACE_STATE_WRITING, err);
}

static void bind_number(sqlite3_stmt *statement, int at, int64_t value, int64_t none)
{
    if (value == none)
        sqlite3_bind_null(statement, at);
    else
        sqlite3_bind_int64(statement, at, value);
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text, size_t length)
{
    sqlite3_bind_text64(statement, at, text, length, SQLITE_STATIC, SQLITE_UTF8);
}

/* Runs a statement whose values are bound. */
static bool step(struct trace_writer *writer, sqlite3_stmt *statement, struct error *err)
{
    sqlite3_step(statement);
    if (sqlite3_reset(statement) != SQLITE_OK)
        return fail(writer, err);
    return ++writer->pending < TRACE_BATCH || trace_writer_commit(writer, err);
}

/* Begins a statement, or refuses because the writer has failed before. */
static sqlite3_stmt *begin(struct trace_writer *writer, enum insert which, struct error *err)
{
    if (!writer->failed)
        return writer->statements[which];
    *err = writer->why;
    return NULL;
}

/* A name as the dictionary's key: up to two numbers before the text. */
#define NAME_BYTES 4096
struct key {
    int64_t numbers[2];
    char text[NAME_BYTES];
};

static int64_t intern(struct trace_writer *writer, enum dictionary which, int64_t a, int64_t b,
                      const char *text, size_t length, bool *added)
{
    struct key key;
    key.numbers[0] = a;
    key.numbers[1] = b;
    memcpy(key.text, text, length);
    int64_t id = trace_names_id(&writer->names[which], &key, sizeof key.numbers + length, added);
    if (id == 0)
        fail_memory(writer);
    return id;
}

/* Gives the id of a name, and writes the row (id, numbers…, text, kind) of a new one; kind -1: the table has none. */
static int64_t name_id(struct trace_writer *writer, enum dictionary which, int64_t a, int64_t b, int numbers,
                       const char *text, size_t length, int kind)
{
    bool added;
    struct error err;
    length = length < NAME_BYTES ? length : NAME_BYTES;
    if (writer->failed)
        return 0;
    int64_t id = intern(writer, which, a, b, text, length, &added);
    if (id == 0 || !added)
        return id;
    sqlite3_stmt *statement =
        writer->statements[which]; /* INSERT_PROCESS … are in the order of dictionaries */
    sqlite3_bind_int64(statement, 1, id);
    if (numbers > 0) {
        bind_number(statement, 2, a, TRACE_NONE);
        bind_number(statement, 3, b, TRACE_NONE);
    }
    bind_text(statement, 2 + numbers, text, length);
    if (kind >= 0)
        sqlite3_bind_int(statement, 3 + numbers, kind);
    return step(writer, statement, &err) ? id : 0;
}

int64_t trace_process(struct trace_writer *writer, int64_t pid, int64_t tid, const char *name, size_t length)
{
    return name_id(writer, PROCESSES, pid, tid, 2, name, length, -1);
}

int64_t trace_file(struct trace_writer *writer, int64_t device, int64_t inode, const char *path,
                   size_t length)
{
    return trace_file_of_kind(writer, device, inode, trace_kind_of_path(path, length), path, length);
}

int64_t trace_file_of_kind(struct trace_writer *writer, int64_t device, int64_t inode, enum trace_kind kind,
                           const char *path, size_t length)
{
    return name_id(writer, FILES, device, inode, 2, path, length, (int)kind);
}

int64_t trace_call(struct trace_writer *writer, const char *name, size_t length)
{
    return name_id(writer, CALLS, 0, 0, 0, name, length, -1);
}

int64_t trace_disk(struct trace_writer *writer, const char *name, size_t length)
{
    return name_id(writer, DISKS, 0, 0, 0, name, length, -1);
}

int64_t trace_series(struct trace_writer *writer, const char *kind, const char *source)
{
    char both[512]; /* "kind\0source" is the key */
    bool added;
    struct error err;
    int length = snprintf(both, sizeof both, "%.255s%c%.255s", kind, 0, source);
    if (writer->failed || length < 0)
        return 0;
    int64_t id = intern(writer, SERIES, 0, 0, both, (size_t)length, &added);
    if (id == 0 || !added)
        return id;
    sqlite3_stmt *statement = writer->statements[INSERT_SERIES];
    sqlite3_bind_int64(statement, 1, id);
    bind_text(statement, 2, both, strlen(both));
    bind_text(statement, 3, both + strlen(both) + 1, (size_t)length - strlen(both) - 1);
    return step(writer, statement, &err) ? id : 0;
}

bool trace_process_set(struct trace_writer *writer, int64_t process, int64_t parent_pid, int64_t start_ns,
                       int64_t end_ns, const char *command, struct error *err)
{
    sqlite3_stmt *statement = begin(writer, UPDATE_PROCESS, err);
    if (!statement)
        return false;
    sqlite3_bind_int64(statement, 1, process);
    bind_number(statement, 2, parent_pid, TRACE_NONE);
    bind_number(statement, 3, start_ns, TRACE_NONE);
    bind_number(statement, 4, end_ns, TRACE_NONE);
    if (command)
        bind_text(statement, 5, command, strlen(command));
    else
        sqlite3_bind_null(statement, 5);
    return step(writer, statement, err);
}

bool trace_process_rename(struct trace_writer *writer, int64_t process, const char *name, size_t length,
                          struct error *err)
{
    sqlite3_stmt *statement = begin(writer, RENAME_PROCESS, err);
    if (!statement)
        return false;
    sqlite3_bind_int64(statement, 1, process);
    bind_text(statement, 2, name, length);
    return step(writer, statement, err);
}

/* Hands over what was gathered. */
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
        return fail(writer, err);
    writer->rows += rows->count;
    writer->pending += rows->count;
    rows->count = 0;
    return true;
}

/* The place of the next row, after room was made for it. */
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
    sqlite3_stmt *statement = begin(writer, INSERT_SAMPLE, err);
    if (!statement)
        return false;
    sqlite3_bind_int64(statement, 1, sample->series);
    sqlite3_bind_int64(statement, 2, sample->time_ns);
    sqlite3_bind_double(statement, 3, sample->value);
    writer->others++;
    return step(writer, statement, err);
}

bool trace_add_phase(struct trace_writer *writer, const struct trace_phase *phase, struct error *err)
{
    sqlite3_stmt *statement = begin(writer, INSERT_PHASE, err);
    if (!statement)
        return false;
    bind_text(statement, 1, phase->name, strlen(phase->name));
    sqlite3_bind_int64(statement, 2, phase->start_ns);
    sqlite3_bind_int64(statement, 3, phase->end_ns);
    bind_text(statement, 4, phase->source, strlen(phase->source));
    writer->others++;
    return step(writer, statement, err);
}

bool trace_drop_phases(struct trace_writer *writer, const char *source, struct error *err)
{
    sqlite3_stmt *statement = begin(writer, DELETE_PHASES, err);
    if (!statement)
        return false;
    bind_text(statement, 1, source, strlen(source));
    return step(writer, statement, err);
}

bool trace_add_clock(struct trace_writer *writer, int64_t monotonic_ns, int64_t realtime_ns,
                     struct error *err)
{
    sqlite3_stmt *statement = begin(writer, INSERT_CLOCK, err);
    if (!statement)
        return false;
    sqlite3_bind_int64(statement, 1, monotonic_ns);
    sqlite3_bind_int64(statement, 2, realtime_ns);
    return step(writer, statement, err);
}

bool trace_add_lost(struct trace_writer *writer, const char *class, int64_t count, int64_t from_ns,
                    int64_t to_ns, struct error *err)
{
    sqlite3_stmt *statement = begin(writer, INSERT_LOST, err);
    if (!statement)
        return false;
    bind_text(statement, 1, class, strlen(class));
    sqlite3_bind_int64(statement, 2, count);
    bind_number(statement, 3, from_ns, TRACE_NONE);
    bind_number(statement, 4, to_ns, TRACE_NONE);
    return step(writer, statement, err);
}

bool trace_set_meta(struct trace_writer *writer, const char *key, const char *value, struct error *err)
{
    sqlite3_stmt *statement = begin(writer, INSERT_META, err);
    if (!statement)
        return false;
    bind_text(statement, 1, key, strlen(key));
    bind_text(statement, 2, value, strlen(value));
    return step(writer, statement, err);
}

int64_t trace_writer_rows(const struct trace_writer *writer)
{
    return writer->rows + writer->events.count + writer->blocks.count;
}

int64_t trace_writer_added(const struct trace_writer *writer)
{
    return trace_writer_rows(writer) + writer->others;
}

bool trace_writer_commit(struct trace_writer *writer, struct error *err)
{
    if (!flush(writer, &writer->events, INSERT_EVENT, err) ||
        !flush(writer, &writer->blocks, INSERT_BLOCK, err))
        return false;
    writer->pending = 0;
    return writer->at_once || (run_sql(writer, "COMMIT", err) && run_sql(writer, "BEGIN", err));
}

/* The dictionaries of a store that is written on. Ids there are 1, 2, 3, … as they are here. */
static bool load_names(struct trace_writer *writer, struct error *err)
{
    static const char *const queries[DICTIONARIES] = {
        /* a process that was renamed may be called as another row is: its number tells them apart */
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
            return fail(writer, err);
        bool in_order = true;
        while ((code = sqlite3_step(statement)) == SQLITE_ROW && in_order && !writer->failed) {
            bool added, none = sqlite3_column_type(statement, 1) == SQLITE_NULL;
            int64_t a = none ? TRACE_NONE : sqlite3_column_int64(statement, 1);
            none = sqlite3_column_type(statement, 2) == SQLITE_NULL;
            int64_t b = none ? TRACE_NONE : sqlite3_column_int64(statement, 2);
            const char *text = sqlite3_column_blob(statement, 3);
            size_t length = (size_t)sqlite3_column_bytes(statement, 3);
            int64_t id = intern(writer, (enum dictionary)i, a, b, text ? text : "",
                                length < NAME_BYTES ? length : NAME_BYTES, &added);
            in_order = added && id == sqlite3_column_int64(statement, 0);
        }
        sqlite3_finalize(statement);
        if (!in_order && !writer->failed)
            return error_set(err, ERROR_INPUT, "'%s' was changed by another program: cannot add to it",
                             writer->path);
        if (writer->failed || code != SQLITE_DONE)
            return fail(writer, err);
    }
    return true;
}

static bool open_writer(struct trace_writer *writer, const char *path, enum trace_mode mode,
                        struct error *err)
{
    writer->path = strdup(path);
    if (!writer->path ||
        (mode == TRACE_STORE_WHOLE && asprintf(&writer->temporary, "%s.%ld.tmp", path, (long)getpid()) < 0))
        return error_memory(err);
    writer->at_once = mode == TRACE_STORE_APPEND;
    if (writer->at_once) {
        struct trace_reader *reader = trace_reader_new(path, err);
        int version = reader ? trace_version(reader) : 0;
        trace_reader_free(reader);
        return reader && set_up(writer, mode, version, err) && load_names(writer, err);
    }
    return make_way(path, err) && set_up(writer, mode, TRACE_SCHEMA_VERSION, err) &&
           trace_writer_commit(writer, err);
}

struct trace_writer *trace_writer_new(const char *path, enum trace_mode mode, struct error *err)
{
    struct trace_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        error_memory(err);
        return NULL;
    }
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

static bool finish(struct trace_writer *writer, struct error *err)
{
    bool whole = !writer->at_once && !writer->cut; /* what is added to stays as it was */
    if ((whole && !trace_set_meta(writer, TRACE_STATE, TRACE_STATE_WHOLE, err)) ||
        !trace_writer_commit(writer, err))
        return false;
    /* Sorting goes by pieces as large as the cache: of many rows, fewer pieces to be merged. */
    if (!run_sql(writer, "PRAGMA cache_size = -65536", err) || !run_sql(writer, trace_schema_indexes, err) ||
        !run_sql(writer, "COMMIT", err))
        return false;
    /* An empty journal would lie beside the trace for good. */
    if (!run_sql(writer, "PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = DELETE", err))
        return false;
    if (!close_database(writer))
        return error_set(err, ERROR_FAILED, "cannot write '%s'", writer->path);
    if (writer->temporary && rename(writer->temporary, writer->path) < 0)
        return error_set(err, ERROR_FAILED, "cannot write '%s': %s", writer->path, strerror(errno));
    free(writer->temporary); /* no longer there, so not to be taken away */
    writer->temporary = NULL;
    return true;
}

void trace_writer_cut(struct trace_writer *writer)
{
    writer->cut = true;
}

void trace_writer_drop(struct trace_writer *writer)
{
    if (!writer)
        return;
    close_database(writer);
    if (writer->temporary)
        unlink(writer->temporary);
    for (int i = 0; i < DICTIONARIES; i++)
        trace_names_release(&writer->names[i]);
    free(writer->temporary);
    free(writer->path);
    free(writer);
}

bool trace_writer_close(struct trace_writer *writer, struct error *err)
{
    bool done = !writer || finish(writer, err);
    trace_writer_drop(writer);
    return done;
}
