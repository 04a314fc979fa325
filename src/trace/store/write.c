#include "trace/store/open.h"

#include "core/stop.h"
#include "trace/store/schema.h"
#include "trace/store/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *file_of(const struct trace_writer *writer)
{
    return writer->output.temporary ? writer->output.temporary : writer->path;
}

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
           load_names(writer, err);
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
