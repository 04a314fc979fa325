/* The uncertainty of a prediction, from the errors of similar predictions.
 *
 * The residuals of published runs (data/residuals.yaml, written by `rehearse validate --residuals`) are kept with
 * features of the run: device generation, software, width of the numbers, experts or none, and the sizes of job and
 * model. The interval of a prediction is that of the residuals of its nearest runs. */
#ifndef REHEARSE_EVIDENCE_INTERVAL_H
#define REHEARSE_EVIDENCE_INTERVAL_H

#include "core/arena.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "plan/split/job.h"

#define INTERVAL_SIZES 5

/* The features of a run. */
struct likeness {
    const char *generation, *software;
    int bits;     /* of the numbers that are multiplied: 16 (and more), 8 or 4 */
    bool experts; /* mixture of experts */
    double
        sizes[INTERVAL_SIZES]; /* log2 of devices, of the model's parameters, of the tokens of a sequence, of
                                     those of a micro-batch, of pipeline stages */
};

struct residual {
    struct likeness likeness;
    double log_ratio; /* ln(measured / predicted) */
};

struct residuals {
    struct arena arena;
    int count;
    struct residual *rows;
};

struct interval {
    double low, high;  /* seconds: the 80 % interval of the measured time */
    bool extrapolates; /* no similar published run */
};

struct likeness likeness_of(const struct job *job);

/* Returns the embedded residuals; NULL if they cannot be read. */
const struct residuals *residuals_known(struct error *err);

/* Returns the interval. `blind`: ignores residuals with equal features, possibly the run's own. */
struct interval interval_of(const struct residuals *residuals, const struct likeness *likeness,
                            double seconds, bool blind);

/* Returns whether a measured time lies inside. */
bool interval_holds(const struct interval *interval, double seconds);

/* Writes low, high and extrapolates into a map that is open. */
void interval_write(const struct interval *interval, struct json *json);

/* Appends the file's text. */
void residuals_write(const struct residuals *residuals, const char *source, struct text *out);

bool residuals_parse(struct residuals *residuals, const char *path, const char *data, size_t length,
                     struct error *err);
void residuals_release(struct residuals *residuals);

#endif
