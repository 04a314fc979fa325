/* The exact split of a batch over unequal pipelines.
 *
 * Problem. Lines of alike pipelines, line i with count_i of them; a pipeline of line i with m micro-
 * batches takes t_i(m), which grows with m. Give every pipeline a whole number of micro-batches, at least
 * one each, B in all, so that the slowest takes the minimum.
 *
 * Method. Let c_i(Z) be the most micro-batches within Z. A deadline Z is possible if and only if c_i(Z) >=
 * 1 for all i and sum count_i c_i(Z) >= B: fewer are possible, too, since t_i grows. Possible deadlines
 * stay possible when they grow, so bisection finds a low one that is impossible (or the latest first
 * micro-batch, before which none is possible). Pipelines are filled to c_i(low), then the line whose next
 * micro-batch ends first is raised until B fit. No raise ends after the optimum Z: as long as fewer than B
 * fit, some line has fewer than c_i(Z), and its next ends by Z. The last line raised gives back what is
 * too much.
 *
 * Checked against all splits of small cases (tests/elastic/batch_test.c). */
#ifndef REHEARSE_ELASTIC_BATCH_H
#define REHEARSE_ELASTIC_BATCH_H

#include "elastic/kit.h"

/* A line's share: `extra` of its pipelines have one micro-batch more than the others. */
struct elastic_share {
    const struct elastic_line *line;
    int shape;     /* of the line, for callers */
    int64_t count; /* pipelines; at least 1 */
    int64_t each;  /* micro-batches of a pipeline; set by elastic_split */
    int64_t extra; /* pipelines that have one more; set by elastic_split */
    /* for reports: the shape's, and the slowest pipeline's seconds */
    const char *name, *path;
    int instances;
    double seconds;
};

/* Sets each and extra; returns the slowest pipeline's seconds. INFINITY: fewer micro-batches than
 * pipelines. */
double elastic_split(struct elastic_share *shares, int count, int64_t batch);

/* The most micro-batches of all pipelines by a deadline, at most `limit`. 0: some pipeline cannot do one. */
int64_t elastic_capacity(const struct elastic_share *shares, int count, double deadline, int64_t limit);

#endif
