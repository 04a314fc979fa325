/* Reading whole files, and making folders. */
#ifndef REHEARSE_CORE_FILE_H
#define REHEARSE_CORE_FILE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Reads a regular file of at most `limit` bytes. The caller frees *data, which ends in a NUL that does not
 * count. A directory, a pipe that ends early, or a file over the limit is an error. "-" is standard input. */
bool file_read(const char *path, size_t limit, char **data, size_t *length, struct error *err);

/* Sets the type of the file of this name, behind links. False: it could not be determined. */
enum file_kind { FILE_NONE, FILE_REGULAR, FILE_FOLDER, FILE_OTHER };
bool file_look(const char *path, enum file_kind *kind, struct error *err);

/* Whether both names lead to one regular file. */
bool file_same(const char *a, const char *b);

/* Makes a folder in an existing one; no error if it exists already. */
bool file_make_directory(const char *path, struct error *err);

/* Makes the missing folders of a path. Threads may make the same ones at the same time. */
bool file_make_folders_of(const char *path, struct error *err);

/* mkdir -p: the folder, and those that it lies in. */
bool file_make_folders(const char *path, struct error *err);

/* Opens the folder that a path lies in, to sync the name of a file; -1 and errno on failure. */
int file_open_folder_of(const char *path);

#endif
