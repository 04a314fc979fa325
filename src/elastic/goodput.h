/* Goodput of policies over many random years: means, intervals, and the best save interval and number of
 * spares.
 *
 * All variants are played on the same trace of each seed, so that their differences are those of the
 * policies and not of luck. Threads share the seeds; results are summed in the order of seeds and do not
 * depend on the number of threads. */
#ifndef REHEARSE_ELASTIC_GOODPUT_H
#define REHEARSE_ELASTIC_GOODPUT_H

#include "core/parallel.h"
#include "elastic/failures.h"
#include "elastic/policy/policy.h"

#define GOODPUT_MAX_SEEDS 100000

/* Where traces come from: drawn from a model, one for each seed, or given, one or several. */
struct failure_source {
    const struct failure_model *model; /* NULL: the trace */
    const struct failure_trace *trace; /* of as many nodes each */
    int traces;                        /* 0: one */
    double horizon;                    /* seconds that are drawn */
    uint64_t seed;                     /* the first */
    int seeds;                         /* that are drawn; each given trace is played once */
};

struct elastic_variant {
    char
        name[32]; /* of the policy, and where several are asked, of its answer to slow nodes: "spares+drop" */
    const struct elastic_policy *policy;
    struct policy_setup setup;
};

struct goodput {
    double mean;      /* share of the time of all nodes at full speed that was of use */
    double low, high; /* 90 % interval over seeds: quantiles 5 % and 95 % */
    double behind, behind_low,
        behind_high; /* the best of those measured together, less this one, on equal traces */
    double share[ELASTIC_CAUSE_COUNT];             /* mean share of the time by cause; the sum is 1 */
    double losses, restarts, changes, saves, slow; /* mean number per run */
    double horizon;                                /* seconds of a run */
    int seeds;
};

/* Plays every variant on every trace; results[i] is of variants[i]. All setups share one table of rates. */
bool goodput_measure(const struct elastic_variant *variants, int count, const struct failure_source *source,
                     struct parallel *pool, struct goodput *results, struct error *err);

/* Finds the interval of saves with the highest mean goodput. The reciprocal of the goodput
 * is, to first order, a + b/x + c x; this is fitted to a grid of intervals, twice, the second time around
 * the first optimum, since the best of the grid is mostly luck: the optimum is flat. `interval`: INFINITY
 * if nothing is ever lost; the lower end of the range, an iteration, if saves cost nothing. */
bool goodput_best_interval(const struct elastic_variant *variant, const struct failure_source *source,
                           struct parallel *pool, double *interval, struct goodput *result,
                           struct error *err);

/* The number of spares with the highest mean goodput; of equal ones the fewest. Numbers grow in steps of
 * about an eighth, then those around the best are tried. */
bool goodput_best_spares(const struct elastic_variant *variant, const struct failure_source *source,
                         struct parallel *pool, int *spares, struct goodput *result, struct error *err);

/* The shortest interval that is of use: an iteration, and the time that writing a copy takes if the next
 * save waits for it. */
double goodput_least_interval(const struct elastic_variant *variant);

/* Losses per second of the traces' nodes. */
bool goodput_loss_rate(const struct failure_source *source, double *rate, struct error *err);

/* Seconds that a save of this policy stops training. */
double goodput_save_seconds(const struct elastic_variant *variant);

#endif
