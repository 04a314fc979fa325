/* Figures from the measurements: the corrected ones, and those that DLIO would print.
 *
 * Corrected, over the counted steps of all accelerators that `metrics` covers (metrics.h says which
 * count):
 *   AU                  asked compute / time that covers the steps. What a sleep took longer than asked is the host's
 *                       fault and not the accelerator's work; au_measured has it in, as DLIO does.
 *   AU without barrier  the same with the time at the barrier taken off: what storage alone would allow
 *   samples/s, bytes/s  really read in these steps / the longest time any accelerator took for them; the same of all
 *                       steps (all_samples / all_seconds) is what MLPerf Storage 2.0, section 4, asks for
 * DLIO's (utils/statscounter.py of its main branch), kept as they are so that its tools can read them:
 *   training            AU averaged over the ranks, throughput (n-2)·batch/T summed over them; 2 steps give 0
 *   evaluation          the ranks' lists one after the other, AU then divided by the number of ranks
 *   MB/s                throughput · mean record length / 2²⁰, whatever was read
 *   checkpoint          by the clock of rank 0 */
#ifndef REHEARSE_FEED_RESULT_METRICS_FIGURES_H
#define REHEARSE_FEED_RESULT_METRICS_FIGURES_H

#include "feed/result/metrics.h"

#define METRICS_RUN (-1) /* for `epoch`: all of them */

/* Minimum and maximum over the accelerators. */
struct metrics_range {
    double min, max;
    int min_at, max_at;
};

/* Seconds; percentiles within 0.8 %, minimum and maximum exact. */
struct metrics_percentiles {
    double min, p50, p90, p99, p999, max;
};

struct metrics_figures {
    int accelerators;                 /* accelerators with a counted step */
    struct metrics_sums counted, all; /* of all accelerators; all: with the excluded steps */
    double seconds;                   /* duration of the counted steps, summed over epochs */
    double au, au_without_barrier, au_measured;
    double samples_per_second, bytes_per_second;
    /* Shares of the accelerators' time, which sum up to 1; late: compute beyond the configured time. */
    double load, copy, compute, late, barrier, other;
    double lost; /* share of the time by which the host's delays made steps longer; in late and barrier */
    struct metrics_range au_range;   /* of one accelerator */
    struct metrics_range load_range; /* seconds that one accelerator waited for batches */
    struct metrics_range last_range; /* times that one accelerator came last to the barrier */
    double all_seconds, all_samples_per_second;
    bool met; /* au ≥ au_target */
};

/* Fails if no step was counted. */
bool metrics_figures(const struct metrics *metrics, enum metrics_phase phase, int epoch,
                     struct metrics_figures *figures, struct error *err);

/* Returns one accelerator's sums over one epoch or all. */
struct metrics_row metrics_total(const struct metrics *metrics, int accelerator, enum metrics_phase phase,
                                 int epoch);
double metrics_au(const struct metrics_sums *sums);

struct metrics_percentiles metrics_percentiles(const struct histogram *histogram);

/* Returns true if any accelerator ran this phase in this epoch. */
bool metrics_ran(const struct metrics *metrics, enum metrics_phase phase, int epoch);

/* Returns true if each epoch that ran has read `samples` with these marks (order_samples and order_checksum,
 * over all accelerators); else the error has the actual number. marks NULL: checks only the number. */
bool metrics_complete(const struct metrics *metrics, enum metrics_phase phase, int epoch, int64_t samples,
                      const uint64_t *mark, struct error *err);

struct metrics_dlio {
    double *au;         /* percent */
    double *throughput; /* samples/s */
    size_t count;       /* epochs; for evaluations, × ranks */
    double au_mean, au_stdev;
    double throughput_mean, throughput_stdev;
    double io_mean, io_stdev; /* MiB/s, called MB/s */
    bool met;
};

bool metrics_dlio(const struct metrics *metrics, enum metrics_phase phase, struct metrics_dlio *dlio,
                  struct error *err);
void metrics_dlio_release(struct metrics_dlio *dlio);

/* The checkpoints of one kind. MLPerf Storage 2.0, 2.2.3: a checkpoint's duration is the maximum over the
 * ranks, its throughput the minimum, that is, all its bytes over that duration. */
struct metrics_checkpoints {
    int count;
    int64_t bytes;                                      /* of one, all ranks: the mean */
    double duration_mean, duration_stdev, duration_max; /* seconds */
    double throughput_mean;                             /* bytes/s: all bytes over the sum of the durations */
    double throughput_stdev, throughput_min;            /* over single checkpoints */
    int64_t all_bytes, from_storage; /* of all checkpoints; restored bytes not from memory: -1: unknown */
    double rank_min;                 /* bytes/s: minimum of the ranks' bytes over their times */
    int rank_min_at;
    double sync; /* share of the ranks' time in fsync, close and rename */
    double dlio_duration_mean, dlio_duration_stdev;
    double dlio_throughput_mean, dlio_throughput_stdev; /* GiB/s, called GB/s */
};

/* count is 0 if there are none. */
bool metrics_checkpoints(const struct metrics *metrics, enum metrics_kind kind,
                         struct metrics_checkpoints *figures, struct error *err);

/* Standard deviation of a population, as numpy's std. NaN without values. */
void metrics_mean_stdev(const double *values, size_t count, double *mean, double *stdev);

#endif
