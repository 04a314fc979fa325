/* Inside a run: run_epochs.c goes through the epochs, run_setup.c derives what they are made of, run_cache.c looks at the page
 * cache. */
#ifndef REHEARSE_FEED_RUN_INTERNAL_H
#define REHEARSE_FEED_RUN_INTERNAL_H

#include "feed/loader/accelerator.h"
#include "feed/run.h"

/* Every how many steps something happens within an epoch. */
struct run_rhythm {
    int64_t first, every; /* steps, from 1; 0: never */
};

struct run {
    const struct run_options *options;
    struct run_result *result;
    int first, total; /* accelerators: this process's first, of all processes */
    bool train, eval, save;
    int epochs, begun; /* begun: epochs that have run, or are running */
    struct distribution compute, eval_compute;
    struct run_rhythm saves, evals;         /* within an epoch */
    struct loader *loaders[METRICS_PHASES]; /* NULL: there is no such phase */
    struct accelerators *accelerators[METRICS_PHASES];
    int64_t device_read, device_written; /* when it began */
    double cpu;
    int64_t throttled; /* when it began */
    bool stopped;
    enum origin_evidence evidence; /* of where this process's bytes come from */
    bool process_counts;           /* the kernel says what this process reads */
    int64_t process_read;          /* when it was asked last */
    struct origin_count *origins;  /* [epochs][METRICS_PHASES], of this process */
    struct run_look before;        /* as the first epoch finds them */
};

/* Sets all of it up; what was made so far is the caller's to release on failure, too. */
bool run_setup(struct run *run, struct error *err);

/* Does it happen after this step of an epoch? */
bool run_is_due(const struct run_rhythm *rhythm, int64_t step);

/* The first step after `step` (0: none yet) after which something happens, at most `last`. */
int64_t run_next(const struct run *run, int64_t step, int64_t last);

/* Evaluations of an epoch, from 0. */
int64_t run_evaluations(const struct run *run, int epoch);

/* Checkpoints of the whole run; and is one of them saved at this moment? */
int64_t run_saves(const struct run *run);
bool run_saves_at(const struct run *run, int64_t epoch, int64_t step);

/* Is there a checkpoint after this epoch, from 0? */
bool run_saves_after(const struct run *run, int epoch);

bool run_is_stopped(const struct run *run); /* does the user want it to end? */

/* What of the files that this process answers for is in the page cache (run_cache.c); `drop`: it is dropped first. Without an
 * error it ends early when the run is stopped. */
bool run_look(const struct run *run, enum metrics_phase phase, int64_t epoch, bool drop,
              struct run_look *seen, struct error *err);
bool run_drop_system(const struct run *run, struct error *err);

/* Where bytes come from (run_origin.c): an epoch begins after its files have been looked at; after each phase of it
 * run_origin_read says whose the reads since then are; at the run's end rank 0 gets the sum. */
bool run_origin_begin(struct run *run, struct error *err);
void run_origin_epoch(struct run *run, int epoch, const struct run_look looks[METRICS_PHASES]);
void run_origin_read(struct run *run, int epoch, enum metrics_phase phase);
void run_origin_epoch_end(struct run *run, int epoch);
bool run_origin_gather(struct run *run, const struct run_look *before, const struct run_look *after,
                       struct error *err);

void run_device_start(struct run *run);
void run_device_end(struct run *run);

#endif
