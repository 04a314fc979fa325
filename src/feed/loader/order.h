/* The next sample of an accelerator: the order of an epoch as a function, not a list.
 *
 * An epoch is a sequence of samples. Files are put in order (file_shuffle), their samples follow one another,
 * and the resulting sequence is shuffled (sample_shuffle), as a whole or in blocks. It does not depend on the
 * number of accelerators. It is then dealt to the accelerators (shard) and cut into batches.
 *
 * Everything is computed from (seed, epoch, position) in constant time and memory, so that any thread of any
 * process can find any sample without communication. */
#ifndef REHEARSE_FEED_LOADER_ORDER_H
#define REHEARSE_FEED_LOADER_ORDER_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

enum order_shuffle {
    ORDER_OFF,    /* unchanged */
    ORDER_SEED,   /* from `seed`, and from the epoch if seed_change_epoch is set */
    ORDER_RANDOM, /* from `entropy` and the epoch: another order in every run */
};

enum order_shard {
    ORDER_CONTIGUOUS, /* accelerator a gets the a-th part of the sequence, as DLIO's sampler for PyTorch */
    /* Position p goes to accelerator p mod P, as torch's DistributedSampler */
    ORDER_INTERLEAVED,
    /* File f goes to accelerator f mod P, as tf.data's shard; samples are shuffled within an accelerator. */
    ORDER_BY_FILE,
};

struct order_options {
    int64_t files;
    int64_t samples_per_file;
    int64_t batch; /* samples per accelerator and step */
    int accelerators;
    enum order_shard shard;
    enum order_shuffle file_shuffle;
    enum order_shuffle sample_shuffle;
    /* Samples are shuffled within blocks of this size; 0: among all. tf.data uses a buffer instead, where a
     * sample comes up to shuffle_size places early or any number late; in a block it is less either way. */
    int64_t shuffle_size;
    uint64_t seed;
    uint64_t entropy;       /* for ORDER_RANDOM: drawn once per run, equal on all ranks, and recorded */
    bool seed_change_epoch; /* another order in every epoch */
    bool drop_last;    /* only full batches; else the last may be short or, on some accelerators, empty */
    bool trim_as_dlio; /* keep order_files_kept_by_dlio files instead of all */
};

/* Values derived from the options. */
struct order {
    struct order_options options;
    int64_t files;   /* that are read */
    int64_t samples; /* in these files */
    int64_t steps;   /* per epoch, equal on all accelerators */
    int64_t dropped; /* samples of an epoch that nobody reads: with drop_last, what is left over of each
                        accelerator's part. Another few in every epoch where it is shuffled */
};

struct order_place {
    int64_t file;
    int64_t sample; /* within the file */
};

/* Returns how many of F files DLIO (utils/config.py of its main branch) keeps: the largest multiple of
 * samples_per_file · batch · ranks. That divides files by samples: of 1 file with 4096 samples it keeps none.
 * The intended count in samples is order_init's: steps = floor(samples / (batch · ranks)). */
int64_t order_files_kept_by_dlio(int64_t files, int64_t samples_per_file, int64_t batch, int64_t ranks);

/* Fails if a number is out of range or not even one step would be run. */
bool order_init(struct order *order, const struct order_options *options, struct error *err);

/* Returns the samples of this batch: options.batch, or fewer (even 0) in the last one without drop_last. */
int64_t order_batch(const struct order *order, int accelerator, int64_t step);

/* Returns the samples that this accelerator reads in an epoch. */
int64_t order_samples(const struct order *order, int accelerator);

/* Gets the place of the index-th sample of a batch; false if the batch has no such sample. */
bool order_at(const struct order *order, int64_t epoch, int accelerator, int64_t step, int64_t index,
              struct order_place *place);

/* A number per sample; its sum (mod 2⁶⁴) over the samples read equals order_checksum of the epoch if each
 * sample was read exactly once. order_checksum takes time proportional to the number of samples. */
uint64_t order_mark(const struct order *order, const struct order_place *place);
uint64_t order_checksum(const struct order *order, int64_t epoch);

/* A permutation of [0, n), 0 < n ≤ 2⁶², for each key, and its inverse: x < n. */
uint64_t order_permute(uint64_t n, uint64_t key, uint64_t x);
uint64_t order_unpermute(uint64_t n, uint64_t key, uint64_t x);

#endif
