#include "core/arena.h"
#include "trace/store.h"
#include "trace/store_schema.h"

#include <errno.h>
#include <fnmatch.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct trace_meta {
    const char *key, *value;
};

/* Rows 1..count of a dictionary; row 0 is what is said of ids that are not there. */
struct table {
    void *rows;
    int64_t count;
};

struct trace_reader {
    sqlite3 *db;
    struct arena arena;
    char *path;
    struct table processes, files, series, calls, disks, phases, meta, losses;
    int64_t lost;
    int version;
    unsigned char *selected; /* by id of a file, 0: none; NULL: everything */
};

/* Bits of `selected`. */
enum { SELECT_EVENTS = 1, SELECT_BLOCKS = 2 };

struct trace_cursor {
    sqlite3_stmt *statement;
    struct trace_reader *reader;
    int code;
};

static bool fail(const struct trace_reader *reader, struct error *err)
{
    int code = sqlite3_errcode(reader->db);
    if (code == SQLITE_NOTADB)
        return error_set(err, ERROR_INPUT, "'%s' is not a database", reader->path);
    if (code == SQLITE_CORRUPT || code == SQLITE_ERROR)
        return error_set(err, ERROR_INPUT, "'%s' is damaged: %s", reader->path, sqlite3_errmsg(reader->db));
    return error_set(err, ERROR_FAILED, "cannot read '%s': %s", reader->path, sqlite3_errmsg(reader->db));
}

static bool one_number(struct trace_reader *reader, const char *sql, int64_t *value, struct error *err)
{
    sqlite3_stmt *statement;
    *value = 0;
    if (sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return fail(reader, err);
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE || fail(reader, err);
}

static int64_t number(sqlite3_stmt *statement, int column, int64_t none)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL ? none
                                                                 : sqlite3_column_int64(statement, column);
}

/* As UTF-8, whatever the kernel called it: nobody who writes a name has to ask. NULL when there is no memory. */
static const char *text(struct trace_reader *reader, sqlite3_stmt *statement, int column)
{
    struct text room = {0};
    const char *value = (const char *)sqlite3_column_text(statement, column), *kept;
    if (!value)
        return "";
    value = text_utf8(value, &room);
    kept = room.failed ? NULL : arena_string(&reader->arena, value);
    text_release(&room);
    return kept;
}

typedef bool read_row(struct trace_reader *reader, sqlite3_stmt *statement, void *row);

static bool read_process(struct trace_reader *reader, sqlite3_stmt *statement, void *row)
{
    struct trace_process_info *process = row;
    process->pid = number(statement, 1, TRACE_NONE);
    process->tid = number(statement, 2, TRACE_NONE);
    process->parent_pid = number(statement, 3, TRACE_NONE);
    process->start_ns = number(statement, 4, TRACE_NONE);
    process->end_ns = number(statement, 5, TRACE_NONE);
    process->name = text(reader, statement, 6);
    process->command = text(reader, statement, 7);
    return process->name && process->command;
}

static bool read_file(struct trace_reader *reader, sqlite3_stmt *statement, void *row)
{
    struct trace_file_info *file = row;
    file->device = number(statement, 1, TRACE_NONE);
    file->inode = number(statement, 2, TRACE_NONE);
    file->path = text(reader, statement, 3);
    int64_t kind = number(statement, 4, -1);
    if (file->path)
        file->kind = kind >= 0 && kind < TRACE_KINDS ? (enum trace_kind)kind
                                                     : trace_kind_of_path(file->path, strlen(file->path));
    return file->path != NULL;
}

static bool read_series(struct trace_reader *reader, sqlite3_stmt *statement, void *row)
{
    struct trace_series_info *series = row;
    series->kind = text(reader, statement, 1);
    series->source = text(reader, statement, 2);
    return series->kind && series->source;
}

static bool read_name(struct trace_reader *reader, sqlite3_stmt *statement, void *row)
{
    return (*(const char **)row = text(reader, statement, 1)) != NULL;
}

static bool read_phase(struct trace_reader *reader, sqlite3_stmt *statement, void *row)
{
    struct trace_phase *phase = row;
    phase->name = text(reader, statement, 1);
    phase->start_ns = number(statement, 2, 0);
    phase->end_ns = number(statement, 3, 0);
    phase->source = text(reader, statement, 4);
    return phase->name && phase->source;
}

