/* A recorded run beside the simulation of the plan that it follows.
 *
 * Both sides are seconds of a step, as the mean of ranks, cut into the same classes: what the shares of timeline.h
 * are on the recorded side, and the causes of sim/play.h, by layers, on the planned one. Exposed communication is
 * told apart by what its group is for: by the name of the collective or the group's description where they tell
 * ("gradients", "TENSOR_ MODEL_PARALLEL_GROUP"), else by the group's ranks, which are taken to be in Megatron's order
 * (tensor, context, data, pipeline). The plan knows no skew, no late host and no idle time without a cause. Waits for
 * other stages and sends are one class: a receive that runs may be either. */
#ifndef REHEARSE_EXPLAIN_PLANNED_H
#define REHEARSE_EXPLAIN_PLANNED_H

#include "explain/found.h"
#include "plan/plan.h"

enum planned_class {
    PLANNED_COMPUTE,
    PLANNED_GRADIENTS,
    PLANNED_SHARDS,
    PLANNED_TENSOR,
    PLANNED_CONTEXT,
    PLANNED_EXPERT,
    PLANNED_PIPELINE,
    PLANNED_OTHER, /* exchanges of groups that the plan does not have */
    PLANNED_SKEW,
    PLANNED_DATA,
    PLANNED_COPIES,
    PLANNED_HOST, /* late launches, their latency, gaps on streams */
    PLANNED_UNKNOWN,
    PLANNED_CLASSES
};

struct planned_row {
    enum planned_class class;
    int stage, rank; /* -1: of all */
    double measured, planned;
};

/* A number of the job that is not as planned. */
struct planned_mismatch {
    const char *what;
    int64_t recorded, planned;
};

#define PLANNED_MAX_MISMATCHES (FOUND_DEGREES + 3)

struct explain_planned {
    struct planned_mismatch mismatches[PLANNED_MAX_MISMATCHES];
    int mismatch_count;
    struct degrees recorded;                     /* the plan's, but for those that groups tell */
    struct planned_row classes[PLANNED_CLASSES]; /* largest difference first */
    struct planned_row *stages, *ranks;          /* compute; ranks: largest difference first */
    size_t stage_count, rank_count;
    double measured, planned; /* seconds of a step */
    int64_t devices;          /* of the plan */
    struct degrees degrees;
    int pipeline;     /* degree */
    bool guessed;     /* groups were told apart by their ranks */
    bool by_pipeline; /* ranks of a pipeline follow each other; else those of a stage, as in Megatron */
};

extern const char *const planned_keys[PLANNED_CLASSES];

/* Plays the plan. On failure *planned holds nothing; else the caller frees `stages` and `ranks`. */
bool explain_plan(struct explain_planned *planned, const struct explain *explain, const char *path,
                  struct error *err);

#endif
