/* A data set in a storage: connects dataset/, which writes, verifies and scales, with storage/. */
#ifndef REHEARSE_FEED_PLACE_H
#define REHEARSE_FEED_PLACE_H

#include "comm/comm.h"
#include "dataset/generate.h"
#include "storage/storage.h"

struct feed_place {
    struct storage *storage; /* the caller's; must outlive the place */
    bool sync;               /* commit only after every file is on the device */
};

/* Threads share the files of local folders. */
struct dataset_place feed_place_of(struct feed_place *place);

/* The ranks write a data set together, work->rank of them each its share: after a look at the free space,
 * unless `force`. All ranks call it; *made is of this rank, also on failure. */
bool feed_generate(const struct dataset_layout *layout, const struct dataset_place *place,
                   const struct dataset_work *work, struct comm *comm, bool force,
                   struct dataset_generated *made, struct error *err);

/* Returns true if all ranks have the same layout. All call it; `ok` false: this one has none, and *err
 * says why. */
bool feed_same_layout(struct comm *comm, const struct dataset_layout *layout, bool ok, struct error *err);

#endif
