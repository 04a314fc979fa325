/* Statistics of durations: summaries, normal fits, planes over (GPUs, batch), densities. All take ascending
 * values. */
#ifndef REHEARSE_TRACE_STEPS_STATS_H
#define REHEARSE_TRACE_STEPS_STATS_H

#include "core/error.h"
#include "trace/steps/steps.h"

#include <stdbool.h>
#include <stddef.h>

struct steps_summary {
    size_t count;
    double mean, stdev; /* of a sample (n - 1); NAN for one value */
    double min, q1, median, q3, max;
};

/* Quartiles are exclusive (at i (n + 1) / 4, interpolated), as Python's statistics.quantiles takes them.
 * count > 0. */
void steps_summarise(const double *sorted, size_t count, struct steps_summary *summary);

/* The value at p (n - 1) from 0, interpolated: numpy's percentile. p in [0, 1], count > 0. */
double steps_percentile(const double *sorted, size_t count, double p);

/* The maximum-likelihood normal distribution of the values within [p1, p99]: sigma divides by n. */
struct steps_normal {
    size_t first, count; /* its values: sorted[first], … */
    double low, high;    /* p1 and p99 */
    double mean, sigma;
};
void steps_fit_normal(const double *sorted, size_t count, struct steps_normal *normal);

/* Ordinary least squares: value = per_gpu GPUs + per_batch batch + constant. */
struct steps_plane {
    bool known;  /* there are at least two points */
    bool unique; /* false: the points lie on a line, and the smallest slopes are given */
    double per_gpu, per_batch, constant; /* a number that never varies has slope 0 */
    double r2;                           /* NAN where the values do not vary */
    double mean_error, max_error;        /* |fitted / value - 1| */
};
void steps_fit_plane(const double *gpus, const double *batches, const double *values, size_t count,
                     struct steps_plane *plane);
double steps_plane_at(const struct steps_plane *plane, double gpus, double batch);

/* A kernel density (Gaussian, width by Silverman's rule) at `points` places from low to high, both included;
 * 2 of them to STEPS_DENSITY_POINTS. */
#define STEPS_DENSITY_POINTS 256
void steps_density(const double *sorted, size_t count, double low, double high, int points, double *density);

/* Metrics of figures and tables: durations of an event, or samples per second derived from them. */
enum steps_metric {
    STEPS_RATE_STORAGE, /* 1 / sample_load, or batch / batch_load: the study's VFS throughput */
    STEPS_RATE_LOAD,    /* batch / load_batch_inner where there is one, else / load_batch_mem */
    STEPS_RATE_COMPUTE, /* batch / all_compute */
    STEPS_RATE_STEP,    /* batch / step_end */
    STEPS_LATENCY_LOAD,
    STEPS_LATENCY_STORAGE,
    STEPS_LATENCY_PREPARE,
    STEPS_METRICS
};
extern const char *const steps_metric_names[STEPS_METRICS];

/* Returns the event behind a metric in these logs; -1: none. */
int steps_metric_event(const struct steps *steps, enum steps_metric metric);

/* Returns a group's values in ascending order; the caller frees them; *count 0 and NULL if none. */
bool steps_metric_values(const struct steps *steps, const struct steps_group *group, enum steps_metric metric,
                         double **values, size_t *count, struct error *err);

/* The compute times of all groups: a normal distribution for each, and planes for mean and sigma. */
struct steps_model {
    size_t count;                 /* groups that have compute times */
    struct steps_normal *normals; /* of each group; count 0: it has none */
    struct steps_plane mean, sigma;
};
bool steps_model(const struct steps *steps, struct steps_model *model, struct error *err);
void steps_model_release(struct steps_model *model);

#endif
