/* A measured profile over different groups of nodes: the best pipelines over all of them (fleet.h). */
#ifndef REHEARSE_PLAN_FLEET_OF_PROFILE_H
#define REHEARSE_PLAN_FLEET_OF_PROFILE_H

#include "plan/fleet/of_job.h"
#include "plan/planning.h"

struct fleet_profile_question {
    const struct plan_problem *problem; /* layer times on every group, as plan/problem.h counts them */
    const struct profile *profile;
    const struct cluster *cluster;    /* has the problem's groups; a missing link takes no time */
    int64_t microbatches, microbatch; /* of an iteration, and its samples; 0: not known */
    double headroom;                  /* share of each memory kept free */
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
