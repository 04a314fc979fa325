#include "trace/store/writer.h"

#include <stdlib.h>

struct rows_table {
    sqlite3_vtab base;
    const struct trace_rows *rows;
};

struct rows_cursor {
    sqlite3_vtab_cursor base;
    int at;
};

static const struct trace_rows *rows_of(const sqlite3_vtab_cursor *cursor)
{
    return ((const struct rows_table *)cursor->pVtab)->rows;
}

static int rows_connect(sqlite3 *db, void *rows, int count, const char *const *arguments, sqlite3_vtab **out,
                        char **message)
{
    (void)count;
    (void)arguments;
    (void)message;
    struct rows_table *table = calloc(1, sizeof *table);
    if (!table)
        return SQLITE_NOMEM;
    table->rows = rows;
    *out = &table->base;
    return sqlite3_declare_vtab(db, "CREATE TABLE t(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10)");
}

static int rows_disconnect(sqlite3_vtab *table)
{
    free(table);
    return SQLITE_OK;
}

static int rows_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedCost = TRACE_ROWS;
    return SQLITE_OK;
}

static int rows_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    (void)table;
    struct rows_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return SQLITE_NOMEM;
    *out = &cursor->base;
    return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *cursor)
{
    free(cursor);
    return SQLITE_OK;
}

static int rows_filter(sqlite3_vtab_cursor *cursor, int index, const char *text, int count,
                       sqlite3_value **values)
{
    (void)index;
    (void)text;
    (void)count;
    (void)values;
    ((struct rows_cursor *)cursor)->at = 0;
    return SQLITE_OK;
}

static int rows_next(sqlite3_vtab_cursor *cursor)
{
    ((struct rows_cursor *)cursor)->at++;
    return SQLITE_OK;
}

static int rows_end(sqlite3_vtab_cursor *cursor)
{
    return ((struct rows_cursor *)cursor)->at >= rows_of(cursor)->count;
}

static int rows_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
    int64_t value = rows_of(cursor)->cells[((struct rows_cursor *)cursor)->at][column];
    if (value != TRACE_NONE) /* without a result it is NULL */
        sqlite3_result_int64(context, value);
    return SQLITE_OK;
}

static int rows_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
    *id = ((struct rows_cursor *)cursor)->at;
    return SQLITE_OK;
}

/* Without xCreate the table exists as soon as the module does. */
static const sqlite3_module rows_module = {
    .xConnect = rows_connect,
    .xBestIndex = rows_best_index,
    .xDisconnect = rows_disconnect,
    .xDestroy = rows_disconnect,
    .xOpen = rows_open,
    .xClose = rows_close,
    .xFilter = rows_filter,
    .xNext = rows_next,
    .xEof = rows_end,
    .xColumn = rows_column,
    .xRowid = rows_rowid,
};

bool trace_rows_attach(sqlite3 *db, const char *name, struct trace_rows *rows)
{
    return sqlite3_create_module(db, name, &rows_module, rows) == SQLITE_OK;
}
