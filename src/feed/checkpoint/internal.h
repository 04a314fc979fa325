/* What saving and restoring checkpoints share. Only checkpoint*.c include it. */
#ifndef REHEARSE_FEED_CHECKPOINT_INTERNAL_H
#define REHEARSE_FEED_CHECKPOINT_INTERNAL_H

#include "core/parallel.h"
#include "feed/checkpoint/manifest.h"
#include "feed/origin.h"

#include <pthread.h>

/* A thread's own. */
struct checkpoint_worker {
    char *buffer;                  /* content is made here */
    struct storage_reader *reader; /* NULL: nothing has been restored yet */
};

struct checkpoint {
    struct checkpoint_options options; /* folder is ours */
    struct parallel *pool;
    struct checkpoint_worker *workers; /* [threads] */
    int threads;
    int64_t chunk;                 /* bytes of a worker's buffer */
    struct checkpoint_part *parts; /* [options.count] */
    struct origin_count origin;    /* of the last restore */
    int64_t from_storage;          /* of its bytes; -1: not known */
    int saved, loaded;             /* how many, for metrics */
    atomic_bool stopped;
};

/* A file, or a part of one, that one thread writes or reads for a rank. */
struct checkpoint_job {
    size_t file;            /* of the manifest */
    int rank;               /* of this process: 0 … options.count - 1 */
    int turn;               /* of this rank's jobs: ranks advance together */
    int64_t offset, length; /* in the file */
    bool done;
};

struct checkpoint_crew {
    struct checkpoint *checkpoint;
    const struct checkpoint_manifest *manifest;
    const char *folder; /* of this checkpoint */
    struct checkpoint_job *jobs;
    size_t count, capacity;
    /* One job by one thread; adds to `spent` what it took. */
    bool (*body)(struct checkpoint_crew *crew, const struct checkpoint_job *job,
                 struct checkpoint_worker *worker, struct checkpoint_part *spent, struct error *err);
    pthread_mutex_t lock; /* for the parts and the error */
    atomic_bool failed;
    struct error error; /* the first */
};

bool checkpoint_crew_add(struct checkpoint_crew *crew, struct checkpoint_job job, struct error *err);

/* All jobs, by all threads; checkpoint->parts says what each rank took. Ends early when one fails. */
bool checkpoint_crew_run(struct checkpoint_crew *crew, struct error *err);

/* False when it is time to end: another thread failed, or the user wants it. */
bool checkpoint_crew_go_on(const struct checkpoint_crew *crew, struct error *err);

/* Does the user want it to end? False, with an error, if so. */
bool checkpoint_not_stopped(struct checkpoint *checkpoint, const char *folder, struct error *err);

/* Waits for all processes: did it go well in each? */
bool checkpoint_together(const struct checkpoint *checkpoint, bool ok, const char *what, struct error *err);

/* Is this the process of rank 0? */
bool checkpoint_leads(const struct checkpoint *checkpoint);

/* FOLDER/NAME; the caller frees it. */
char *checkpoint_name(const char *folder, const char *name, struct error *err);

/* The folder of a moment below options.folder; the caller frees it. */
char *checkpoint_folder_of(const struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                           struct error *err);

/* The parts of the last save or restore, as a metric. */
bool checkpoint_record(struct checkpoint *checkpoint, enum metrics_kind kind, int *number,
                       const struct checkpoint_moment *moment, struct metrics *metrics, struct error *err);

/* --- folders (checkpoint_folder.c); for the process of rank 0 ----------------------------------------------------- */

struct checkpoint_found {
    bool manifest, unfinished;
};

/* What is in a checkpoint's folder; nothing where there is none. Fails where that cannot be known. */
bool checkpoint_look(const struct checkpoint *checkpoint, const char *folder, struct checkpoint_found *found,
                     struct error *err);

/* Removes what a checkpoint, whole or not, has in its folder, and the folder if that is all. */
bool checkpoint_remove(const struct checkpoint *checkpoint, const char *folder, struct error *err);

/* Bytes of the checkpoints that are there and for which `replaces` is true, each at most `most`. */
bool checkpoint_replaced(const struct checkpoint *checkpoint, checkpoint_replaces *replaces,
                         const void *context, int64_t most, int64_t *bytes, struct error *err);

/* Removes the oldest complete checkpoints until options.keep are left. */
bool checkpoint_rotate(const struct checkpoint *checkpoint, struct error *err);

#endif
