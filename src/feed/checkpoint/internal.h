/* Shared by the files that save and restore checkpoints. */
#ifndef REHEARSE_FEED_CHECKPOINT_INTERNAL_H
#define REHEARSE_FEED_CHECKPOINT_INTERNAL_H

#include "core/parallel.h"
#include "feed/checkpoint/manifest.h"
#include "feed/origin.h"

#include <pthread.h>

/* The work of one rank. The parts' times are seconds of all threads that served it. */
struct checkpoint_part {
    int64_t start, end;           /* ns, CLOCK_MONOTONIC */
    double content;               /* seconds of generating or, in a restore, comparing */
    struct storage_written moved; /* or read, in a restore */
};

/* The state of a thread. */
struct checkpoint_worker {
    char *buffer;                  /* for content */
    struct storage_reader *reader; /* NULL until the first restore */
};

struct checkpoint {
    struct checkpoint_options options; /* `folder` is a copy */
    struct parallel *pool;
    struct checkpoint_worker *workers; /* [threads] */
    int threads;
    int64_t chunk;                 /* bytes of a worker's buffer */
    struct checkpoint_part *parts; /* [options.count], of the last save or restore */
    struct origin_count origin;    /* of the last restore */
    int64_t from_storage;          /* of its bytes; -1: not known */
    int saved, loaded;             /* how many, for metrics */
    atomic_bool stopped;
};

/* A file, or a part of one, that one thread writes or reads for a rank. */
struct checkpoint_job {
    size_t file;            /* of the manifest */
    int rank;               /* of this process: 0 … options.count - 1 */
    int turn;               /* number of the job among its rank's; ranks advance together */
    int64_t offset, length; /* in the file */
    bool done;
};

struct checkpoint_crew {
    struct checkpoint *checkpoint;
    const struct checkpoint_manifest *manifest;
    const char *folder; /* of this checkpoint */
    struct checkpoint_job *jobs;
    size_t count, capacity;
    /* Does one job in one thread, and adds its times and bytes to `spent`. */
    bool (*body)(struct checkpoint_crew *crew, const struct checkpoint_job *job,
                 struct checkpoint_worker *worker, struct checkpoint_part *spent, struct error *err);
    pthread_mutex_t lock; /* for the parts and the error */
    atomic_bool failed;
    struct error error; /* the first */
};

bool checkpoint_crew_add(struct checkpoint_crew *crew, struct checkpoint_job job, struct error *err);

/* Adds a whole file for a rank that is counted from this process's first; the ranks of others are skipped. */
bool checkpoint_crew_add_file(struct checkpoint_crew *crew, size_t file, int64_t rank, struct error *err);

/* Runs all jobs with all threads and fills checkpoint->parts. Ends early if a job fails. */
bool checkpoint_crew_run(struct checkpoint_crew *crew, struct error *err);

/* Fails if another thread failed or the user stopped the run. */
bool checkpoint_crew_go_on(const struct checkpoint_crew *crew, struct error *err);

/* Fails if the user stopped the run. */
bool checkpoint_not_stopped(struct checkpoint *checkpoint, const char *folder, struct error *err);

/* Returns whether the checkpoint was saved by as many ranks in the same layout. */
bool checkpoint_same_ranks(const struct checkpoint_manifest *manifest,
                           const struct checkpoint_shards *shards);

/* Waits for all processes; true if all came with `ok`. */
bool checkpoint_together(const struct checkpoint *checkpoint, bool ok, const char *what, struct error *err);

/* Returns true in the process of rank 0. */
bool checkpoint_leads(const struct checkpoint *checkpoint);

/* Returns the folder of a moment below options.folder, which the caller frees. */
char *checkpoint_folder_of(const struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                           struct error *err);

/* Adds the parts of the last save or restore to the metrics. */
bool checkpoint_record(struct checkpoint *checkpoint, enum metrics_kind kind, int *number,
                       const struct checkpoint_moment *moment, struct metrics *metrics, struct error *err);

/* --- folders (folder.c); for the process of rank 0 ------------------------------------------------------------ */

struct checkpoint_found {
    bool manifest, unfinished;
};

/* Looks into a checkpoint's folder; a missing folder has nothing. */
bool checkpoint_look(const struct checkpoint *checkpoint, const char *folder, struct checkpoint_found *found,
                     struct error *err);

/* Removes the files of a checkpoint, whole or not, and its folder if nothing else lies there. */
bool checkpoint_remove(const struct checkpoint *checkpoint, const char *folder, struct error *err);

#endif
