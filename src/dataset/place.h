/* Where a data set lies: a folder of a file system, a bucket. Paths are relative to it. */
#ifndef REHEARSE_DATASET_PLACE_H
#define REHEARSE_DATASET_PLACE_H

#include "core/error.h"
#include "dataset/format.h"

#include <stdbool.h>
#include <stdint.h>

/* All functions may be called by several threads at once. */
struct dataset_place {
    void *context;
    const char *name; /* a folder or a bucket, for messages; NULL: none */

    /* Begins a file (and its folders) of `bytes` bytes, -1 where that is not known. It has its name only after commit;
     * what a killed run leaves behind never has. Both commit (also when it fails) and discard end the sink. */
    bool (*create)(void *context, const char *path, int64_t bytes, struct dataset_sink *sink,
                   struct error *err);
    bool (*commit)(void *context, struct dataset_sink *sink, struct error *err);
    void (*discard)(void *context, struct dataset_sink *sink);

    /* Makes a folder, which may be there; NULL where there are none (S3). */
    bool (*make_folder)(void *context, const char *path, struct error *err);

    bool (*open)(void *context, const char *path, struct dataset_source *source, struct error *err);
    void (*close)(void *context, struct dataset_source *source);

    /* Bytes of a file; -1: there is none of that name. */
    bool (*size)(void *context, const char *path, int64_t *bytes, struct error *err);
};

/* A folder, which is made when the first file is. Temporary names are PATH.part. */
struct dataset_folder {
    const char *root; /* the caller's, for as long as the place is used */
    bool sync;        /* fsync every file and its folder before a commit is done */
};

struct dataset_place dataset_place_posix(struct dataset_folder *folder);

#endif
