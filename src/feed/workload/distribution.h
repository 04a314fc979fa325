/* Random times: compute, preprocessing and evaluation times of a workload.
 *
 * A sample depends only on (seed, stream, step), through the counter-based generator Philox4x32-10 (Salmon
 * et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011): any thread can draw the time of any
 * accelerator's step, in any order, and a run repeats exactly with any number of threads.
 *
 * A normal distribution reaches below 0. DLIO takes the absolute value, which raises the mean; here a
 * negative draw is 0 unless the configuration says `mirror: true`. */
#ifndef REHEARSE_FEED_WORKLOAD_DISTRIBUTION_H
#define REHEARSE_FEED_WORKLOAD_DISTRIBUTION_H

#include "core/doc.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

#include <stdbool.h>
#include <stdint.h>

enum distribution_type {
    DISTRIBUTION_CONSTANT,
    DISTRIBUTION_NORMAL,
    DISTRIBUTION_UNIFORM,
    DISTRIBUTION_GAMMA,
    DISTRIBUTION_EXPONENTIAL,
    DISTRIBUTION_POISSON,
};

struct distribution {
    enum distribution_type type;
    /* constant: value; normal: mean, stdev; uniform: min, max; gamma: shape, scale; exponential: scale;
     * poisson: lam (NumPy's names). Seconds, but for gamma's shape. */
    double first, second;
    bool mirror; /* negative draws lose their sign, as in DLIO; else they become 0 */
};

/* Identifies a draw. */
struct distribution_draw {
    uint64_t seed;
    uint32_t stream; /* the accelerator */
    uint64_t step;
};

static inline struct distribution distribution_constant(double value)
{
    return (struct distribution){.first = value};
}

static inline struct distribution distribution_normal(double mean, double stdev)
{
    return (struct distribution){.type = DISTRIBUTION_NORMAL, .first = mean, .second = stdev};
}

/* Draws a time, at least 0. */
double distribution_sample(const struct distribution *distribution, struct distribution_draw draw);

/* Converts seconds to nanoseconds that can be added to a time: clamped to 0 … DISTRIBUTION_NEVER. */
#define DISTRIBUTION_NEVER INT64_C(1000000000000000000) /* 31 years */
int64_t distribution_nanoseconds(double seconds);

/* Returns the mean, before negative draws are clipped or mirrored. */
double distribution_mean(const struct distribution *distribution);

/* Reads a number, {mean[, stdev]}, or {type: …, its parameters}; each may have `mirror`. */
bool distribution_read(struct distribution *distribution, const struct doc *doc, const struct doc_node *node,
                       struct error *err);

/* Writes one line that is JSON and YAML, readable by distribution_read. `key` may be NULL. */
void distribution_write(const struct distribution *distribution, struct json *json, const char *key);

bool distribution_equal(const struct distribution *a, const struct distribution *b);

/* The generator itself: 128 bits of a counter and a key of 64 bits. */
void distribution_philox(const uint32_t counter[4], uint64_t key, uint32_t out[4]);

#endif
