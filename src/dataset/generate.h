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

/* Writes the manifest if there is none, and makes the folders train and valid, which DLIO lists even without
 * files. A manifest of another layout is an error: data sets are not mixed. If several processes generate,
 * one calls this before the others begin. */
bool dataset_manifest_write(const struct dataset_layout *layout, const struct dataset_place *place,
                            struct error *err);

/* Reads the layout in the place's manifest. */
bool dataset_manifest_read(struct dataset_layout *layout, const struct dataset_place *place,
                           struct error *err);

/* The bytes and files that this rank would write into an empty place. */
struct dataset_need {
    int64_t bytes, files; /* bytes: 0 if sizes are known only after writing */
};
struct dataset_need dataset_need(const struct dataset_layout *layout, const struct dataset_work *work);

/* Writes the manifest first (rank 0), then every missing or incomplete file; keeps files of the right size
 * under their final name. A manifest of another layout is an error. *generated is valid on failure, too. */
bool dataset_generate(const struct dataset_layout *layout, const struct dataset_place *place,
                      const struct dataset_work *work, struct dataset_generated *generated,
                      struct error *err);

#endif
