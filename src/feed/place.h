/* A data set in a storage: what room dataset/ writes, verifies and scales, through room storage/. */
#ifndef REHEARSE_FEED_PLACE_H
#define REHEARSE_FEED_PLACE_H

#include "dataset/place.h"
#include "storage/storage.h"

struct feed_place {
    struct storage *storage; /* the caller's, for as long as the place is used */
    bool sync;               /* every file is on the device before a commit is done */
};

/* A folder of a file system is faster through dataset_place_posix: its threads share a file. */
struct dataset_place feed_place_of(struct feed_place *place);

#endif
