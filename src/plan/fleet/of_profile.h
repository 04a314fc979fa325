/* A measured profile over different groups of nodes: the best pipelines over all of them (fleet.h). */
#ifndef REHEARSE_PLAN_FLEET_OF_PROFILE_H
#define REHEARSE_PLAN_FLEET_OF_PROFILE_H

#include "cluster/cluster.h"
#include "model/profile.h"
#include "plan/fleet/of_job.h"
#include "plan/problem.h"

struct fleet_profile_question {
    const struct plan_problem *problem; /* layer times on every group, as plan/problem.h counts them */
    const struct profile *profile;
    const struct cluster *cluster; /* has the problem's groups; a missing link takes no time */
    int64_t microbatches;
    double headroom; /* share of each memory kept free */
};

/* As fleet_plan_job; the caller sets the answer's microbatch. */
bool fleet_plan_profile(struct fleet_answer *answer, const struct fleet_profile_question *question,
                        struct error *err);

/* As fleet_score_job. */
bool fleet_score_profile(struct fleet_answer *answer, const struct fleet_profile_question *question,
                         const struct fleet_given *given, struct error *err);

#endif
