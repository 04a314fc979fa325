#include "trace/store/open.h"

#include "core/stop.h"
#include "trace/store/schema.h"
#include "trace/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_NAME_BYTES (1 << 20) /* of one row of names: a command line may be long */
#define MAX_ROW_BYTES  4096      /* of one row of numbers */

/* A row takes at least 8 bytes of a file and, sorted, at most 40 steps: an honest statement takes fewer than
 * 4 a byte. */
#define STEPS_PER_CALL 100
#define STEPS_PER_BYTE 4
#define MIN_STEPS      1000000
#define MAX_STATEMENTS 200 /* that take as many steps as they may */

/* ---- limits ---- */

static int count_steps(void *context)
{
    struct store_guard *guard = context;
    int64_t max = (STEPS_PER_BYTE * guard->bytes + MIN_STEPS) / STEPS_PER_CALL;
    guard->steps++;
    guard->all++;
    guard->spent = guard->steps > max || guard->all / MAX_STATEMENTS > max;
    return guard->spent || stop_wanted();
}

void store_guard_begin(struct store_guard *guard)
{
    guard->steps = 0;
}

void store_expect_numbers(sqlite3 *db)
{
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES);
}

bool store_distrust(sqlite3 *db)
{
    static const struct {
        int option, value;
    } settings[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0}, /* "offset" is a column, or an error; never a text */
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (sqlite3_db_config(db, settings[i].option, settings[i].value, NULL) != SQLITE_OK)
            return false;
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
    sqlite3_limit(db, SQLITE_LIMIT_COLUMN, 100);
    return sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL) == SQLITE_OK;
}

/* Returns the errno of the last failed read or write. SQLite calls a file damaged if its disk fails to
 * read it. */
int store_system_error(sqlite3 *db)
{
    int number = 0;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
    return number ? number : sqlite3_system_errno(db);
}

bool store_fail(sqlite3 *db, const struct store_guard *guard, const char *path, struct error *err)
{
    int code = sqlite3_errcode(db), number = store_system_error(db);
    if (guard->spent)
        return error_set(err, ERROR_INPUT,
                         "'%s' is damaged: reading it takes more steps than a file of %lld bytes can need",
                         path, (long long)guard->bytes);
    if (code == SQLITE_NOTADB)
        return error_set(err, ERROR_INPUT, "'%s' is not a database", path);
    if (code == SQLITE_NOMEM)
        return error_memory(err);
    if (code == SQLITE_IOERR || code == SQLITE_CANTOPEN || (code == SQLITE_CORRUPT && number == EIO))
        return error_set(err, ERROR_FAILED, "cannot read '%s': %s", path,
                         number ? strerror(number) : sqlite3_errmsg(db));
    if (code == SQLITE_CORRUPT || code == SQLITE_ERROR || code == SQLITE_TOOBIG || code == SQLITE_AUTH)
        return error_set(err, ERROR_INPUT, "'%s' is damaged: %s", path, sqlite3_errmsg(db));
    return error_set(err, ERROR_FAILED, "cannot read '%s': %s", path, sqlite3_errmsg(db));
}

/* ---- the schema ---- */

/* Every table that is read. Further columns are ignored. */
static const struct table {
    const char *name;
    const char *columns[12];
} tables[] = {
    {"meta", {"key", "value"}},
    {"process", {"id", "pid", "tid", "parent_pid", "start_ns", "end_ns", "name", "command"}},
    {"file", {"id", "device", "inode", "path", "kind"}},
    {"call", {"id", "name"}},
    {"disk", {"id", "name"}},
    {"series", {"id", "kind", "source"}},
    {"event",
     {"id", "class", "start_ns", "latency_ns", "process", "file", "call", "fd", "offset", "size", "result",
      "cached"}},
    {"block",
     {"id", "operation", "start_ns", "queue_ns", "service_ns", "disk", "sector", "bytes", "process", "file",
      "cause"}},
    {"sample", {"series", "time_ns", "value"}},
    {"phase", {"name", "start_ns", "end_ns", "source"}},
    {"lost", {"class", "count", "from_ns", "to_ns"}},
};
#define MAX_COLUMNS (sizeof tables->columns / sizeof *tables->columns)

