/* Checkpoints: saved as a training job would, restored by the same ranks, by others or by another number of them.
 *
 * Every process calls checkpoint_save and checkpoint_load for the ranks it runs; checkpoint_shards.h says which files a
 * rank writes. A checkpoint is a folder with these files and `checkpoint.json`, its manifest, which is written last, by
 * the process of rank 0, when the files of all ranks have their names: a folder without it is no checkpoint. While it is
 * being saved `checkpoint.unfinished.json` lists what a killed run may leave, so that no other file is ever removed.
 *
 * Nothing is held in memory but one buffer per thread: content is a function of (seed, epoch, step, file, offset)
 * (dataset/bytes.h), so that a restore can verify it without a copy.
 *
 *     struct checkpoint *checkpoint = checkpoint_new(&options, err);
 *     struct checkpoint_moment moment = {.epoch = 1, .step = 500, .block = 1};
 *     checkpoint_save(checkpoint, &moment, &metrics, err);
 *     checkpoint_load(checkpoint, &moment, &metrics, err);
 *     checkpoint_free(checkpoint);
 *
 * What is timed: a rank's save begins when all processes are ready and ends when the last of its files has its name,
 * rank 0's with the manifest; a restore ends when its last byte is there, and verified if that is asked for. */
#ifndef REHEARSE_FEED_CHECKPOINT_CHECKPOINT_H
#define REHEARSE_FEED_CHECKPOINT_CHECKPOINT_H

#include "core/error.h"
#include "feed/checkpoint/shards.h"
#include "feed/comm/comm.h"
#include "feed/result/metrics.h"
#include "storage/storage.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CHECKPOINT_MANIFEST   "checkpoint.json"
#define CHECKPOINT_UNFINISHED "checkpoint.unfinished.json"

#define CHECKPOINT_BUFFER      ((int64_t)4 << 20) /* bytes of a thread, unless the storage's requests are larger */
#define CHECKPOINT_MAX_THREADS 256

/* The processes that save or restore together. */
struct checkpoint_peers {
    void *context;
    /* Waits for all: true in each of them or in none. Else *err is an error of one that came with ok = false, or says
     * that one is gone. NULL: there is only this process. */
    bool (*agree)(void *context, bool ok, const char *what, struct error *err);
};
struct checkpoint_peers checkpoint_peers_of(struct comm *comm);

enum checkpoint_layout {
    CHECKPOINT_RAW,         /* bytes alone, of exactly the shard's size */
    CHECKPOINT_SAFETENSORS, /* with 4096 bytes before them, so that it opens as one tensor of bytes */
};

struct checkpoint_options {
    struct storage *storage;
    const char *folder; /* that checkpoints are folders of; a name in the storage */
    struct checkpoint_shards shards;
    int first, count; /* ranks of this process: first … first + count - 1 */
    int threads;      /* of this process; 0: one for each of its ranks, at most 64 */
    int64_t seed;     /* 0 … 2^53 */
    double compressibility;
    enum checkpoint_layout layout;
    bool sync;     /* fsync files, and the folder after each rename */
    int64_t keep;  /* so many of the newest complete ones in the folder; 0: all */
    int64_t shift; /* rank r restores what rank r + shift saved (recovery_rank_shift: ranks of a node) */
    bool verify;   /* compare what is restored with what was saved */
    bool cold;     /* the files' pages are dropped from this host's cache before a restore */
    const atomic_bool *stop; /* set: end soon, with an error; NULL: never */
    struct checkpoint_peers peers;
};

/* Which checkpoint; its epoch and step are in its name, from 1. */
struct checkpoint_moment {
    int64_t epoch, step;
    int block; /* of the metrics */
};

/* What one rank did. Times of the parts are seconds of all threads that served it. */
struct checkpoint_part {
    int64_t start, end; /* ns, CLOCK_MONOTONIC */
    int64_t bytes;
    double content;                   /* made or, in a restore, compared */
    double transfer;                  /* in writes or reads */
    double sync, rename, sync_folder; /* rename: with close */
};

struct checkpoint;

/* Keeps a copy of the options; the storage outlives it. */
struct checkpoint *checkpoint_new(const struct checkpoint_options *options, struct error *err);
void checkpoint_free(struct checkpoint *checkpoint);

/* Bytes of memory for content, at most: all threads, storage's own buffers too. */
int64_t checkpoint_memory(const struct checkpoint *checkpoint);

/* Replaces a checkpoint of the same epoch and step. After a failure nothing of it is left, unless removing failed, too.
 * `metrics` gets one part for each rank of this process; NULL: none. */
bool checkpoint_save(struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                     struct metrics *metrics, struct error *err);

/* By as many ranks in the same layout: each reads what it, or the rank `shift` further on, saved. By others: the model's
 * files, and the optimizer's, are each taken as one sequence of bytes, of which every rank reads an equal part in order, as
 * ZeRO's flat partitions are. */
bool checkpoint_load(struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                     struct metrics *metrics, struct error *err);

/* Did one of the functions above fail in this process because `stop` was set? */
bool checkpoint_stopped(const struct checkpoint *checkpoint);

/* Of the last save or restore that succeeded: one for each rank of this process. */
const struct checkpoint_part *checkpoint_parts(const struct checkpoint *checkpoint);

/* Bytes of the files that lay in this host's page cache when the last restore began; -1: not known (S3). */
int64_t checkpoint_resident(const struct checkpoint *checkpoint);

/* Removes what killed runs have left. No other run may be saving in the folder, which need not exist; of several
 * processes one calls it. */
bool checkpoint_clean(struct checkpoint *checkpoint, struct error *err);

/* Is there room for `saves` checkpoints (less those of options.keep that go) in the folder's file system, before the first is
 * begun? Those that are there and for which `replaces` is true go before theirs. S3 has no limit. All processes call it. */
typedef bool checkpoint_replaces(const void *context, const struct checkpoint_moment *moment);
bool checkpoint_fits(const struct checkpoint *checkpoint, struct comm *comm, int64_t saves,
                     checkpoint_replaces *replaces, const void *context, struct error *err);

/* A run of checkpoints only, as DLIO's: `writes` of them (epoch 1, steps 1, 2, …), then `reads` restores in the same order,
 * from the first again when there are fewer. `between`: seconds of compute before each; not above 0: none. */
struct checkpoint_loop {
    int64_t writes, reads; /* not above 0: none */
    double between;
};
bool checkpoint_run(struct checkpoint *checkpoint, const struct checkpoint_loop *loop,
                    struct metrics *metrics, struct error *err);

#endif
