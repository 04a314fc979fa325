/* Checks, before the first byte, whether the data that all processes of a run will write fit. */
#ifndef REHEARSE_FEED_SPACE_H
#define REHEARSE_FEED_SPACE_H

#include "comm/comm.h"
#include "dataset/generate.h"

#include <stdbool.h>
#include <stdint.h>

/* The data that a process will write below `path`. */
struct space_need {
    const char *path;
    int64_t bytes, files;
    bool resumes; /* files that already lie below `path` are part of it */
};

/* Returns true on all ranks or on none; all call it. Shares of one file system add up, on one host or across
 * a network. S3 has no limit. Existing files are counted only if they decide, and not once *stop is set,
 * which may be NULL. */
bool space_fits(struct comm *comm, const struct space_need *need, const atomic_bool *stop, struct error *err);

/* Does the same for a data set in the folder `root`. Of compressed files only the number counts. */
bool space_for_layout(struct comm *comm, const struct dataset_layout *layout, const char *root,
                      const struct dataset_work *work, struct error *err);

#endif