static bool read_meta(struct trace_reader *reader, sqlite3_stmt *statement, void *row)
{
    struct trace_meta *meta = row;
    meta->key = text(reader, statement, 1);
    meta->value = text(reader, statement, 2);
    return meta->key && meta->value;
}

static bool read_loss(struct trace_reader *reader, sqlite3_stmt *statement, void *row)
{
    struct trace_loss *loss = row;
    loss->class = text(reader, statement, 1);
    loss->count = number(statement, 2, 0);
    loss->from_ns = number(statement, 3, TRACE_NONE);
    loss->to_ns = number(statement, 4, TRACE_NONE);
    return loss->class != NULL;
}

static const struct trace_process_info no_process = {.pid = TRACE_NONE,
                                                     .tid = TRACE_NONE,
                                                     .parent_pid = TRACE_NONE,
                                                     .start_ns = TRACE_NONE,
                                                     .end_ns = TRACE_NONE,
                                                     .name = "",
                                                     .command = ""};
static const struct trace_file_info no_file = {TRACE_NONE, TRACE_NONE, "", TRACE_KIND_FILE};
static const struct trace_series_info no_series = {"", ""};
static const char *const no_name = "";

/* `sql` gives the place of each row (from 1) in its first column. */
static bool load_table(struct trace_reader *reader, struct table *table, const char *count, const char *sql,
                       size_t size, const void *none, read_row *read, struct error *err)
{
    sqlite3_stmt *statement;
    int code = SQLITE_DONE;
    if (!one_number(reader, count, &table->count, err))
        return false;
    if (table->count < 0 || table->count > UINT32_MAX)
        return error_set(err, ERROR_INPUT, "'%s' is damaged: an id of %lld", reader->path,
                         (long long)table->count);
    table->rows = arena_alloc(&reader->arena, (size_t)table->count + 1, size);
    if (!table->rows)
        return error_memory(err);
    for (int64_t i = 0; none && i <= table->count; i++)
        memcpy((char *)table->rows + (size_t)i * size, none, size);
    if (sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return fail(reader, err);
    bool memory = true;
    while (memory && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t at = sqlite3_column_int64(statement, 0);
        if (at > 0 && at <= table->count)
            memory = read(reader, statement, (char *)table->rows + (size_t)at * size);
    }
    sqlite3_finalize(statement);
    return memory ? code == SQLITE_DONE || fail(reader, err) : error_memory(err);
}

static bool load_tables(struct trace_reader *reader, struct error *err)
{
    bool kinds = reader->version >= 2;
    return load_table(reader, &reader->processes, "SELECT ifnull(max(id), 0) FROM process",
                      "SELECT id, pid, tid, parent_pid, start_ns, end_ns, name, command FROM process",
                      sizeof no_process, &no_process, read_process, err) &&
           load_table(reader, &reader->files, "SELECT ifnull(max(id), 0) FROM file",
                      kinds ? "SELECT id, device, inode, path, kind FROM file"
                            : "SELECT id, device, inode, path, NULL FROM file",
                      sizeof no_file, &no_file, read_file, err) &&
           load_table(reader, &reader->series, "SELECT ifnull(max(id), 0) FROM series",
                      "SELECT * FROM series", sizeof no_series, &no_series, read_series, err) &&
           load_table(reader, &reader->calls, "SELECT ifnull(max(id), 0) FROM call", "SELECT * FROM call",
                      sizeof no_name, &no_name, read_name, err) &&
           load_table(reader, &reader->disks, "SELECT ifnull(max(id), 0) FROM disk", "SELECT * FROM disk",
                      sizeof no_name, &no_name, read_name, err) &&
           load_table(reader, &reader->phases, "SELECT count(*) FROM phase",
                      "SELECT row_number() OVER (ORDER BY start_ns, rowid), * FROM phase",
                      sizeof(struct trace_phase), NULL, read_phase, err) &&
           load_table(reader, &reader->meta, "SELECT count(*) FROM meta",
                      "SELECT row_number() OVER (ORDER BY key), * FROM meta", sizeof(struct trace_meta), NULL,
                      read_meta, err) &&
           load_table(
               reader, &reader->losses, "SELECT count(*) FROM lost",
               kinds ? "SELECT row_number() OVER (ORDER BY class), class, count, from_ns, to_ns FROM lost"
                     : "SELECT row_number() OVER (ORDER BY class), class, count, NULL, NULL FROM lost",
               sizeof(struct trace_loss), NULL, read_loss, err) &&
           one_number(reader, "SELECT ifnull(sum(count), 0) FROM lost", &reader->lost, err);
}

static bool check_version(struct trace_reader *reader, struct error *err)
{
    int64_t application, version;
    if (!one_number(reader, "PRAGMA application_id", &application, err) ||
        !one_number(reader, "PRAGMA user_version", &version, err))
        return false;
    if (application != TRACE_APPLICATION_ID)
        return error_set(err, ERROR_INPUT, "'%s' is a database, but no trace", reader->path);
    if (version > TRACE_SCHEMA_VERSION)
        return error_set(
            err, ERROR_INPUT,
            "'%s' has schema version %lld, this program knows versions up to %d: use a newer program",
            reader->path, (long long)version, TRACE_SCHEMA_VERSION);
    if (version < 1)
        return error_set(err, ERROR_INPUT, "'%s' is damaged: schema version %lld", reader->path,
                         (long long)version);
    reader->version = (int)version;
    return true;
}

static bool open_reader(struct trace_reader *reader, const char *path, struct error *err)
{
    reader->path = strdup(path);
    if (!reader->path)
        return error_memory(err);
    if (access(path, R_OK) < 0)
        return error_set(err, ERROR_INPUT, "cannot read '%s': %s", path, strerror(errno));
    /* Not read-only: the journal of a writer that was killed has to be played back first. */
    if (sqlite3_open_v2(path, &reader->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return error_set(err, ERROR_INPUT, "cannot read '%s': %s", path,
                         reader->db ? sqlite3_errmsg(reader->db) : "out of memory");
    return check_version(reader, err) && load_tables(reader, err);
}

struct trace_reader *trace_reader_new(const char *path, struct error *err)
{
    struct trace_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        error_memory(err);
        return NULL;
    }
    if (open_reader(reader, path, err))
        return reader;
    trace_reader_free(reader);
    return NULL;
}

struct trace_reader *trace_reader_of(const char *path, const struct trace_selection *selection,
                                     struct error *err)
{
    struct trace_reader *reader = trace_reader_new(path, err);
    if (!reader || trace_select(reader, selection, err))
        return reader;
    trace_reader_free(reader);
    return NULL;
}

void trace_reader_free(struct trace_reader *reader)
{
    if (!reader)
        return;
    sqlite3_close(reader->db);
    arena_release(&reader->arena);
    free(reader->selected);
    free(reader->path);
    free(reader);
}

static int64_t place(const struct table *table, int64_t id)
{
    return id > 0 && id <= table->count ? id : 0;
}

const struct trace_process_info *trace_process_info(const struct trace_reader *reader, int64_t id)
{
    return (struct trace_process_info *)reader->processes.rows + place(&reader->processes, id);
}

const struct trace_file_info *trace_file_info(const struct trace_reader *reader, int64_t id)
{
    return (struct trace_file_info *)reader->files.rows + place(&reader->files, id);
}

const struct trace_series_info *trace_series_info(const struct trace_reader *reader, int64_t id)
{
    return (struct trace_series_info *)reader->series.rows + place(&reader->series, id);
}

const char *trace_call_name(const struct trace_reader *reader, int64_t id)
{
    return ((const char **)reader->calls.rows)[place(&reader->calls, id)];
}

const char *trace_disk_name(const struct trace_reader *reader, int64_t id)
{
    return ((const char **)reader->disks.rows)[place(&reader->disks, id)];
}

int64_t trace_process_count(const struct trace_reader *reader)
{
    return reader->processes.count;
}

int64_t trace_file_count(const struct trace_reader *reader)
{
    return reader->files.count;
}

int64_t trace_series_count(const struct trace_reader *reader)
{
    return reader->series.count;
}

int64_t trace_disk_count(const struct trace_reader *reader)
{
    return reader->disks.count;
}

const char *trace_meta(const struct trace_reader *reader, const char *key)
{
    const struct trace_meta *rows = reader->meta.rows;
    for (int64_t i = 1; i <= reader->meta.count; i++)
        if (strcmp(rows[i].key, key) == 0)
            return rows[i].value;
    return NULL;
}

int trace_version(const struct trace_reader *reader)
{
    return reader->version;
}

bool trace_unfinished(const struct trace_reader *reader)
{
    const char *state = trace_meta(reader, TRACE_STATE);
    return state && strcmp(state, TRACE_STATE_WHOLE) != 0;
}

const struct trace_phase *trace_phases(const struct trace_reader *reader, int *count)
{
    *count = (int)reader->phases.count;
    return (struct trace_phase *)reader->phases.rows + 1;
}

int64_t trace_lost(const struct trace_reader *reader)
{
    return reader->lost;
}

const struct trace_loss *trace_losses(const struct trace_reader *reader, int *count)
{
    *count = (int)reader->losses.count;
    return (struct trace_loss *)reader->losses.rows + 1;
}

#define SPAN_OF_CALLS                                                                                        \
    "SELECT min(a), max(b) FROM ("                                                                           \
    "SELECT min(start_ns) a, max(start_ns + ifnull(latency_ns, 0)) b FROM event UNION ALL "                  \
    "SELECT min(start_ns), max(start_ns + ifnull(queue_ns, 0) + ifnull(service_ns, 0)) FROM block "          \
    "UNION ALL SELECT min(start_ns), max(end_ns) FROM phase"

static bool span(const struct trace_reader *reader, const char *sql, int64_t *first_ns, int64_t *last_ns)
{
    sqlite3_stmt *statement;
    bool found = false;
    if (sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return false;
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_INTEGER) {
        *first_ns = sqlite3_column_int64(statement, 0);
        *last_ns = sqlite3_column_int64(statement, 1);
        found = true;
    }
    sqlite3_finalize(statement);
    return found;
}

bool trace_span(const struct trace_reader *reader, int64_t *first_ns, int64_t *last_ns)
{
    return span(reader, SPAN_OF_CALLS " UNION ALL SELECT min(time_ns), max(time_ns) FROM sample)", first_ns,
                last_ns);
}

bool trace_span_of_calls(const struct trace_reader *reader, int64_t *first_ns, int64_t *last_ns)
{
    return span(reader, SPAN_OF_CALLS ")", first_ns, last_ns);
}

static struct trace_cursor *open_cursor(struct trace_reader *reader, const char *select, const char *which,
                                        const char *time, const struct trace_filter *filter,
                                        struct error *err)
{
    char sql[512];
    snprintf(sql, sizeof sql, "%s WHERE %s >= ?1 AND %s < ?2%s%s%s ORDER BY %s%srowid", select, time, time,
             filter->which < 0 ? "" : " AND ", filter->which < 0 ? "" : which,
             filter->which < 0 ? "" : " = ?3", filter->as_written ? "" : time,
             filter->as_written ? "" : ", ");
    struct trace_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor) {
        error_memory(err);
        return NULL;
    }
    cursor->reader = reader;
    cursor->code = SQLITE_ROW;
    if (sqlite3_prepare_v2(reader->db, sql, -1, &cursor->statement, NULL) != SQLITE_OK) {
        fail(reader, err);
        free(cursor);
        return NULL;
    }
    sqlite3_bind_int64(cursor->statement, 1, filter->from_ns);
    sqlite3_bind_int64(cursor->statement, 2, filter->to_ns);
    if (filter->which >= 0)
        sqlite3_bind_int64(cursor->statement, 3, filter->which);
    return cursor;
}

struct trace_cursor *trace_events(struct trace_reader *reader, const struct trace_filter *filter,
                                  struct error *err)
{
    return open_cursor(
        reader,
        "SELECT class, start_ns, latency_ns, process, file, call, fd, \"offset\", size, result, cached"
        " FROM event",
        "class", "start_ns", filter, err);
}

struct trace_cursor *trace_blocks(struct trace_reader *reader, const struct trace_filter *filter,
                                  struct error *err)
{
    return open_cursor(
        reader,
        "SELECT operation, start_ns, queue_ns, service_ns, disk, sector, bytes, process, file, cause"
        " FROM block",
        "operation", "start_ns", filter, err);
}

struct trace_cursor *trace_samples(struct trace_reader *reader, const struct trace_filter *filter,
                                   struct error *err)
{
    return open_cursor(reader, "SELECT series, time_ns, value FROM sample", "series", "time_ns", filter, err);
}

bool trace_select(struct trace_reader *reader, const struct trace_selection *selection, struct error *err)
{
    bool found = !selection->path;
    unsigned kinds = selection->kinds ? selection->kinds : ~0u;
    unsigned char *selected = calloc((size_t)reader->files.count + 1, 1);
    if (!selected)
        return error_memory(err);
    selected[0] = selection->path ? 0 : SELECT_EVENTS | SELECT_BLOCKS;
    for (int64_t i = 1; i <= reader->files.count; i++) {
        const struct trace_file_info *file = trace_file_info(reader, i);
        if (selection->path && fnmatch(selection->path, file->path, 0) != 0)
            continue;
        found = true;
        selected[i] = SELECT_BLOCKS | (kinds & 1u << file->kind ? SELECT_EVENTS : 0);
    }
    free(reader->selected);
    reader->selected = selected;
    return found ||
           error_set(err, ERROR_INPUT, "%s: no file's path is like '%s'", reader->path, selection->path);
}

static bool is_selected(const struct trace_reader *reader, int64_t file, int of)
{
    return !reader->selected || (reader->selected[place(&reader->files, file)] & of);
}

bool trace_is_selected(const struct trace_reader *reader, int64_t file)
{
    return is_selected(reader, file, SELECT_EVENTS);
}

static bool next(struct trace_cursor *cursor)
{
    if (cursor->code == SQLITE_ROW)
        cursor->code = sqlite3_step(cursor->statement);
    return cursor->code == SQLITE_ROW;
}

bool trace_next_event(struct trace_cursor *cursor, struct trace_event *event)
{
    sqlite3_stmt *row = cursor->statement;
    do {
        if (!next(cursor))
            return false;
        event->file = number(row, 4, 0);
    } while (!is_selected(cursor->reader, event->file, SELECT_EVENTS));
    int64_t class = number(row, 0, TRACE_OTHER);
    event->class = class >= 0 && class < TRACE_CLASSES ? (enum trace_class) class : TRACE_OTHER;
    event->start_ns = number(row, 1, 0);
    event->latency_ns = number(row, 2, TRACE_NONE);
    event->process = number(row, 3, 0);
    event->call = number(row, 5, 0);
    event->fd = number(row, 6, TRACE_NONE);
    event->offset = number(row, 7, TRACE_NONE);
    event->size = number(row, 8, TRACE_NONE);
    event->result = number(row, 9, TRACE_NONE);
    event->cached = (int)number(row, 10, -1);
    return true;
}

bool trace_next_block(struct trace_cursor *cursor, struct trace_block *block)
{
    sqlite3_stmt *row = cursor->statement;
    do {
        if (!next(cursor))
            return false;
        block->file = number(row, 8, 0);
    } while (!is_selected(cursor->reader, block->file, SELECT_BLOCKS));
    int64_t op = number(row, 0, 0);
    block->op = op >= 0 && op < TRACE_OPS ? (enum trace_op)op : TRACE_OP_READ;
    block->start_ns = number(row, 1, 0);
    block->queue_ns = number(row, 2, TRACE_NONE);
    block->service_ns = number(row, 3, TRACE_NONE);
    block->disk = number(row, 4, 0);
    block->sector = number(row, 5, TRACE_NONE);
    block->bytes = number(row, 6, TRACE_NONE);
    block->process = number(row, 7, 0);
    block->cause = number(row, 9, 0);
    return true;
}

bool trace_next_sample(struct trace_cursor *cursor, struct trace_sample *sample)
{
    if (!next(cursor))
        return false;
    sample->series = number(cursor->statement, 0, 0);
    sample->time_ns = number(cursor->statement, 1, 0);
    sample->value = sqlite3_column_double(cursor->statement, 2);
    return true;
}

bool trace_cursor_close(struct trace_cursor *cursor, struct error *err)
{
    if (!cursor)
        return true;
    bool failed = cursor->code != SQLITE_ROW && cursor->code != SQLITE_DONE;
    if (failed)
        fail(cursor->reader, err);
    sqlite3_finalize(cursor->statement);
    free(cursor);
    return !failed;
}
