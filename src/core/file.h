/* Whole files in, whole files out. */
#ifndef REHEARSE_CORE_FILE_H
#define REHEARSE_CORE_FILE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Reads a regular file of at most `limit` bytes. The caller frees *data, which ends in a NUL that does not
 * count. A directory, a pipe that ends early, or a file over the limit is an error. "-" is standard input. */
bool file_read(const char *path, size_t limit, char **data, size_t *length, struct error *err);

/* Writes a file as a whole or not at all: into a temporary file beside it, then synced and renamed. An
 * existing file keeps its permissions. "-" is standard output; a path that is no regular file (/dev/null, a
 * pipe) is written in place. */
bool file_write(const char *path, const char *data, size_t length, struct error *err);

/* Is there a directory (a regular file) of this name? */
bool file_is_directory(const char *path);
bool file_exists(const char *path);

/* mkdir -p for the last component only; no error when it is there already. */
bool file_make_directory(const char *path, struct error *err);

#endif
