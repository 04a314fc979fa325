#include "trace/store/row.h"

#include "core/stop.h"

bool row_begin(struct trace_cursor *cursor, struct trace_reader *reader, const char *table, const char *sql,
               struct error *err)
{
    *cursor = (struct trace_cursor){.reader = reader, .table = table, .code = SQLITE_ROW};
    store_guard_begin(&reader->guard);
    return sqlite3_prepare_v2(reader->db, sql, -1, &cursor->statement, NULL) == SQLITE_OK ||
           store_fail(reader->db, &reader->guard, reader->path, err);
}

/* Keeps the first failure, and ends the rows. */
static void stop(struct trace_cursor *cursor)
{
    cursor->failed = true;
    cursor->code = SQLITE_DONE;
}

bool row_next(struct trace_cursor *cursor)
{
    if (!cursor)
        return false;
    struct trace_reader *reader = cursor->reader;
    if (!cursor->failed && stop_obeyed_at(cursor->rows++, &cursor->why))
        stop(cursor);
    if (cursor->code == SQLITE_ROW)
        cursor->code = sqlite3_step(cursor->statement);
    /* At once, since the database only knows the failure of the last statement. */
    if (cursor->code != SQLITE_ROW && cursor->code != SQLITE_DONE && !cursor->failed)
        cursor->failed = !store_fail(reader->db, &reader->guard, reader->path, &cursor->why);
    return cursor->code == SQLITE_ROW;
}

void row_stop_memory(struct trace_cursor *cursor)
{
    error_memory(&cursor->why);
    stop(cursor);
}

/* Refuses an impossible value: the first failure is kept, and no further row comes. */
void row_refuse(struct trace_cursor *cursor, int column)
{
    const char *value = (const char *)sqlite3_column_text(cursor->statement, column);
    if (cursor->failed)
        return;
    error_set(&cursor->why, ERROR_INPUT, "'%s' is damaged: table '%s': %s cannot be %s%.40s%s",
              cursor->reader->path, cursor->table, sqlite3_column_name(cursor->statement, column),
              value ? "'" : "", value ? value : "nothing", value ? "'" : "");
    stop(cursor);
}

bool row_end(struct trace_cursor *cursor, struct error *err)
{
    bool failed = cursor->failed;
    if (failed)
        *err = cursor->why;
    sqlite3_finalize(cursor->statement);
    return !failed;
}

/* Returns a whole number in a range; a missing one is refused. */
int64_t row_needed(struct trace_cursor *cursor, int column, int64_t min, int64_t max)
{
    int64_t value = sqlite3_column_int64(cursor->statement, column);
    if (sqlite3_column_type(cursor->statement, column) == SQLITE_INTEGER && value >= min && value <= max)
        return value;
    row_refuse(cursor, column);
    return min;
}

/* The same, or nothing. */
int64_t row_number(struct trace_cursor *cursor, int column, int64_t none, int64_t min, int64_t max)
{
    return sqlite3_column_type(cursor->statement, column) == SQLITE_NULL
               ? none
               : row_needed(cursor, column, min, max);
}

int64_t row_any_number(struct trace_cursor *cursor, int column)
{
    return row_number(cursor, column, TRACE_NONE, INT64_MIN + 1, INT64_MAX);
}

int64_t row_time(struct trace_cursor *cursor, int column)
{
    return row_needed(cursor, column, TRACE_MIN_TIME, TRACE_MAX_TIME);
}

int64_t row_length(struct trace_cursor *cursor, int column)
{
    return row_number(cursor, column, TRACE_NONE, -TRACE_MAX_LENGTH, TRACE_MAX_LENGTH);
}

/* An id that the dictionary lacks becomes 0. */
int64_t row_id(struct trace_cursor *cursor, int column, const struct table *table)
{
    int64_t id = row_number(cursor, column, 0, INT64_MIN, INT64_MAX);
    return id > 0 && id <= table->count ? id : 0;
}

/* Adds to the bytes that all rows moved, so that callers that add up some of them need not check. */
void row_count_bytes(struct trace_cursor *cursor, int column, int64_t bytes)
{
    if (bytes <= 0)
        return;
    if (bytes > TRACE_MAX_BYTES - cursor->bytes)
        row_refuse(cursor, column);
    else
        cursor->bytes += bytes;
}

/* Names are UTF-8 from here on. They have a limit since texts may share pages of the file, and so be
 * longer than the file. */
const char *row_text(struct trace_cursor *cursor, int column)
{
    struct trace_reader *reader = cursor->reader;
    const char *value = (const char *)sqlite3_column_text(cursor->statement, column);
    if (!value) {
        if (sqlite3_errcode(reader->db) == SQLITE_NOMEM)
            row_stop_memory(cursor);
        return "";
    }
    reader->text_bytes += sqlite3_column_bytes(cursor->statement, column);
    if (reader->text_bytes / 2 >
        reader->guard.bytes) { /* UTF-16 in the file may be half again as long here */
        row_refuse(cursor, column);
        return "";
    }
    struct text room = {0};
    value = text_utf8(value, &room);
    const char *copy = room.failed ? NULL : arena_string(&reader->arena, value);
    text_release(&room);
    if (!copy)
        row_stop_memory(cursor);
    return copy ? copy : "";
}
