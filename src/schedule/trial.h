/* A trial of a schedule: an order, made by name or read from PyTorch's CSV, and its time and memory for given pass
 * times.
 *
 * Times and memory are those of a device for one micro-batch. A stage takes its part: with v chunks of a device a v-th,
 * and all of it where the chunks belong to chains that each take a part of the micro-batches. Times of each stage count
 * as they are. The unit of memory is the activations of one micro-batch on a device, kept from its forward pass until
 * the gradient of its weights is done. */
#ifndef REHEARSE_SCHEDULE_TRIAL_H
#define REHEARSE_SCHEDULE_TRIAL_H

#include "schedule/csv.h"
#include "schedule/formula.h"
#include "schedule/streams.h"

/* Seconds: one for all, or one for each device or each stage. */
struct trial_times {
    const double *seconds;
    int count;
};

struct trial_options {
    int devices, microbatches;
    int chunks;                                /* of each device; 0: as the schedule has them, or 2 */
    struct trial_times forward, input, weight; /* of passes */
    struct trial_times send;   /* between devices, in either direction; from each device or stage */
    bool send_blocks;          /* sends occupy both devices */
    enum comm_streams streams; /* of a file's SEND and RECV, if messages take time and do not block devices */
    double hidden;             /* share of the shorter pass that the passes of a pair hide of each other */
    double memory;             /* that a schedule with a choice may fill; 0: as the schedule is defined */
};

struct trial {
    const struct schedule *schedule; /* NULL: the order is from a file */
    int devices, chunks, microbatches;
    struct pass_order order;
    struct pass_cost *costs;
    struct timing_options options;
    struct timing timing; /* with the times of passes */
    double own_peak;      /* of the fullest device, if devices did not share their memory */
    bool on_streams;      /* the file's messages stand on streams */
    double unordered;     /* makespan if they waited for passes alone; NAN: they do not stand on streams */
    struct streams_lock lock;
    double period; /* seconds of an iteration in the steady state; NAN: the schedule flushes */
    double steady; /* seconds of one of many iterations: the period, or the makespan */
    double ideal;  /* work of the busiest device, if no pass hides another */
    double bubble; /* share of the makespan that devices idle, their mean */
    double
        bound; /* no order of these passes, on these devices and in the memory of this one, is faster; NAN: unknown,
                     as for several chains and for passes that hide each other */
    double gap;             /* share of the makespan that the bound is below it */
    double more, span_more; /* makespan and span above the ideal, as shares of it */
    size_t passes;
    struct formula formula; /* without a text if there is none for these times */
};

/* Both make the order, check it and play it. The caller ends the trial with trial_release, also after a failure.
 * ERROR_USAGE: there are too few or too many times. ERROR_INPUT: the shape does not fit the schedule, or the file is
 * wrong; the text says why. */
bool trial_by_name(const struct schedule *schedule, const struct trial_options *options, struct trial *trial,
                   struct error *err);
/* Devices, chunks and micro-batches are the file's. */
bool trial_by_csv(const struct schedule_csv *csv, const struct trial_options *options, struct trial *trial,
                  struct error *err);
void trial_release(struct trial *trial);

/* Frees the passes of the order and their times, which are most of a trial; its numbers stay. */
void trial_drop_passes(struct trial *trial);

#endif
