/* A training job, or a measured profile, over different groups of nodes: prices the layers on every device type and
 * finds the best pipelines over all of them (fleet.h). */
#ifndef REHEARSE_PLAN_FLEET_OF_JOB_H
#define REHEARSE_PLAN_FLEET_OF_JOB_H

#include "cluster/cluster.h"
#include "core/parallel.h"
#include "core/progress.h"
#include "cost/model_profile.h"
#include "plan/fleet/classes.h"
#include "plan/fleet/fleet.h"
#include "plan/planning.h"
#include "plan/split/search.h"

struct fleet_question {
    struct job job; /* model, software, batch, sequence; the rest is ignored */
    enum model_precision precision;
    int group_count;
    struct cluster_group groups[FLEET_MAX_TYPES]; /* resolved */
    struct job_range ranges[JOB_DIMENSIONS];      /* allowed values */
    double headroom;                              /* share of each memory kept free */
    double deadline; /* clock_now seconds: what is found by then is the answer; 0: none */
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

/* Says that the time was over before a plan was found. */
bool fleet_late_error(struct error *err);

/* Returns the job of one stage on a group, with this tensor degree and nothing else split. */
struct job fleet_job_on(const struct fleet_question *question, int group, int tensor);

/* Finds the best plan that takes less than `enough` seconds. ERROR_INFEASIBLE if there is none; answer->lower_bound is
 * set then, too. On failure *answer holds nothing else; on success the caller releases it with fleet_answer_release.
 * The result does not depend on the number of threads. Once stop_wanted(), it is the best so far, and the bound 0 if
 * parts are not bounded yet. */
bool fleet_plan_job(struct fleet_answer *answer, const struct fleet_question *question, double enough,
                    struct parallel *pool, struct progress *progress, struct error *err);
void fleet_answer_release(struct fleet_answer *answer);

/* Prices given pipelines as a search would; there is no bound. */
bool fleet_score_job(struct fleet_answer *answer, const struct fleet_question *question,
                     const struct fleet_given *given, int64_t microbatch, enum recompute recompute,
                     struct error *err);

struct fleet_profile_question {
    const struct plan_problem *problem; /* layer times on every group, as plan/problem.h counts them */
    const struct profile *profile;
    const struct cluster *cluster;    /* has the problem's groups; a missing link takes no time */
    int64_t microbatches, microbatch; /* of an iteration, and its samples; 0: not known */
    double headroom;                  /* share of each memory kept free */
    double deadline;                  /* clock_now seconds; 0: none */
};

/* Makes the question of so many samples from an opened planning, which must outlive it. ERROR_INFEASIBLE if they are no
 * whole number of the profile's micro-batches. */
bool fleet_ask_profile(struct fleet_profile_question *question, const struct planning *planning,
                       int64_t batch, double headroom, struct error *err);

/* As fleet_plan_job. */
bool fleet_plan_profile(struct fleet_answer *answer, const struct fleet_profile_question *question,
                        struct error *err);

/* As fleet_score_job. */
bool fleet_score_profile(struct fleet_answer *answer, const struct fleet_profile_question *question,
                         const struct fleet_given *given, struct error *err);

#endif
