/* The best plan of a training job over several groups of devices, by all means: jobs of their own on the groups
 * (mix.h), and pipelines over devices of several types (of_job.h). The bound is of both. */
#ifndef REHEARSE_PLAN_FLEET_BEST_H
#define REHEARSE_PLAN_FLEET_BEST_H

#include "plan/fleet/lend.h"
#include "plan/plan.h"

struct fleet_best {
    bool jobs; /* the plan is `mix`; else `fleet` */
    struct mix_answer mix;
    struct fleet_answer fleet;
    double seconds, lower_bound;
    double with[FLEET_MAX_TYPES]; /* seconds of the best jobs found that use a group; INFINITY: none */
    struct fleet_rivals rivals;   /* all plans found, this one among them */
    bool is_merged; /* devices are used as those of a lesser type: groups are those of `merged` (lend.h) */
    struct fleet_question merged;
    struct fleet_lending lent;
};

/* ERROR_INFEASIBLE if nothing fits. On failure *best holds nothing; on success the caller releases it. */
bool fleet_find_best(struct fleet_best *best, const struct fleet_question *question, struct parallel *pool,
                     struct progress *progress, struct error *err);
void fleet_best_release(struct fleet_best *best);

/* Returns the question that the plan's groups are those of: this one, or a merged one. */
const struct fleet_question *fleet_best_question(const struct fleet_best *best,
                                                 const struct fleet_question *question);

/* Returns a plan of pipelines as a rival of others. */
struct fleet_rival fleet_rival_of(const struct fleet_answer *answer);

/* Fills in an initialised plan. On failure it is released. */
bool plan_of_fleet_best(struct plan *plan, const struct fleet_best *best,
                        const struct fleet_question *question, struct error *err);

/* The same for jobs on groups alone. */
bool plan_of_mix(struct plan *plan, const struct mix_answer *mix, const struct fleet_question *question,
                 struct error *err);

/* Returns whether a plan is one of jobs on groups. */
bool plan_is_mix(const struct plan *plan);

/* Prices such a plan as a search would; `type_of`: the group of each device type. There is no bound. The job of each
 * kind is valid as long as the plan. ERROR_INFEASIBLE if a pipeline is no job. */
bool mix_score(struct mix_answer *mix, const struct fleet_question *question, struct plan *plan,
               const int *type_of, struct error *err);

#endif
