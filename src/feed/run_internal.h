/* Inside a run: run_epochs.c runs the epochs, run_setup.c prepares them, run_cache.c looks at the page
 * cache. */
#ifndef REHEARSE_FEED_RUN_INTERNAL_H
#define REHEARSE_FEED_RUN_INTERNAL_H

#include "feed/loader/accelerator.h"
#include "feed/run.h"

/* The steps of an epoch after which something happens. */
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
    enum origin_evidence evidence; /* for the origin of this process's bytes */
    bool process_counts;           /* the kernel counts the device reads of this process */
    int64_t process_read;          /* at the last look */
    struct origin_count *origins;  /* [epochs][METRICS_PHASES], of this process */
    struct run_look before;        /* before the first epoch */
};

/* Sets up the run. On failure the caller releases what was made so far. */
bool run_setup(struct run *run, struct error *err);

/* Returns true if it happens after this step of an epoch. */
bool run_is_due(const struct run_rhythm *rhythm, int64_t step);

/* Returns the next step, from `step` (0: none yet), after which something happens; at most `last`. */
int64_t run_next(const struct run *run, int64_t step, int64_t last);

/* Returns the number of evaluations of an epoch; epochs count from 0. */
int64_t run_evaluations(const struct run *run, int epoch);

/* Return the checkpoints of the whole run, and whether one of them is saved at this moment. */
int64_t run_saves(const struct run *run);
bool run_saves_at(const struct run *run, int64_t epoch, int64_t step);

/* Returns true if a checkpoint follows this epoch, from 0. */
bool run_saves_after(const struct run *run, int epoch);

/* Looks up this process's files in the page cache (run_cache.c); `drop`: drops them first. A stop ends it
 * early, without an error. */
bool run_look(const struct run *run, enum metrics_phase phase, int64_t epoch, bool drop,
              struct run_look *seen, struct error *err);

/* The origin of bytes (run_origin.c): run_origin_epoch begins an epoch after its files were looked up,
 * run_origin_read counts the reads of each phase, and run_origin_gather gives rank 0 the sum. */
bool run_origin_begin(struct run *run, struct error *err);
void run_origin_epoch(struct run *run, int epoch, const struct run_look looks[METRICS_PHASES]);
void run_origin_read(struct run *run, int epoch, enum metrics_phase phase);
void run_origin_epoch_end(struct run *run, int epoch);
bool run_origin_gather(struct run *run, const struct run_look *before, const struct run_look *after,
                       struct error *err);

#endif
