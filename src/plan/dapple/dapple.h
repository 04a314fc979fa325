/* The objective of the DAPPLE planner (HPGO, PPoPP'21), and two searches over it. docs/dapple.md has the
 * formulas.
 *
 * Problem. A chain of layers, trained with a global batch of G samples in micro-batches of m samples, on N
 * devices in machines. A plan chooses how many outer replicas r there are (M = floor(floor(G / r) / m)
 * micro-batches), cuts the chain into contiguous stages, and gives stage s a set of u_s * r devices; no
 * device has two stages, and devices may be idle. With T, C_s the seconds of the chain and of a stage for the
 * whole batch on one device, it takes
 *
 *     b = max(max_s C_s / (u_s r), max_s k * transfer_s) / M                               the pivot's block
 *     L = (M - 1) b + T / (r M) + sum_s transfer_s / (r M) + max(0, max_s (allreduce_s - s b))        seconds
 *
 * and its speedup is T / L. HPGO scores the plan of its dynamic program with k = 2 and two-stage plans with k
 * = 1; here a plan counts with the k that is better for it, nearly always 1 (only where a later stage's
 * all-reduce outweighs all micro-batches does a slower pivot hide more of it). That is why the optimum is
 * never worse than HPGO's choice.
 *
 * DAPPLE_FIXED corrects what is wrong in that model; see docs/dapple.md. */
#ifndef REHEARSE_PLAN_DAPPLE_DAPPLE_H
#define REHEARSE_PLAN_DAPPLE_DAPPLE_H

#include "core/arena.h"
#include "core/error.h"
#include "core/parallel.h"
#include "devices/degrees.h"
#include "model/chain.h"

#include <stdbool.h>
#include <stdint.h>

#define DAPPLE_MAX_DEVICES 512
#define DAPPLE_MAX_LAYERS  4096

/* Machines, and HPGO's three rates; no latencies. */
struct dapple_cluster {
    struct arena arena; /* owns machine_end when the cluster was loaded; {0} otherwise */
    int machine_count;
    const int *machine_end; /* devices machine_end[k - 1] up to machine_end[k] (exclusive) are in machine k */
    double point_to_point;  /* bytes/s between machines, one pair */
    double collective;      /* bytes/s between machines, all together */
    double inside;          /* bytes/s within a machine, one link */
    double memory;          /* bytes per device */
};

enum dapple_rules { DAPPLE_ORIGINAL, DAPPLE_FIXED };

struct dapple_problem {
    const struct chain *chain;
    const struct dapple_cluster *cluster;
    double profile_batch; /* batch of the measured chain, in samples */
    int64_t global_batch; /* samples */
    int64_t microbatch;   /* samples of a micro-batch for each outer replica */
    double state_factor;  /* bytes of weights, gradients and optimizer state per byte of weights */
    /* bytes of activations per sample on one device; 0: the chain's activations / its batch */
    double sample_memory;
    enum dapple_rules rules;
};

struct dapple_stage {
    struct layer_range layers;
    int devices;
};

struct dapple_split {
    struct arena arena; /* owns the arrays */
    int stage_count;
    struct dapple_stage *stages;
    int device_count;
    int16_t *stage_of; /* [device] -1: idle */
    int replicas;      /* r */
    int factor;        /* k: 1 or 2 */
    int64_t microbatches;
    const char *search; /* "hpgo" or "exact" */

    /* set by dapple_score */
    double latency; /* seconds: steady + startup + transfers + drain */
    double steady, startup, transfers, drain;
    double speedup; /* against one device */
    int pivot;      /* 2 s: stage s; 2 s + 1: the transfer after it */

    /* set by the searches */
    double lower_bound; /* seconds; no plan is faster; 0: unknown */
    bool proven_optimal;
    int64_t programs; /* dynamic programs solved */
};

/* Reads rehearse-dapple/1: {machines: [8, 8], inside: 25 GB/s, point_to_point: 1 GB/s, collective: 3 GB/s,
 * memory: 16 GB}. On failure *cluster holds nothing. */
bool dapple_cluster_load(struct dapple_cluster *cluster, const char *path, struct error *err);
bool dapple_cluster_parse(struct dapple_cluster *cluster, const char *path, const char *data, size_t length,
                          struct error *err);
