/* The measurements of a run: sums, histograms and one row per accelerator, epoch and phase. Their size does
 * not depend on the number of steps.
 *
 * One struct metrics covers the accelerators [first, first + count) and is used by one thread at a time; a
 * process has one, and metrics_pack and metrics_merge join those of all ranks.
 * Times are nanoseconds of CLOCK_MONOTONIC. metrics_figures.h derives the corrected figures and DLIO's.
 *
 * Counted steps: the first exclude_start and the last exclude_end steps of each epoch (and of each
 * evaluation) are excluded, by their number in the epoch, even if checkpoints cut it into blocks. (DLIO uses
 * the same numbers as indices within each block.) options.steps tells which steps are the last.
 *
 * The first wait: while an excluded step waits for its batch, the storage reads ahead for counted steps.
 * Without this time their batches would be free, and AU too high in short epochs (MLPerf Storage 2.0, section
 * 4, excludes "the I/O operations from the first step"). So it is charged (`ahead`) as waiting once a counted
 * step waits: then the head start is used up. If all permitted read-ahead was done before any counted step
 * waited, the storage keeps up and nothing is charged. If the epoch ends before either, the storage was read
 * without a pause: the counted steps cost it their share of all reading time, and the first wait is charged
 * by the amount that their own waits fall short of it. */
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
    int accelerators; /* in the whole run */
    int epochs;
    int exclude_start, exclude_end;
    int64_t steps[METRICS_PHASES]; /* expected per epoch, per evaluation */
    int64_t batch[METRICS_PHASES]; /* samples per accelerator; as DLIO counts them */
    double record_length;          /* mean bytes; as DLIO counts them */
    double au_target;              /* 0.9: DLIO's metric.au */
};

/* A batch that was read. */
struct metrics_batch {
    int64_t ready; /* nanoseconds of CLOCK_MONOTONIC; in the future while preprocessing goes on */
    int64_t samples, bytes;
    uint64_t mark; /* sum of order_mark */
    /* excluded steps: nanoseconds waited, in the share of the threads' time that served measured steps; of a step at
     * most its `load` */
    int64_t ahead;
    bool caught_up; /* all batches that may be read ahead of it have been read; false for the last step */
};

/* One step of one accelerator; times in nanoseconds. */
struct metrics_step {
    int64_t start;         /* the accelerator requested its batch */
    int64_t end;           /* it left the barrier */
    int64_t load;          /* waiting for the batch */
    int64_t copy;          /* from host memory */
    int64_t compute_asked; /* configured compute time */
    int64_t compute;       /* actual compute time: the sleep may end late */
    int64_t barrier;       /* waiting for the others */
    int64_t lost;          /* delay of the step's end because the host noticed deadlines late */
    struct metrics_batch batch;
    bool last; /* it was the last at the barrier */
};

/* Sums over the steps of an accelerator. */
struct metrics_sums {
    int64_t steps, samples, bytes;
    int64_t load, copy, compute_asked, compute, barrier, lost;
    int64_t time; /* of the steps and of the gaps between two in the same block */
};

/* One accelerator, epoch and phase. */
struct metrics_row {
    struct metrics_sums all;
    struct metrics_sums counted;
    int64_t ahead;                  /* of the excluded steps, not yet charged */
    int64_t first_start, last_read; /* over all steps */
    int64_t last;                   /* counted steps in which it was the last at the barrier */
    uint64_t mark;                  /* over all steps */
    int64_t blocks;
    int64_t dlio_steps;
    double dlio_au, dlio_throughput; /* sum over blocks of value × steps */
    int64_t start, end;              /* of the epoch: metrics_epoch */
};

/* The steps between two checkpoints, or one evaluation (block 0). */
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
    int rank;   /* the accelerator that saved or loaded the checkpoint */
    int number; /* 0, 1, … of this kind in the run: the same on all ranks */
    int epoch, block;
    int64_t start, end;
    int64_t bytes;
    int64_t sync;         /* part of the time in fsync, close and rename */
    int64_t from_storage; /* restored bytes that did not come from memory; -1: unknown */
};

struct metrics_state; /* the current block of an accelerator */

struct metrics {
    struct metrics_options options;
    int first, count;
    struct metrics_row *rows; /* [count][epochs][METRICS_PHASES] */
    struct metrics_state *states;
    struct metrics_block *blocks; /* in order of their ends; not merged across ranks */
    size_t block_count, block_capacity;
    struct metrics_checkpoint *checkpoints;
    size_t checkpoint_count, checkpoint_capacity;
    struct histogram *wait, *step, *barrier; /* [METRICS_PHASES] each, of counted steps */
};

bool metrics_init(struct metrics *metrics, const struct metrics_options *options, int first, int count,
                  struct error *err);
void metrics_release(struct metrics *metrics);

/* Drops all epochs but the first `epochs`. */
void metrics_keep_epochs(struct metrics *metrics, int epochs);

/* Epochs count from 0, training blocks from 1 in each epoch; an evaluation is block 0. A block's metrics_step
 * calls come between its start and end. */
void metrics_block_start(struct metrics *metrics, int accelerator, enum metrics_phase phase, int epoch,
                         int block, int64_t now);
void metrics_step(struct metrics *metrics, int accelerator, const struct metrics_step *step);
bool metrics_block_end(struct metrics *metrics, int accelerator, int64_t now, struct error *err);

/* Records a whole epoch, including its checkpoints. */
void metrics_epoch(struct metrics *metrics, int accelerator, int epoch, int64_t start, int64_t end);

bool metrics_checkpoint(struct metrics *metrics, const struct metrics_checkpoint *checkpoint,
                        struct error *err);

struct metrics_row *metrics_row(const struct metrics *metrics, int accelerator, int epoch,
                                enum metrics_phase phase);

/* Writes all but the blocks as bytes for a process of the same build. Blocks stay with their rank, which
 * writes them. */
void metrics_pack(const struct metrics *metrics, struct text *out);

/* Adds the packed metrics of a rank; `into` must cover its accelerators and have no data of them. */
bool metrics_merge(struct metrics *into, const char *bytes, size_t length, struct error *err);

#endif
