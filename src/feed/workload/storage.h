/* Opens the storage that a workload names. */
#ifndef REHEARSE_FEED_WORKLOAD_STORAGE_H
#define REHEARSE_FEED_WORKLOAD_STORAGE_H

#include "feed/workload/workload.h"
#include "storage/storage.h"

/* Choices from the command line that the workload leaves open. */
struct workload_storage_choice {
    bool has_method; /* false: POSIX, or S3 if the workload says so */
    struct storage_options
        options; /* without root and s3; direct: even if the workload does not set reader.odirect */
};

/* Names are relative to `folder`, itself below storage.storage_root as in DLIO: dataset.data_folder or
 * checkpoint.checkpoint_folder. The caller ends it with storage_free. NULL on failure. */
struct storage *workload_storage_open(const struct workload *workload, const char *folder,
                                      const struct workload_storage_choice *choice, struct error *err);

/* Returns that folder's path or URL, which the caller frees; NULL: no memory. */
char *workload_storage_root(const struct workload *workload, const char *folder);

#endif
