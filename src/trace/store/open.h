/* Opening a trace store that somebody sent: whatever the file holds, reading it ends, in time and memory that grow with
 * its size and with nothing else, and nothing in it runs. */
#ifndef REHEARSE_TRACE_STORE_OPEN_H
#define REHEARSE_TRACE_STORE_OPEN_H

#include "core/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* What may still be asked of a file. A table whose pages point at each other in a circle, or one that stands for
 * 10^12 rows, uses it up. */
struct store_guard {
    int64_t bytes;      /* of the file */
    int64_t steps, all; /* of SQLite's machine, in hundreds: of this statement; of all of them */
    bool spent;         /* a limit was hit */
};

/* Views, triggers and functions of the file's own do not run. For writers as well, which add to what may be somebody's
 * file. */
bool store_distrust(sqlite3 *db);

/* Opens for reading, and checks that the file is a trace whose tables are tables with the columns that are known. *db is
 * the caller's to close, also after a failure; *guard must live as long. *version is that of
 * the schema. */
bool store_open(const char *path, sqlite3 **db, struct store_guard *guard, int *version, struct error *err);

/* Before a statement is run: it may take what a statement may. */
void store_guard_begin(struct store_guard *guard);

/* After the names are read: only rows of numbers follow, and they are short. */
void store_expect_numbers(sqlite3 *db);

/* What went wrong with the last statement, in the user's terms. */
bool store_fail(sqlite3 *db, const struct store_guard *guard, const char *path, struct error *err);

/* The errno of the database's last read or write that failed; 0: there was none. */
int store_system_error(sqlite3 *db);

#endif
