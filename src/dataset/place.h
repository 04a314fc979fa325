/* The place of a data set: a folder of a file system or a bucket. Paths are relative to it. */
#ifndef REHEARSE_DATASET_PLACE_H
#define REHEARSE_DATASET_PLACE_H

#include "core/error.h"
#include "dataset/format.h"

#include <stdbool.h>
#include <stdint.h>

/* Several threads may call all functions at once. */
struct dataset_place {
    void *context;
    const char *name; /* folder or bucket, for errors; NULL: none */

    /* Begins a file (and its folders) of `bytes` bytes, -1: unknown. It gets its name only at commit; the
     * remains of a killed run never have it. commit (even if it fails) and discard free the sink. */
    bool (*create)(void *context, const char *path, int64_t bytes, struct dataset_sink *sink,
                   struct error *err);
    bool (*commit)(void *context, struct dataset_sink *sink, struct error *err);
    void (*discard)(void *context, struct dataset_sink *sink);

    /* Makes a folder unless it exists; NULL: there are no folders (S3). */
    bool (*make_folder)(void *context, const char *path, struct error *err);

    bool (*open)(void *context, const char *path, struct dataset_source *source, struct error *err);
    void (*close)(void *context, struct dataset_source *source);

    /* Gets the bytes of a file; -1: it does not exist. */
    bool (*size)(void *context, const char *path, int64_t *bytes, struct error *err);
};

#endif
