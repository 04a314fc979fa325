/* Opens an untrusted trace store: whatever the file holds, nothing in it runs, and reading ends in time and
 * memory proportional to its size. */
#ifndef REHEARSE_TRACE_STORE_OPEN_H
#define REHEARSE_TRACE_STORE_OPEN_H

#include "core/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* The remaining budget of reading a file, against circular page links or claims of 10^12 rows. */
struct store_guard {
    int64_t bytes;      /* of the file */
    int64_t steps, all; /* of SQLite's machine, in hundreds: of this statement; of all of them */
    bool spent;         /* a limit was hit */
};

/* Disables the file's own views, triggers and functions; for writers too: the file may be untrusted. */
bool store_distrust(sqlite3 *db);

/* Opens for reading, and checks that the file is a trace whose tables have the known columns. The caller
 * closes *db, even after a failure; *guard must live as long. */
bool store_open(const char *path, sqlite3 **db, struct store_guard *guard, struct error *err);

/* Resets the budget of a statement before it runs. */
void store_guard_begin(struct store_guard *guard);

/* Called after the names were read: only short rows of numbers follow. */
void store_expect_numbers(sqlite3 *db);

/* Sets the error of the last statement in the user's terms. */
bool store_fail(sqlite3 *db, const struct store_guard *guard, const char *path, struct error *err);

/* Returns the errno of the database's last failed read or write; 0: none. */
int store_system_error(sqlite3 *db);

/* Checks that a new trace may get the name `target` (the file that `path` leads to): nothing is there, or an
 * empty file, or, with `replace`, an older trace, whose journal is played back. Files that SQLite would take
 * for the journal of the new trace are an error. */
bool store_may_take(const char *path, const char *target, bool replace, struct error *err);

#endif