static sqlite3_stmt *prepare(sqlite3 *db, struct store_guard *guard, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    store_guard_begin(guard);
    return sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK ? statement : NULL;
}

static bool one_number(sqlite3 *db, struct store_guard *guard, const char *path, const char *sql,
                       int64_t *value, struct error *err)
{
    sqlite3_stmt *statement = prepare(db, guard, sql);
    int code = statement ? sqlite3_step(statement) : SQLITE_ERROR;
    *value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    bool done = code == SQLITE_ROW || code == SQLITE_DONE || store_fail(db, guard, path, err);
    sqlite3_finalize(statement);
    return done;
}

/* Checks that a name is a table with pages of its own, not a view or a virtual table. */
static bool is_table(sqlite3 *db, struct store_guard *guard, const char *path, const char *name,
                     struct error *err)
{
    char sql[160];
    int64_t found;
    snprintf(
        sql, sizeof sql,
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND lower(name) = '%s'",
        name);
    if (!one_number(db, guard, path, sql, &found, err))
        return false;
    return found == 1 || error_set(err, ERROR_INPUT, "'%s' is damaged: it has no table '%s'", path, name);
}

/* Marks a column as found; false: it is one that is computed. */
static bool take_column(const struct table *table, sqlite3_stmt *row, bool *found)
{
    const char *name = (const char *)sqlite3_column_text(row, 1);
    for (size_t i = 0; i < MAX_COLUMNS && table->columns[i] && name; i++)
        found[i] |= sqlite3_stricmp(table->columns[i], name) == 0;
    return sqlite3_column_int(row, 6) == 0;
}

static bool check_columns(sqlite3 *db, struct store_guard *guard, const char *path, const struct table *table,
                          struct error *err)
{
    char sql[80];
    bool found[MAX_COLUMNS] = {false}, plain = true;
    int code = SQLITE_ERROR;
    snprintf(sql, sizeof sql, "PRAGMA table_xinfo('%s')", table->name);
    sqlite3_stmt *statement = prepare(db, guard, sql);
    while (statement && (code = sqlite3_step(statement)) == SQLITE_ROW)
        plain &= take_column(table, statement, found);
    bool done = code == SQLITE_DONE || store_fail(db, guard, path, err);
    sqlite3_finalize(statement);
    if (done && !plain)
        return error_set(err, ERROR_INPUT, "'%s' is damaged: table '%s' has a column that is computed", path,
                         table->name);
    for (size_t i = 0; done && i < MAX_COLUMNS && table->columns[i]; i++)
        if (!found[i])
            return error_set(err, ERROR_INPUT, "'%s' is damaged: table '%s' has no column '%s'", path,
                             table->name, table->columns[i]);
    return done;
}

static bool check_version(sqlite3 *db, struct store_guard *guard, const char *path, struct error *err)
{
    int64_t application, version;
    if (!one_number(db, guard, path, "PRAGMA application_id", &application, err) ||
        !one_number(db, guard, path, "PRAGMA user_version", &version, err))
        return false;
    if (application != TRACE_APPLICATION_ID)
        return error_set(err, ERROR_INPUT, "'%s' is an SQLite database, or an empty file, but not a trace",
                         path);
    if (version < 1)
        return error_set(err, ERROR_INPUT, "'%s' is damaged: schema version %lld", path, (long long)version);
    return version == TRACE_SCHEMA_VERSION ||
           error_set(err, ERROR_INPUT, "'%s' has schema version %lld, this program knows version %d: %s",
                     path, (long long)version, TRACE_SCHEMA_VERSION,
                     version > TRACE_SCHEMA_VERSION ? "use a newer program" : "record or import it again");
}

