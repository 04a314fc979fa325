#include "trace/store_open.h"
#include "trace/store_schema.h"
#include "trace/store_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *file_of(const struct trace_writer *writer)
{
    return writer->temporary ? writer->temporary : writer->path;
}

bool trace_writer_fail(struct trace_writer *writer, struct error *err)
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

bool trace_writer_fail_memory(struct trace_writer *writer)
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
        return trace_writer_fail(writer, err);
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
        return trace_writer_fail(writer, err);
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
        return run_sql(writer, "BEGIN", err) && bring_up(writer, version, err) &&
               trace_writer_prepare(writer, err);
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d; BEGIN",
             TRACE_APPLICATION_ID, TRACE_SCHEMA_VERSION);
    return run_sql(writer, sql, err) && run_sql(writer, trace_schema_tables, err) &&
           run_sql(writer, trace_schema_views, err) && trace_writer_prepare(writer, err) &&
           trace_set_meta(writer, TRACE_STATE, TRACE_STATE_WRITING, err);
}

bool trace_writer_commit(struct trace_writer *writer, struct error *err)
{
    if (!trace_writer_flush(writer, err))
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
