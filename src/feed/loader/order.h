/* Which sample an accelerator reads next: the order of an epoch as a function, never as a list.
 *
 * An epoch is a sequence of samples. Files are put in order (file_shuffle), their samples follow one another,
 * and the sequence so made is shuffled (sample_shuffle), as a whole or in blocks. The sequence does not depend
 * on the number of accelerators. It is then dealt out to the accelerators (shard) and cut into batches.
 *
 * Everything is computed from (seed, epoch, position) in a constant number of steps and of bytes, so that any
 * thread of any process can ask for any sample without talking to another. */
#ifndef REHEARSE_FEED_LOADER_ORDER_H
#define REHEARSE_FEED_LOADER_ORDER_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

enum order_shuffle {
    ORDER_OFF,    /* as it lies */
    ORDER_SEED,   /* from `seed`, and the epoch where seed_change_epoch says so */
    ORDER_RANDOM, /* from `entropy` and the epoch: another order in every run */
};

enum order_shard {
    ORDER_CONTIGUOUS, /* accelerator a gets the a-th part of the sequence, as DLIO's sampler for PyTorch */
    ORDER_INTERLEAVED, /* position p goes to accelerator p mod P: one step's batches are the next P·batch samples
                          of the sequence, as torch's DistributedSampler */
    ORDER_BY_FILE,     /* the f-th file in the order of files goes to accelerator f mod P, as tf.data's shard;
                          samples are shuffled among those of one accelerator */
};

struct order_options {
    int64_t files;
    int64_t samples_per_file;
    int64_t batch; /* samples per accelerator and step */
    int accelerators;
    enum order_shard shard;
    enum order_shuffle file_shuffle;
    enum order_shuffle sample_shuffle;
    int64_t
        shuffle_size; /* samples are shuffled within blocks of so many; 0: among all. tf.data shuffles through
                               a buffer of this size instead, where a sample may come up to shuffle_size places
                               early and any number late; in a block it is less than shuffle_size either way */
    uint64_t seed;
    uint64_t entropy;       /* for ORDER_RANDOM: drawn once per run, the same on every rank, and recorded */
    bool seed_change_epoch; /* another order in every epoch */
    bool drop_last;    /* only full batches; else the last one may be short or, on some accelerators, empty */
    bool trim_as_dlio; /* keep order_files_kept_by_dlio files instead of all */
};

/* What follows from the options. */
struct order {
    struct order_options options;
    int64_t files;   /* that are read */
    int64_t samples; /* in these */
    int64_t steps;   /* per epoch, the same on every accelerator */
    int64_t dropped; /* samples of an epoch that nobody reads: with drop_last, what is left over of each
                        accelerator's part. Another few in every epoch where it is shuffled */
};

struct order_place {
    int64_t file;
    int64_t sample; /* within the file */
};

/* The files that DLIO (utils/config.py of its main branch) keeps of F: the largest multiple of
 * samples_per_file · batch · ranks. That divides files by samples: of 1 file with 4096 samples it keeps none. What
 * it means is in samples, and is what order_init does: steps = floor(samples / (batch · ranks)). */
int64_t order_files_kept_by_dlio(int64_t files, int64_t samples_per_file, int64_t batch, int64_t ranks);

/* Fails where a number is out of range and where not a single step would be run. */
bool order_init(struct order *order, const struct order_options *options, struct error *err);

/* The samples in this batch: options.batch, or fewer (0 too) in the last one without drop_last. */
int64_t order_batch(const struct order *order, int accelerator, int64_t step);

/* The samples this accelerator reads in an epoch. */
int64_t order_samples(const struct order *order, int accelerator);

/* The place of the index-th sample of a batch; false when the batch has no such sample. */
bool order_at(const struct order *order, int64_t epoch, int accelerator, int64_t step, int64_t index,
              struct order_place *place);

/* A number per sample, to be summed up (mod 2⁶⁴) over those that were read: the sum of an epoch equals
 * order_checksum when each sample was read that should have been, once. The latter takes time proportional to the
 * number of samples. */
uint64_t order_mark(const struct order *order, const struct order_place *place);
uint64_t order_checksum(const struct order *order, int64_t epoch);

/* A permutation of [0, n), 0 < n ≤ 2⁶², for each key, and its inverse: x < n. */
uint64_t order_permute(uint64_t n, uint64_t key, uint64_t x);
uint64_t order_unpermute(uint64_t n, uint64_t key, uint64_t x);

#endif