void dapple_cluster_release(struct dapple_cluster *cluster);

int dapple_devices(const struct dapple_cluster *cluster);

/* Copies the first `devices` devices; missing machines are like its last one. On failure *part holds nothing;
 * on success the caller releases it with dapple_cluster_release. */
bool dapple_cluster_take(const struct dapple_cluster *cluster, int devices, struct dapple_cluster *part,
                         struct error *err);

/* Checks sizes, rates, batches, the order of machines and that times are finite. ERROR_INPUT, or
 * ERROR_INFEASIBLE for a batch smaller than a micro-batch. */
bool dapple_check(const struct dapple_problem *problem, struct error *err);

/* Seconds of the whole batch on one device. */
double dapple_total(const struct dapple_problem *problem);

/* Sets microbatches, latency and its terms, speedup and pivot: INFINITY and 0 if there is no micro-batch, or
 * under DAPPLE_FIXED a device is over-full. */
void dapple_score(const struct dapple_problem *problem, struct dapple_split *plan);

/* Seconds to send `bytes` from one stage's devices to another's, and to all-reduce them within one. */
double dapple_transfer(const struct dapple_problem *problem, const struct dapple_split *plan, int from,
                       int to, double bytes);
double dapple_allreduce(const struct dapple_problem *problem, const struct dapple_split *plan, int stage,
                        double bytes);

/* Checks that layers are covered once and in order, and each stage has a multiple of r devices, none used
 * twice. */
bool dapple_split_check(const struct dapple_problem *problem, const struct dapple_split *plan,
                        struct error *err);

bool dapple_split_init(struct dapple_split *plan, int stage_count, int device_count, struct error *err);
void dapple_split_release(struct dapple_split *plan);

/* --- data parallelism alone, on all devices; speedups
 * --------------------------------------------------------------- */

struct dapple_data_parallel {
    double max_samples;       /* samples that fit on a device together */
    double window;            /* samples of the batch whose computation hides the all-reduce */
    double plain;             /* no overlap */
    double overlap;           /* layer by layer, behind the backward pass */
    double priority;          /* and behind the next forward pass (P3) */
    double priority_infinite; /* the same if memory were infinite */
    double priority_best;     /* with the window chosen by halving */
};

/* Returns NAN where HPGO divides by zero: the model does not fit on a device. `global_window`: the paper's
 * repository uses the whole batch instead of one device's share. */
struct dapple_data_parallel dapple_data_parallel(const struct dapple_problem *problem, bool global_window);

/* --- searches
 * ------------------------------------------------------------------------------------------------------- */

struct dapple_options {
    double time_limit;     /* seconds; 0: none; only for exact */
    int64_t program_limit; /* dynamic programs; 0: none; reproducible, unlike seconds */
    struct parallel *pool; /* NULL: one thread */
    bool relaxed;          /* uses bounds from counted devices even in small clusters; for tests */
};

/* Finds HPGO's choice: one stage on as many devices as floor(N / i) allows, two equal halves, one device per
 * stage, every split in two. Ties: the earlier of two cuts with the same pivot, then lower devices; the later
 * of two candidates. On success the caller releases *plan with dapple_split_release. */
bool dapple_search_hpgo(const struct dapple_problem *problem, struct dapple_split *plan, struct error *err);

/* Finds the optimum; if stopped early, *plan is the best found and lower_bound the proven bound. Ties: fewer
 * devices, fewer stages, then the first in an order independent of threads. */
bool dapple_search_exact(const struct dapple_problem *problem, const struct dapple_options *options,
                         struct dapple_split *plan, struct error *err);

/* Values missing in the files. */
struct dapple_input_options {
    int64_t profile_batch;              /* samples that the layers were measured with; 0: as the file says */
    double state_factor, sample_memory; /* as in struct dapple_problem */
};

/* Loads a chain. `as_hpgo`: the layers of a graph as HPGO counts them. `given_batch` 0: samples from the file. On
 * failure *chain holds nothing; on success the caller releases it with chain_release. */
bool dapple_input_load(struct chain *chain, double *profile_batch, const char *path, bool as_hpgo,
                       int64_t given_batch, struct error *err);

#endif
