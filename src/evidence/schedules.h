/* Measured runs of pipeline schedules with the times of their passes, beside their simulation.
 *
 * A table has one run per row (CSV, by column name: model, stages, microbatches, microbatch_size, sequence, hidden,
 * heads, layers, schedule, chunks_per_stage, forward_us, backward_input_us, backward_weight_us, send_us, times_of
 * (stage, or chunk: of one of two), measured_samples_per_s_per_gpu, measured_memory_gb). The first and the last stage
 * have a layer less, in place of embedding and head, so that all stages take the same time.
 *
 * Times of passes and messages are those of the row. Layers, bytes, optimizer and launches are those of a plan for the
 * given device and software. Memory is that of tensors, as PyTorch counts it, without the runtime's share. */
#ifndef REHEARSE_EVIDENCE_SCHEDULES_H
#define REHEARSE_EVIDENCE_SCHEDULES_H

#include "core/csv.h"
#include "core/error.h"
#include "devices/software.h"
#include "devices/tables.h"

#define SCHEDULES_MAX_ROWS 4096

struct schedule_run {
    const char *source, *model, *schedule;
    int line, stages, chunks;
    int64_t microbatches, microbatch, sequence, hidden, heads, layers;
    double forward, input, weight,
        send;            /* seconds of a stage; input, weight: the parts of the backward pass */
    double rate, memory; /* measured samples/s of a device, and bytes; memory 0: not given */
    double played, peak; /* the same, simulated; NAN: the schedule is not known */
    int base;            /* the run by 1F1B of the same model and batch; -1: none, or this is one */
};

struct schedule_runs {
    struct csv csv;
    int count;
    struct schedule_run *runs;
};

/* Reads a table. On failure *runs is empty; on success the caller ends it with schedule_runs_release. */
bool schedule_runs_load(struct schedule_runs *runs, const char *path, struct error *err);
/* The same for the published runs that come with the program (data/schedules.csv). */
bool schedule_runs_load_known(struct schedule_runs *runs, struct error *err);
void schedule_runs_release(struct schedule_runs *runs);

/* Plays all runs on a device, with a link of the table between nodes. */
bool schedule_runs_play(struct schedule_runs *runs, const struct cost_device *device,
                        const struct cost_link *across, const struct software *software, struct error *err);

/* Errors of the simulation, as shares: of rates, of rates relative to 1F1B, and of memory relative to 1F1B. */
struct schedule_errors {
    int count; /* of runs that were played, or compared with 1F1B */
    double median, worst;
};
enum schedule_measure { SCHEDULE_RATE, SCHEDULE_RATIO, SCHEDULE_MEMORY, SCHEDULE_MEASURES };

/* The error of one run; NAN: it is not known. */
double schedule_run_error(const struct schedule_runs *runs, int run, enum schedule_measure measure);

/* Of the runs of a schedule; NULL: of all. False: out of memory. */
bool schedule_runs_score(const struct schedule_runs *runs, const char *schedule,
                         enum schedule_measure measure, struct schedule_errors *errors, struct error *err);

#endif
