/* The storage that a workload names. */
#ifndef REHEARSE_FEED_WORKLOAD_STORAGE_H
#define REHEARSE_FEED_WORKLOAD_STORAGE_H

#include "feed/workload/workload.h"
#include "storage/storage.h"

/* What the workload leaves open, from the command line. */
struct workload_storage_choice {
    int method;              /* enum storage_kind; -1: POSIX, or S3 where the workload says so */
    bool direct;             /* also where the workload does not say reader.odirect */
    int64_t request;         /* bytes; 0: the method's own */
    int queue_depth;         /* 0: the method's own */
    const atomic_bool *stop; /* set: waiting for a server ends; NULL: never */
};

/* Names in it are relative to `folder`, which is below storage.storage_root as DLIO has it: dataset.data_folder or
 * checkpoint.checkpoint_folder. The caller ends it with storage_free. */
struct storage *workload_storage_open(const struct workload *workload, const char *folder,
                                      const struct workload_storage_choice *choice, struct error *err);

/* The path or URL of that folder; the caller frees it. NULL: no memory. */
char *workload_storage_root(const struct workload *workload, const char *folder);

#endif
