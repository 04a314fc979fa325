/* Whether there is room for what the processes of a run are to write together, before the first byte. */
#ifndef REHEARSE_FEED_SPACE_H
#define REHEARSE_FEED_SPACE_H

#include "dataset/generate.h"
#include "feed/comm.h"

#include <stdbool.h>
#include <stdint.h>

/* This process is to write so many bytes and files below `path`. Shares of one file system are added up, whether on one
 * host or, of a network's, on several. Called by all ranks; `what` begins the message: "data". False on all where it
 * does not fit. */
bool space_together(struct comm *comm, const char *path, int64_t bytes, int64_t files, const char *what,
                    struct error *err);

/* The same for a data set in the folder `root`, less the files of it that are there. What is compressed has no size
 * that is known before: only its files are counted. */
bool space_for_layout(struct comm *comm, const struct dataset_layout *layout,
                      const struct dataset_place *place, const char *root, const struct dataset_work *work,
                      struct error *err);

#endif
