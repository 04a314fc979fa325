/* A data set in a storage: connects dataset/, which writes, verifies and scales, with storage/. */
#ifndef REHEARSE_FEED_PLACE_H
#define REHEARSE_FEED_PLACE_H

#include "dataset/place.h"
#include "storage/storage.h"

struct feed_place {
    struct storage *storage; /* the caller's; must outlive the place */
    bool sync;               /* commit only after every file is on the device */
};

/* A folder of a file system is faster through dataset_place_posix: its threads share a file. */
struct dataset_place feed_place_of(struct feed_place *place);

#endif
