/* What a run measured, kept while it runs: sums, histograms and one row per accelerator, epoch and phase. Its size
 * does not grow with the number of steps.
 *
 * One struct metrics covers the accelerators [first, first + count) and is used by one thread at a time; a process
 * has one per thread, and metrics_merge puts those of all threads and (through metrics_pack) ranks together.
 * Times are nanoseconds of CLOCK_MONOTONIC. metrics_figures.h makes figures of it, the corrected ones and DLIO's.
 *
 * Which steps count: of each epoch (and of each evaluation) the first exclude_start and the last exclude_end steps
 * do not, by their number in the epoch, however many blocks a checkpoint cuts it into. (DLIO uses the same numbers
 * as indices within each block.) The last ones are known from options.steps.
 *
 * The first wait. A step that does not count waits for its own batch, and meanwhile the storage reads ahead for steps
 * that do. Were this time left out with the step, those batches would have cost nothing, and AU would be too high
 * where an epoch has few steps (MLPerf Storage 2.0, section 4: left out are "the I/O operations from the first step"). So
 * it counts (`ahead`), as waiting, as soon as a counted step waits: then the head start is used up. Where all that may be
 * read ahead was there before any counted step waited, the storage keeps up, and nothing is counted. Where neither happens
 * before the epoch ends, the storage was read from without a pause: the steps took it as long as all reading, divided
 * by all steps, and so much of the first wait counts as they are short of that. */
#ifndef REHEARSE_FEED_RESULT_METRICS_H
#define REHEARSE_FEED_RESULT_METRICS_H

#include "core/error.h"
#include "core/histogram.h"
#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metrics_phase { METRICS_TRAIN, METRICS_EVAL, METRICS_PHASES };
enum metrics_kind { METRICS_SAVE, METRICS_LOAD };

struct metrics_options {
    int accelerators; /* of the whole run */
    int epochs;
    int exclude_start, exclude_end;
    int64_t steps[METRICS_PHASES]; /* expected per epoch, per evaluation */
    int64_t batch[METRICS_PHASES]; /* samples of one accelerator; as DLIO counts them */
    double record_length;          /* bytes, the mean; as DLIO counts them */
    double au_target;              /* 0.9: DLIO's metric.au */
};

/* One step of one accelerator. */
struct metrics_step {
    int64_t start;         /* it began to ask for its batch */
    int64_t end;           /* it left the barrier */
    int64_t load;          /* waited for the batch */
    int64_t copy;          /* from host memory */
    int64_t compute_asked; /* what the step should take */
    int64_t compute;       /* what it took: the sleep may be late */
    int64_t barrier;       /* waited for the others */
    int64_t lost;          /* the step's end came so much later because the host noticed deadlines late */
    int64_t ahead;         /* of `load`, while the storage read for steps that count and this one does not */
    bool caught_up;        /* what may be read ahead of this step had been when it asked */
    int64_t read;          /* when its batch was there, which may be before it asked */
    int64_t bytes;         /* really read for the samples of this batch */
    int64_t samples;
    uint64_t mark; /* sum of order_mark over the samples */
    bool last;     /* it came last to the barrier */
};

/* Over the steps of an accelerator. */
struct metrics_sums {
    int64_t steps, samples, bytes;
    int64_t load, copy, compute_asked, compute, barrier, lost;
    int64_t time; /* covers the steps, and what lies between two of the same block */
};

/* One accelerator, epoch and phase. */
struct metrics_row {
    struct metrics_sums all;
    struct metrics_sums counted;
    int64_t ahead;                  /* of the excluded steps, not yet paid for */
    int64_t first_start, last_read; /* over all steps */
    int64_t last;                   /* counted steps in which it came last to the barrier */
    uint64_t mark;                  /* over all steps */
    int64_t blocks;
    int64_t dlio_steps;
    double dlio_au, dlio_throughput; /* of the blocks, each times its steps */
    int64_t start, end;              /* of the epoch: metrics_epoch */
};

/* What lies between two checkpoints, or one evaluation (block 0). */
struct metrics_block {
    int accelerator, epoch, block;
    enum metrics_phase phase;
    int64_t start, end;
    int64_t steps;
    double dlio_au;         /* percent */
    double dlio_throughput; /* samples/s of this accelerator */
};

/* One rank's part of one checkpoint. */
struct metrics_checkpoint {
    enum metrics_kind kind;
    int rank;   /* the accelerator that saved or loaded it */
    int number; /* 0, 1, … of this kind in the run: the same on all ranks */
    int epoch, block;
    int64_t start, end;
    int64_t bytes;
    int64_t sync;         /* of the time: fsync, close and rename */
    int64_t from_storage; /* of what was restored, not from memory: bytes; -1: not known */
};

struct metrics_state; /* the block an accelerator is in */

struct metrics {
    struct metrics_options options;
    int first, count;
    struct metrics_row *rows; /* [count][epochs][METRICS_PHASES] */
    struct metrics_state *states;
    struct metrics_block *blocks; /* as they ended; stay on their rank */
    size_t block_count, block_capacity;
    struct metrics_checkpoint *checkpoints;
    size_t checkpoint_count, checkpoint_capacity;
    struct histogram *wait, *step, *barrier; /* [METRICS_PHASES] each, of counted steps */
};

bool metrics_init(struct metrics *metrics, const struct metrics_options *options, int first, int count,
                  struct error *err);
void metrics_release(struct metrics *metrics);

/* Keeps the first epochs, of those that there are, as if there had never been more. */
void metrics_keep_epochs(struct metrics *metrics, int epochs);

/* Epochs count from 0; blocks of training from 1 in each epoch, an evaluation is block 0. Between the two calls
 * come the steps of the block. */
void metrics_block_start(struct metrics *metrics, int accelerator, enum metrics_phase phase, int epoch,
                         int block, int64_t now);
void metrics_step(struct metrics *metrics, int accelerator, const struct metrics_step *step);
bool metrics_block_end(struct metrics *metrics, int accelerator, int64_t now, struct error *err);

/* The whole epoch, with its checkpoints. */
void metrics_epoch(struct metrics *metrics, int accelerator, int epoch, int64_t start, int64_t end);

bool metrics_checkpoint(struct metrics *metrics, const struct metrics_checkpoint *checkpoint,
                        struct error *err);

struct metrics_row *metrics_row(const struct metrics *metrics, int accelerator, int epoch,
                                enum metrics_phase phase);

/* Adds what another thread or rank measured; `into` must cover its accelerators, and have nothing of them yet.
 * Blocks are not taken over: each rank writes its own. */
bool metrics_merge(struct metrics *into, const struct metrics *from, struct error *err);

/* As bytes for a message between processes of the same build, and back. */
void metrics_pack(const struct metrics *metrics, struct text *out);
bool metrics_unpack(struct metrics *metrics, const char *bytes, size_t length, struct error *err);

#endif
