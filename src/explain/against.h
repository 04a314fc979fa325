/* Two runs of a job: what became slower.
 *
 * Compared are means over steps: of the step, of each share of a rank's time, and of each kernel's time (both as the
 * mean of all ranks). The interval of a difference is Welch's, of 95 % for each row: t with the degrees of freedom of
 * unequal variances, the steps taken as independent. Of a run with a single step there is none, and all is `unsure`.
 * A class of kernels is that of sim/replay/classes.h. */
#ifndef REHEARSE_EXPLAIN_AGAINST_H
#define REHEARSE_EXPLAIN_AGAINST_H

#include "explain/explain.h"

struct explain_change {
    const char *name;
    unsigned kind;               /* of a kernel: enum kernel_class */
    double now, before;          /* seconds of a step */
    double more, low, high;      /* now - before, and its interval; NAN: unknown */
    bool sure;                   /* the interval is all on one side of 0 */
    double now_count, old_count; /* of a kernel: in a step and rank, about */
};

struct explain_changes {
    struct explain_change step, shares[EXPLAIN_SHARES], classes[KERNEL_CLASSES];
    struct explain_change
        rank;        /* whose own time, all but exposed exchanges and waits for others, grew most */
    int64_t slowest; /* its number; -1: no rank is in both, there is one alone, or all grew alike */
    struct explain_change *kernels; /* largest difference first */
    size_t kernel_count;
};

/* The share that changed most in the direction of `sign`; `name` NULL: none. Compute that covers an exchange is
   compute. */
struct explain_change explain_most_changed(const struct explain_changes *changes, double sign);

/* On failure *changes holds nothing; else the caller frees `kernels`. */
bool explain_compare(struct explain_changes *changes, const struct explain *now, const struct explain *before,
                     struct error *err);

#endif
