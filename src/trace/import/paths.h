/* The files of a folder. */
#ifndef REHEARSE_TRACE_IMPORT_PATHS_H
#define REHEARSE_TRACE_IMPORT_PATHS_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Initialise with zero. */
struct import_paths {
    char **items; /* sorted */
    size_t count, capacity;
};

struct import_paths_rules {
    bool (*wanted)(const char *name); /* of a file; NULL: all */
    size_t max_count;                 /* of files; more are an error */
    int max_depth;                    /* of folders in the folder; more are an error. 0: they are left out */
};

/* Adds the regular files of a folder whose names do not begin with '.'. Links to folders are not followed:
 * they may lead back. The caller releases *paths, even after a failure. */
bool import_paths_list(struct import_paths *paths, const char *folder, const struct import_paths_rules *rules,
                       struct error *err);
void import_paths_release(struct import_paths *paths);

#endif