bool store_open(const char *path, sqlite3 **db, struct store_guard *guard, struct error *err)
{
    struct stat state;
    *db = NULL;
    if (access(path, R_OK) < 0 || stat(path, &state) < 0)
        return error_set(err, error_of_input(errno), "cannot read '%s': %s", path, strerror(errno));
    if (!S_ISREG(state.st_mode))
        return error_set(err, ERROR_INPUT, "'%s' is not a regular file: expected a trace", path);
    *guard = (struct store_guard){.bytes = state.st_size};
    /* Not read-only: the journal of a killed writer must be played back first. */
    if (sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return *db ? store_fail(*db, guard, path, err) : error_memory(err);
    sqlite3_progress_handler(*db, STEPS_PER_CALL, count_steps, guard);
    sqlite3_limit(*db, SQLITE_LIMIT_LENGTH, MAX_NAME_BYTES);
    if (!store_distrust(*db))
        return store_fail(*db, guard, path, err);
    if (!check_version(*db, guard, path, err))
        return false;
    if (stat(path, &state) == 0 && state.st_size > guard->bytes)
        guard->bytes = state.st_size; /* a journal was played back */
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!is_table(*db, guard, path, tables[i].name, err) ||
            !check_columns(*db, guard, path, &tables[i], err))
            return false;
    return true;
}

/* ---- where a new trace may be written ---- */

/* Reads the first bytes of a file, fewer if it is shorter; -1 and errno on failure. */
static ssize_t read_start(const char *path, unsigned char *bytes, size_t length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd >= 0 ? read(fd, bytes, length) : -1;
    int code = errno;
    if (fd >= 0)
        close(fd);
    errno = code;
    return got;
}

/* https://www.sqlite.org/fileformat2.html, 1.3: a header string, and the application's number at 68. */
static bool is_trace(const char *path)
{
    unsigned char header[100];
    if (read_start(path, header, sizeof header) != (ssize_t)sizeof header ||
        memcmp(header, "SQLite format 3", 16) != 0)
        return false;
    uint32_t application =
        (uint32_t)header[68] << 24 | (uint32_t)header[69] << 16 | (uint32_t)header[70] << 8 | header[71];
    return application == (uint32_t)TRACE_APPLICATION_ID;
}

/* The same, 3: a rollback journal begins with these bytes, or zeros after it was played back. It may be
 * empty. */
static bool is_journal(const char *path)
{
    static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7}, zeros[8];
    unsigned char start[sizeof magic];
    ssize_t got = read_start(path, start, sizeof start);
    return got == 0 || (got == (ssize_t)sizeof start &&
                        (memcmp(start, magic, sizeof magic) == 0 || memcmp(start, zeros, sizeof zeros) == 0));
}

/* Checks that no file has a name that SQLite would take for a part of the trace. `journal`: one is
 * allowed. */
static bool check_companion(const char *target, const char *ending, bool journal, struct error *err)
{
    char *name;
    struct stat info;
    if (asprintf(&name, "%s%s", target, ending) < 0)
        return error_memory(err);
    bool there = lstat(name, &info) == 0;
    bool ok =
        !there || (journal && S_ISREG(info.st_mode) && is_journal(name)) ||
        error_set(err, ERROR_FAILED,
                  "'%s' is in the way: SQLite would take it for a part of '%s' and delete it", name, target);
    free(name);
    return ok;
}

static bool may_replace(const char *path, const char *target, struct error *err)
{
    struct error why;
    if (!check_companion(target, "-journal", true, err))
        return false;
    struct trace_reader *reader = trace_reader_new(target, &why); /* plays the journal back */
    trace_reader_free(reader);
    if (!reader)
        return error_set(err, ERROR_FAILED, "'%s' is not replaced: %s", path, why.text);
    return check_companion(target, "-wal", false, err);
}

bool store_may_take(const char *path, const char *target, bool replace, struct error *err)
{
    struct stat info;
    if (stat(target, &info) != 0 || info.st_size == 0)
        return check_companion(target, "-journal", false, err) && check_companion(target, "-wal", false, err);
    if (!is_trace(target))
        return error_set(err, ERROR_FAILED, "'%s' exists and is not a trace: not overwritten", path);
    if (!replace)
        return error_set(err, ERROR_FAILED, "'%s' exists: --force replaces it", path);
    return may_replace(path, target, err);
}
