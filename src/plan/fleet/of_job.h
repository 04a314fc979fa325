/* A training job over different groups of nodes: prices the layers on every device type and finds the best
 * pipelines over all of them (fleet.h). */
#ifndef REHEARSE_PLAN_FLEET_OF_JOB_H
#define REHEARSE_PLAN_FLEET_OF_JOB_H

#include "cluster/cluster.h"
#include "core/parallel.h"
#include "core/progress.h"
#include "cost/model_profile.h"
#include "plan/fleet/fleet.h"
#include "plan/fleet/given.h"
#include "plan/split/search.h"

struct fleet_question {
    struct job job; /* model, software, batch, sequence; the rest is ignored */
    enum model_precision precision;
    int group_count;
    struct cluster_group groups[FLEET_MAX_TYPES];   /* resolved */
    struct job_range tensor, microbatch, recompute; /* allowed values */
    double headroom;                                /* share of each memory kept free */
};

/* Takes over the groups of a resolved cluster. ERROR_INPUT if it has too many. */
bool fleet_take_cluster(struct fleet_question *question, const struct cluster *cluster, struct error *err);

/* Seconds of one iteration; the parts add up. */
struct fleet_time {
    double seconds;
    double pipelines; /* until the slowest ends */
    double after;     /* exposed exchange of gradients, and update of parameters */
    double other;
};

/* Memory independent of micro-batches: bytes per parameter, or shares of another unit. */
struct fleet_held {
    double parameters, gradients, optimizer;
};

struct fleet_answer {
    struct fleet_choice plan;
    struct fleet_problem problem; /* options live in plan.arena */
    int64_t microbatch;
    enum recompute recompute;
    int pipelines; /* all copies */
    bool sharded;  /* optimizer states are sharded over the pipelines */
    struct fleet_held held;
    struct fleet_time time;
    double lower_bound;
    int combinations; /* of micro-batch, recomputation and approximate number of pipelines */
};

/* Finds the best plan. ERROR_INFEASIBLE if nothing fits. On failure *answer holds nothing; on success the
 * caller releases it with fleet_answer_release. The result does not depend on the number of threads. */
bool fleet_plan_job(struct fleet_answer *answer, const struct fleet_question *question, struct parallel *pool,
                    struct progress *progress, struct error *err);
void fleet_answer_release(struct fleet_answer *answer);

/* Prices given pipelines as a search would; there is no bound. */
bool fleet_score_job(struct fleet_answer *answer, const struct fleet_question *question,
                     const struct fleet_given *given, int64_t microbatch, enum recompute recompute,
                     struct error *err);

#endif
