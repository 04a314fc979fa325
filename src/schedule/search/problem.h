/* The problem of the search for orders: passes in numbers.
 *
 * Micro-batches are alike, so the k-th pass of a kind and stage may be taken for that of micro-batch k: an
 * order in which they overtake each other is renamed into one in which they do not, at the same times and
 * with the same memory. An order is therefore a sequence of types (kind and stage) per device, and memory
 * follows from the counts.
 *
 * A pass is a number: type * micro-batches + micro-batch, where type = kind * stages + stage. A full backward
 * pass is an input pass with a weight pass right behind it, which is never slower: the gradient leaves
 * earlier. */
#ifndef REHEARSE_SCHEDULE_SEARCH_PROBLEM_H
#define REHEARSE_SCHEDULE_SEARCH_PROBLEM_H

#include "schedule/order.h"
#include "schedule/timing.h"

#define SEARCH_KINDS 3 /* forward, input, weight */

/* All passes of one kind and stage. */
struct search_type {
    double seconds;
    double lag;    /* from the end of the needed pass until its result is here */
    double before; /* the device is occupied that long before the pass, and after it, by a send that blocks */
    double after;
    double takes; /* memory from the beginning on */
    double frees; /* memory at the end */
    int device;
    uint8_t kind; /* enum pass_kind */
    uint16_t stage;
    bool needs_other; /* false: a forward pass of the first stage, which needs nothing */
    ptrdiff_t needs;  /* number of the needed pass minus that of this pass */
};

struct search_problem {
    int devices, stages, microbatches, types;
    size_t passes; /* types * microbatches */
    struct search_type *type;
    uint16_t *type_of; /* of each pass */
    const struct pass_cost *costs;
    uint16_t *device_of;
    int *stages_of;   /* stages of device d, ascending: stages_of[first_stage[d]] .. */
    int *first_stage; /* devices + 1 entries */
    size_t *first;    /* of each device: place of its first pass in a sequence; devices + 1 entries */
    double *work;     /* of each device: seconds of all its passes */
    double memory;    /* of each device, with a hair for rounding; HUGE_VAL: no limit */
    double hair;      /* times that differ by less are equal */
};

/* The shape, placement and costs, which must outlive the problem; memory 0: no limit. The caller ends it with
 * search_problem_release, also after a failure. ERROR_INFEASIBLE: a device cannot hold a single
 * micro-batch. */
bool search_problem_init(struct search_problem *problem, int devices, int stages, int microbatches,
                         const uint16_t *device_of, const struct timing_options *timing, double memory,
                         struct error *err);
void search_problem_release(struct search_problem *problem);

/* Returns whether the passes of each device, in this sequence, keep to its memory. */
bool search_fits(const struct search_problem *problem, const uint32_t *sequence);

#define SEARCH_MAX_PASSES (1 << 24)
#define SEARCH_MAX_STAGES (UINT16_MAX / SEARCH_KINDS)

/* As fmax and fmin, for numbers; inline. */
static inline double search_max(double a, double b)
{
    return a > b ? a : b;
}

static inline double search_min(double a, double b)
{
    return a < b ? a : b;
}

static inline int search_type_of(const struct search_problem *problem, enum pass_kind kind, int stage)
{
    return (int)kind * problem->stages + stage;
}

#endif
