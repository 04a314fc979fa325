/* A training job on each of several groups of devices: pipelines of a group are alike and split as the search for one
 * kind splits them (plan/split), with its price, degrees, chunks, sharding and recomputation; groups share the batch.
 *
 * Problem. Choose groups, a part of the batch for each, and a job on each so that the iteration ends earliest. A job takes
 * job_time_of; its gradients are exchanged with the pipelines of all groups, over the slowest link between nodes. Micro-batch,
 * chunks, sharding and recomputation are the same everywhere, as a run of the software has one of each. One group alone is a
 * plan, too: its job is that of plan/split, to the last bit, with copies of shards and all else that it can choose, so that
 * further groups never make the plan slower.
 *
 * Search. Parts of the batch follow the groups' speeds and are then moved from the slowest group to others while that helps;
 * for each the search of plan/split finds the job, first with all settings open, then with those of each of these jobs for
 * all. That knows nothing of the exchange between groups, so all classes of settings follow whose bound is below the best mix
 * (mix_classes.c).
 *
 * Bound. By a deadline a group does at most job_sequences_by sequences beside others, with the settings that all have, and
 * one group alone takes no less than the bound of its own search.
 *
 * Checked: against each group alone, and by brute force over all parts and jobs of small clusters (tests/plan/fleet). */
#ifndef REHEARSE_PLAN_FLEET_MIX_H
#define REHEARSE_PLAN_FLEET_MIX_H

#include "plan/fleet/of_job.h"
#include "plan/fleet/rival.h"

struct mix_kind {
    int group;
    struct job job; /* its batch is the group's part */
    struct job_time time;
    struct job_memory memory;
};

struct mix_answer {
    struct arena arena; /* layouts of blocks */
    int kind_count;
    struct mix_kind kinds[FLEET_MAX_TYPES];
    double seconds; /* of the iteration: the slowest before, and the slowest after all micro-batches */
    double before, after, other;
    double lower_bound;
    double combinations;
    double alone[FLEET_MAX_TYPES]; /* seconds of the best job of each group alone; INFINITY: none fits */
    double with[FLEET_MAX_TYPES];  /* and of the best jobs found of which one is on the group */
    struct fleet_rivals rivals;    /* all that were found */
};

/* Finds the best jobs. ERROR_INFEASIBLE if no group holds one. The caller releases *answer. */
bool mix_plan(struct mix_answer *answer, const struct fleet_question *question, struct parallel *pool,
              struct error *err);
void mix_release(struct mix_answer *answer);

/* Returns the answer as a rival of others. */
struct fleet_rival mix_rival(const struct mix_answer *answer);

/* Sets times and memory of the kinds, and the seconds of the iteration. */
void mix_price(struct mix_answer *answer, const struct fleet_question *question);

#endif
