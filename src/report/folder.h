/* Lists the files of a folder and its subfolders. */
#ifndef REHEARSE_REPORT_FOLDER_H
#define REHEARSE_REPORT_FOLDER_H

#include "core/arena.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_MAX_FILES 16384 /* of the folder and each folder in it */

struct folder_file {
    const char *path; /* below the folder: "a.json", "feed/result.json", "feed/dlio_config/" */
    int64_t size;
    const char *reason; /* why it is not read; NULL: it is a file, or a folder in a folder of the folder */
};

struct folder {
    struct arena arena;
    size_t count;
    struct folder_file *files; /* by path; names that begin with a dot are left out */
};

/* `except`: a file to ignore, or NULL. On success the caller ends it with folder_release. */
bool folder_read(struct folder *folder, const char *path, const char *except, struct error *err);
void folder_release(struct folder *folder);

#endif
