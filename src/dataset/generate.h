/* Makes whole data sets. */
#ifndef REHEARSE_DATASET_GENERATE_H
#define REHEARSE_DATASET_GENERATE_H

#include "core/error.h"
#include "dataset/crew.h"
#include "dataset/layout.h"
#include "dataset/place.h"

#include <stdbool.h>
#include <stdint.h>

struct dataset_generated {
    int64_t files_written, files_kept; /* of all parts: a file with an index is two */
    int64_t bytes_written, bytes_kept;
};

/* Writes the manifest, unless it is there already, and makes the folders train and valid, which DLIO lists though there be no
 * files for them. One of another layout is an error: data sets are not mixed. Where
 * several processes generate, one calls this before any begins. */
bool dataset_manifest_write(const struct dataset_layout *layout, const struct dataset_place *place,
                            struct error *err);

/* The layout that the place's manifest records. */
bool dataset_manifest_read(struct dataset_layout *layout, const struct dataset_place *place,
                           struct error *err);

/* What this rank has to write of a data set of which nothing is there yet. */
struct dataset_need {
    int64_t bytes, files; /* bytes: 0 where sizes are only known once written */
};
struct dataset_need dataset_need(const struct dataset_layout *layout, const struct dataset_work *work);

/* Writes the manifest first (rank 0), then every file that is not there in full already: one of the right size under
 * its final name is kept. A manifest of another layout is an error. *generated is right on failure, too. */
bool dataset_generate(const struct dataset_layout *layout, const struct dataset_place *place,
                      const struct dataset_work *work, struct dataset_generated *generated,
                      struct error *err);

#endif
