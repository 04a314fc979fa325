/* Checkpoints are saved as a training job saves them, and restored by the same or other ranks, of any number.
 *
 * Every process calls checkpoint_save and checkpoint_load for the ranks it runs; shards.h says
 * which files a rank writes. A checkpoint is a folder with these files and the manifest `checkpoint.json`.
 * The process of rank 0 writes the manifest last, once the files of all ranks have their names: a folder
 * without it is no checkpoint. During a save `checkpoint.unfinished.json` lists the files that a killed run
 * may leave, so that no other file is ever removed.
 *
 * Memory holds one buffer per thread only: content is a function of (seed, epoch, step, file, offset)
 * (dataset/bytes.h), so that a restore can verify it without a copy.
 *
 *     struct checkpoint *checkpoint = checkpoint_new(&options, err);
 *     struct checkpoint_moment moment = {.epoch = 1, .step = 500, .block = 1};
 *     checkpoint_save(checkpoint, &moment, &metrics, err);
 *     checkpoint_load(checkpoint, &moment, &metrics, err);
 *     checkpoint_free(checkpoint);
 *
 * Times: a rank's save begins when all processes are ready and ends when its last file has its name (on rank
 * 0: the manifest); a restore ends when its last byte is read, and verified if `verify` is set. */
#ifndef REHEARSE_FEED_CHECKPOINT_CHECKPOINT_H
#define REHEARSE_FEED_CHECKPOINT_CHECKPOINT_H

#include "comm/comm.h"
#include "core/error.h"
#include "feed/checkpoint/shards.h"
#include "feed/result/metrics.h"
#include "storage/storage.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CHECKPOINT_MANIFEST   "checkpoint.json"
#define CHECKPOINT_UNFINISHED "checkpoint.unfinished.json"

#define CHECKPOINT_BUFFER ((int64_t)4 << 20) /* bytes per thread, unless storage requests are larger */

/* The processes that save or restore together. */
struct checkpoint_peers {
    void *context;
    /* Waits for all processes and returns the same in each: true if all came with ok = true. Otherwise *err
     * is the error of a process that came with ok = false, or names a process that is gone. NULL: there is
     * only this process. */
    bool (*agree)(void *context, bool ok, const char *what, struct error *err);
};
struct checkpoint_peers checkpoint_peers_of(struct comm *comm);

struct checkpoint_options {
    struct storage *storage;
    const char *folder; /* the parent folder of the checkpoints; a name in the storage */
    struct checkpoint_shards shards;
    enum workload_checkpoint_format format; /* image.h; restores expect it, too */
    int first, count;                       /* ranks of this process: first … first + count - 1 */
    int64_t seed;                           /* 0 … 2^53 */
    double compressibility;
    bool sync;     /* fsync files, and the folder after each rename */
    int64_t shift; /* rank r restores what rank r + shift saved (recovery_rank_shift: ranks of a node) */
    bool verify;   /* compare restored bytes with the saved ones */
    bool cold;     /* drop the files' pages from this host's cache before a restore */
    const atomic_bool *stop; /* set to true: end soon, with an error; may be NULL */
    struct checkpoint_peers peers;
};

/* Names a checkpoint; epoch and step count from 1 and are in the folder's name. */
struct checkpoint_moment {
    int64_t epoch, step;
    int block; /* of the metrics */
};

struct checkpoint;

/* Copies the options; the storage must outlive the checkpoint. NULL on failure. The caller frees it. */
struct checkpoint *checkpoint_new(const struct checkpoint_options *options, struct error *err);
void checkpoint_free(struct checkpoint *checkpoint);

/* Saves, replacing a checkpoint of the same epoch and step. A failed save is removed, unless removing fails
 * too. `metrics` gets one part for each rank of this process; may be NULL. */
bool checkpoint_save(struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                     struct metrics *metrics, struct error *err);

/* Restores. With as many ranks in the same layout, each rank reads the files that it, or rank + `shift`,
 * saved. Otherwise the model's files and the optimizer's files each form one sequence of bytes, of which
 * every rank reads an equal part in order, as ZeRO's flat partitions are. */
bool checkpoint_load(struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                     struct metrics *metrics, struct error *err);

/* Returns true if one of the functions above failed in this process because `stop` was set. */
bool checkpoint_stopped(const struct checkpoint *checkpoint);

/* Removes the remains of killed runs. No other run may be saving there. Only one process calls it. */
bool checkpoint_clean(struct checkpoint *checkpoint, struct error *err);

/* Returns true if the folder's file system has room for `saves` checkpoints. Called before the first save;
 * existing checkpoints for which `replaces` is true count as removed. S3 has no limit. All processes call
 * it. */
typedef bool checkpoint_replaces(const void *context, const struct checkpoint_moment *moment);
bool checkpoint_fits(const struct checkpoint *checkpoint, struct comm *comm, int64_t saves,
                     checkpoint_replaces *replaces, const void *context, struct error *err);

/* A run of checkpoints only, as DLIO's: `writes` saves (epoch 1, steps 1, 2, …), then `reads` restores in the
 * same order, starting over when there are fewer. `between`: seconds of compute before each; ≤ 0: none. */
struct checkpoint_loop {
    int64_t writes, reads; /* ≤ 0: none */
    double between;
};
bool checkpoint_run(struct checkpoint *checkpoint, const struct checkpoint_loop *loop,
                    struct metrics *metrics, struct error *err);

#endif
