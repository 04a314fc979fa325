/* The contents of a checkpoint: `rehearse-checkpoint/1`, the manifest in its folder. */
#ifndef REHEARSE_FEED_CHECKPOINT_MANIFEST_H
#define REHEARSE_FEED_CHECKPOINT_MANIFEST_H

#include "dataset/bytes.h"
#include "feed/checkpoint/checkpoint.h"

#include <stddef.h>

struct checkpoint_file {
    struct checkpoint_shard shard;
    int64_t rank; /* saved it */
    int index;    /* among its rank's files */
};

struct checkpoint_manifest {
    int64_t epoch, step, seed;
    double compressibility;
    enum workload_checkpoint_format format; /* "layout" in the file */
    int64_t ranks;
    struct workload_split split;
    int64_t bytes;                 /* of all files */
    struct checkpoint_file *files; /* by rank, then index */
    size_t count;
};

/* Makes the manifest of all ranks' files before a save. */
bool checkpoint_manifest_make(struct checkpoint_manifest *manifest, const struct checkpoint_options *options,
                              const struct checkpoint_moment *moment, struct error *err);
void checkpoint_manifest_release(struct checkpoint_manifest *manifest);

/* Returns FOLDER/NAME, which the caller frees. */
char *checkpoint_name(const char *folder, const char *name, struct error *err);

/* Write and read FOLDER/NAME. */
bool checkpoint_manifest_write(const struct checkpoint_manifest *manifest, struct storage *storage,
                               const char *folder, const char *name, bool sync, struct error *err);
bool checkpoint_manifest_read(struct checkpoint_manifest *manifest, struct storage *storage,
                              const char *folder, const char *name, struct error *err);

/* Parses text; `path` is for errors. */
bool checkpoint_manifest_parse(struct checkpoint_manifest *manifest, const char *path, const char *text,
                               size_t length, struct error *err);

/* Returns the content of a file. Each checkpoint has its own, as storage may deduplicate equal bytes. */
struct dataset_bytes checkpoint_content(const struct checkpoint_manifest *manifest, size_t file);

#endif
