/* Whether there is room for what the processes of a run are to write together, before the first byte. */
#ifndef REHEARSE_FEED_SPACE_H
#define REHEARSE_FEED_SPACE_H

#include "dataset/generate.h"
#include "feed/comm/comm.h"

#include <stdbool.h>
#include <stdint.h>

/* What a process is to write below `path`. */
struct space_need {
    const char *path;
    int64_t bytes, files;
    bool resumes; /* what lies below `path` already is part of it */
};

/* Shares of one file system are added up, whether on one host or, of a network's, on several. Called by all ranks; false on
 * all where it does not fit. S3 has no limit. What is there is only looked at where it decides, and not once *stop is set,
 * which may be NULL. */
bool space_fits(struct comm *comm, const struct space_need *need, const atomic_bool *stop, struct error *err);

/* The same for a data set in the folder `root`. What is compressed has no size that is known before: only its files are
 * counted. */
bool space_for_layout(struct comm *comm, const struct dataset_layout *layout, const char *root,
                      const struct dataset_work *work, struct error *err);

#endif
