/* What an objective consists of. Private to this folder. */
#ifndef REHEARSE_PLAN_SCORE_OBJECTIVE_H
#define REHEARSE_PLAN_SCORE_OBJECTIVE_H

#include "plan/plan.h"
#include "plan/score/options.h"

struct scoring {
    struct plan *plan;
    const struct score_options *options;
    double headroom;
    void *question; /* the objective's own */
};

/* open sets the question, which close ends; score and search fill in initialised plans, and release them on failure.
 * Objectives of the same name differ in the plans that they take. */
struct objective {
    const char *name;
    bool (*takes)(const struct plan *plan, const struct score_options *options);
    bool (*open)(struct scoring *scoring, struct error *err);
    bool (*score)(struct scoring *scoring, struct plan *scored, struct error *err);
    bool (*search)(struct scoring *scoring, struct plan *best, struct error *err);
    void (*close)(struct scoring *scoring);
    const char *beyond;
};

extern const struct objective objective_pipeline, objective_oobleck, objective_dapple, objective_job,
    objective_fleet;

#endif
