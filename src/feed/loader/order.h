/* The next sample of an accelerator: the order of an epoch as a function, not a list.
 *
 * An epoch is a sequence of samples. Files are put in order (file_shuffle), their samples follow one
 * another, and the resulting sequence is shuffled (sample_shuffle). It does not depend on the number of
 * accelerators. It is then dealt to the accelerators (shard) and cut into full batches; every accelerator
 * has as many.
 *
 * Everything is computed from (seed, epoch, position) in constant time and memory, so that any thread of
 * any process can find any sample without communication. */
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
    uint64_t seed;
    uint64_t entropy;       /* for ORDER_RANDOM: drawn once per run, equal on all ranks, and recorded */
    bool seed_change_epoch; /* another order in every epoch */
};

/* Values derived from the options. */
struct order {
    struct order_options options;
    int64_t samples; /* in all files */
    int64_t steps;   /* per epoch, equal on all accelerators */
    int64_t dropped; /* samples that no accelerator reads in an epoch, as they do not fill a batch on all */
};

struct order_place {
    int64_t file;
    int64_t sample; /* within the file */
};

/* Fails if a number is out of range or not even one step would be run. */
bool order_init(struct order *order, const struct order_options *options, struct error *err);

/* Gets the place of the index-th sample of a batch; false if the batch has no such sample. */
bool order_at(const struct order *order, int64_t epoch, int accelerator, int64_t step, int64_t index,
              struct order_place *place);

/* A number per sample; its sum (mod 2⁶⁴) over the samples read equals order_checksum of the epoch if each
 * sample was read exactly once. order_checksum takes time proportional to the number of samples. */
uint64_t order_mark(const struct order *order, const struct order_place *place);
uint64_t order_checksum(const struct order *order, int64_t epoch);

/* A permutation of [0, n), 0 < n ≤ 2⁶², for each key: x < n. */
uint64_t order_permute(uint64_t n, uint64_t key, uint64_t x);

#endif
