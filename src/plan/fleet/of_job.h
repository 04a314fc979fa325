/* A training job over groups of nodes that are not alike: the layers priced on every device type, and the best pipelines
 * over all of them (fleet.h). */
#ifndef REHEARSE_PLAN_FLEET_OF_JOB_H
#define REHEARSE_PLAN_FLEET_OF_JOB_H

#include "core/parallel.h"
#include "core/progress.h"
#include "cost/model_profile.h"
#include "plan/fleet/fleet.h"
#include "plan/fleet/given.h"
#include "plan/split/search.h"

struct fleet_group {
    const struct cost_device *device;
    const struct calibration *calibration;
    const struct cost_link *inside, *across;
    int nodes, devices_per_node;
    double memory; /* bytes per device */
};

struct fleet_question {
    struct job job; /* model, software, batch, sequence; of the rest nothing is looked at */
    enum model_precision precision;
    int group_count;
    struct fleet_group groups[FLEET_MAX_TYPES];
    struct job_range tensor, microbatch, recompute; /* what may be chosen */
    double headroom;                                /* of each memory, kept free */
};

/* Seconds of one iteration: they add up. */
struct fleet_time {
    double seconds;
    double pipelines; /* until the slowest is done */
    double after;     /* gradients exchanged, as far as it shows, and parameters updated */
    double other;
};

/* What devices hold whatever the micro-batches: bytes per parameter, or parts of anything else. */
struct fleet_held {
    double parameters, gradients, optimizer;
};

struct fleet_answer {
    struct fleet_choice plan;
    struct fleet_problem problem; /* its options live in plan.arena */
    int64_t microbatch;
    enum recompute recompute;
    int pipelines; /* all copies */
    bool sharded;  /* optimizer states over the pipelines */
    struct fleet_held held;
    struct fleet_time time;
    double lower_bound;
    int combinations; /* of micro-batch, recomputation and about how many pipelines */
};

/* ERROR_INFEASIBLE where nothing fits. On failure *answer holds nothing; on success the caller ends it with
 * fleet_answer_release. The same for any number of threads. */
bool fleet_plan_job(struct fleet_answer *answer, const struct fleet_question *question, struct parallel *pool,
                    struct progress *progress, struct error *err);
void fleet_answer_release(struct fleet_answer *answer);

/* The same for pipelines that are given: they are priced as a search prices them, and no bound is known. */
bool fleet_score_job(struct fleet_answer *answer, const struct fleet_question *question,
                     const struct fleet_given *given, int64_t microbatch, enum recompute recompute,
                     struct error *err);

#endif
