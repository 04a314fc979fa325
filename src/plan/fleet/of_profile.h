/* A measured profile over groups of nodes that are not alike: the best pipelines over all of them (fleet.h). */
#ifndef REHEARSE_PLAN_FLEET_OF_PROFILE_H
#define REHEARSE_PLAN_FLEET_OF_PROFILE_H

#include "cluster/cluster.h"
#include "model/profile.h"
#include "plan/fleet/of_job.h"
#include "plan/problem.h"

struct fleet_profile_question {
    const struct plan_problem *problem; /* layer times on every group, as plan/problem.h counts them */
    const struct profile *profile;
    const struct cluster *cluster; /* its groups are the problem's; a link that is not given takes no time */
    int64_t microbatches;
    double headroom; /* of each memory, kept free */
};

/* As fleet_plan_job; the answer's microbatch is the caller's to set. */
bool fleet_plan_profile(struct fleet_answer *answer, const struct fleet_profile_question *question,
                        struct error *err);

/* The same for pipelines that are given. */
bool fleet_score_profile(struct fleet_answer *answer, const struct fleet_profile_question *question,
                         const struct fleet_given *given, struct error *err);

#endif
